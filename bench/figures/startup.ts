// The start time of the command line, compared with a Node that does nothing, and the size of an installation.
import { readFile, readdir, stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { alternate } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { CLI, PACKAGE_ROOT, runToEnd } from '../processes.ts';
import { type Row, atMost, rowOf } from '../row.ts';

const REACH_VERSION_MS = 150;
const REACH_REPLAY_MS = 400;
const RECORDING = join(PACKAGE_ROOT, 'replay-fixtures/demo/session.jsonl');

export const startup: Figure = { name: 'startup', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const timed = (argv: readonly string[]) => async (): Promise<number> => {
    const { code, ms } = await runToEnd(argv);
    if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}`);
    return ms;
  };
  const contest = {
    node: timed(['-e', '0']),
    version: timed([CLI, '--version']),
    replay: timed([CLI, 'replay', RECORDING]),
  };
  const runs = sized(bench, 1, 15);
  const values = await alternate(runs, contest, (run) => bench.progress(`startup: run ${run}/${runs}`));
  const limit = { what: 'node -e 0', values: values.node };
  return [
    rowOf({ what: 'refold --version', unit: 'ms', values: values.version, limit, reach: atMost(REACH_VERSION_MS) }),
    rowOf({
      what: 'refold replay of a small file',
      unit: 'ms',
      values: values.replay,
      limit,
      reach: atMost(REACH_REPLAY_MS),
    }),
    ...(await measureInstallation()),
  ];
}

async function measureInstallation(): Promise<readonly Row[]> {
  const own = (await bytesIn(join(PACKAGE_ROOT, 'dist'))) + (await bytesIn(join(PACKAGE_ROOT, 'replay-fixtures')));
  const installed = await findPackages(PACKAGE_ROOT);
  let bytes = own;
  for (const directory of installed) bytes += await bytesIn(directory);
  return [
    rowOf({ what: 'size of this package', unit: 'MB', values: [own / 1_000_000] }),
    rowOf({ what: 'size of an installation', unit: 'MB', values: [bytes / 1_000_000] }),
    rowOf({ what: 'packages in an installation, this one included', unit: '', values: [1 + installed.length] }),
  ];
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The directories of all packages that this one depends on, directly or not. */
async function findPackages(root: string): Promise<readonly string[]> {
  const found = new Set<string>();
  const waiting = [root];
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    const manifest = JSON.parse(await readFile(join(from, 'package.json'), 'utf8')) as Manifest;
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const directory = resolvePackage(from, name);
      if (directory === null || found.has(directory)) continue;
      found.add(directory);
      waiting.push(directory);
    }
  }
  return [...found];
}

/** Resolves as Node does; null for a package that is not installed, such as an optional one. */
function resolvePackage(from: string, name: string): string | null {
  for (let at = from; ; at = join(at, '..')) {
    const directory = join(at, 'node_modules', name);
    if (existsSync(join(directory, 'package.json'))) return directory;
    if (join(at, '..') === at) return null;
  }
}

/** The bytes of all files below, without nested packages. */
async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.name === 'node_modules') continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += await bytesIn(path);
    else if (entry.isFile()) bytes += (await stat(path)).size;
  }
  return bytes;
}
