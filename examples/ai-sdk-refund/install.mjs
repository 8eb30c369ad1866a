// Installs the packages of this example, once; `refold` is that of this checkout.
import { spawnSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export function installPackages() {
  if (isFound('ai') && isFound('refold/ai-sdk')) return;
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd, stdio: 'inherit' });
  if (status !== 0)
    throw new Error('npm could not install the AI SDK: the first start of this example needs a network');
  const link = fileURLToPath(new URL('node_modules/refold', import.meta.url));
  if (!existsSync(link)) symlinkSync('../../..', link);
}

function isFound(name) {
  try {
    return existsSync(fileURLToPath(import.meta.resolve(name)));
  } catch {
    return false;
  }
}
