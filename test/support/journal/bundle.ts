// Bundles a TypeScript script into one JavaScript file for child processes, because Node 20 does not run TypeScript. The
// bundle lies below node_modules so that the packages it imports resolve.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export async function bundleScript(path: string): Promise<{
  readonly script: string;
  readonly remove: () => Promise<void>;
}> {
  const cache = join(root, 'node_modules', '.cache');
  await mkdir(cache, { recursive: true });
  const directory = await mkdtemp(join(cache, 'refold-test-'));
  const script = join(directory, 'script.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: [path],
    outfile: script,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    alias: {
      '#sha256': join(root, 'schemas', 'sha256', 'node.ts'),
      '#client-platform': join(root, 'src', 'client', 'platform', 'node.ts'),
    },
    logLevel: 'silent',
  });
  return { script, remove: () => rm(directory, { recursive: true, force: true }) };
}
