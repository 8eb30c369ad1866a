// The runtimes to fold on: this Node, other versions of Node and Bun (npm packages that hold binaries), and a browser when
// one is installed. Downloads go into a cache beside the dependencies, never among them.
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/refold-determinism/', import.meta.url));
const INSTALL_MS_MAX = 300_000;

const SYSTEM = process.platform === 'win32' ? 'win' : process.platform;
const NODE_PACKAGE = `node-${SYSTEM}-${process.arch}`;
const BUN_PACKAGE = `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`;

/** Every runtime by the name that `--only` takes. */
export const RUNTIMES = {
  current: async () => ({ kind: 'node', path: process.execPath }),
  node24: (offline) => fetched('node', 'node24', `${NODE_PACKAGE}@24`, offline),
  newest: (offline) => fetched('node', 'node-newest', `${NODE_PACKAGE}@latest`, offline),
  bun: (offline) => fetched('bun', 'bun', `${BUN_PACKAGE}@latest`, offline),
  browser: async () => ({ kind: 'browser', path: findBrowser() }),
};

/** `{ name, kind, path, version }`, or `{ name, skipped }` with the reason. */
export async function findRuntime(name, offline) {
  try {
    const { kind, path } = await RUNTIMES[name](offline);
    const { stdout } = await run(path, ['--version'], { timeout: 30_000 });
    const version = /\d+(\.\d+)+/.exec(stdout)?.[0] ?? 'unknown';
    return { name, kind, path, version };
  } catch (error) {
    return {
      name,
      skipped: String(error.stderr || error.message)
        .trim()
        .split('\n')[0],
    };
  }
}

async function fetched(kind, folder, spec, offline) {
  const home = join(CACHE, folder);
  const path = join(home, 'node_modules', spec.slice(0, spec.lastIndexOf('@')), 'bin', kind);
  if (existsSync(path)) return { kind, path };
  if (offline) throw new Error(`${spec} is not in the cache, and --offline fetches nothing`);
  mkdirSync(home, { recursive: true });
  const quiet = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  try {
    await run('npm', ['install', ...quiet, '--prefix', home, spec], { timeout: INSTALL_MS_MAX });
  } catch (error) {
    throw new Error(`npm could not install ${spec}: ${firstLine(error)}`, { cause: error });
  }
  return { kind, path };
}

/** The first line of the standard error of a failed command, or of the error. */
const firstLine = (error) =>
  String(error.stderr || error.message)
    .trim()
    .split('\n')[0];

function findBrowser() {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  for (const name of names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, name);
      if (isExecutable(path)) return path;
    }
  }
  throw new Error(`none of ${names.join(', ')} is on the path`);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
