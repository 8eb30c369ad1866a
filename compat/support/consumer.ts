// A project that uses the package: the package as it is published, and beside it its dependencies, nothing else of this
// repository. The compilers and checkers run from outside.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const COMPAT = fileURLToPath(new URL('..', import.meta.url));
export const ROOT = join(COMPAT, '..');
/** `tools/compat.mjs` packs it. */
export const TARBALL = join(COMPAT, 'node_modules/.cache/refold.tgz');

interface PackageFile {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const packageFile = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as PackageFile;

/** What a program can import: `refold`, `refold/core`, … */
export const SUB_PATHS: readonly string[] = Object.keys(packageFile.exports)
  .filter((path) => path !== './package.json')
  .map((path) => `refold${path.slice(1)}`);

export interface Consumer {
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

/** `peers` are installed, too. */
export async function openConsumer(peers: readonly string[]): Promise<Consumer> {
  const folder = await mkdtemp(join(tmpdir(), 'refold-consumer-'));
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, 'refold'), { recursive: true });
  const unpacked = await run('tar', ['-xzf', TARBALL, '--strip-components=1', '-C', join(modules, 'refold')], folder);
  if (unpacked.code !== 0) throw new Error(`${TARBALL} does not unpack: ${unpacked.printed}`);
  for (const name of [...Object.keys(packageFile.dependencies), ...peers]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

interface Ran {
  readonly code: number;
  readonly printed: string;
}

/** Runs a program to its end. `printed` is what it wrote to both streams. */
const run = (command: string, args: readonly string[], cwd: string): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(command, args, { cwd, maxBuffer: 64 * 1_048_576 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), printed: `${stdout}${stderr}` });
    });
  });

export const runNode = (args: readonly string[], cwd: string): Promise<Ran> => run(process.execPath, args, cwd);
