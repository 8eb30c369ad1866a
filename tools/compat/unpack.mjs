// Puts the package into a folder's node_modules as a user gets it: packed, then unpacked. Its dependencies are those of the
// repository, which lies above.
import { spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The tarball is left at `node_modules/.cache/refold.tgz`. `dist/` must be built. */
export function unpackRefold(root, folder) {
  const cache = join(folder, 'node_modules/.cache');
  const installed = join(folder, 'node_modules/refold');
  const tarball = join(cache, 'refold.tgz');
  mkdirSync(cache, { recursive: true });
  const packed = run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', cache], root);
  renameSync(join(cache, packed.trim().split('\n').at(-1)), tarball);
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed);
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed], root);
}

function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args[0]} failed: ${error?.message ?? stderr}`);
}
