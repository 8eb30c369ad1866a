// What `npx refold`, and package managers like npx, read or run in a directory before the first line of refold: their
// configuration, a package.json that offers a program `refold`, and programs in `node_modules/.bin`, which they put first on
// the PATH. All of it would be code that a model wrote and that runs as the user. So none of it is written by file tools; in
// the sandbox what exists is read-only, and what a command adds is renamed, like a git directory.
//
// npx reads these in its directory and in those above, so they count at any depth, but not inside an installed package.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { MANIFEST_BYTES_MAX } from '../../../schemas/limits.ts';
import { ToolFault, errorName } from '../outcome.ts';
import { type Directory, entryPath } from './directory.ts';
import type { WorkspacePath } from './path-name.ts';
import { readRange } from './workspace.ts';

const MODULES = 'node_modules';
const PROGRAMS = '.bin';
const MANIFEST = 'package.json';

/** Configuration of npm, pnpm, yarn and bun that names code to run: options of node, a shell, a hook, a program of its own. */
const CONFIGURATION: readonly string[] = [
  '.npmrc',
  '.pnpmfile.cjs',
  '.pnpmfile.mjs',
  'pnpm-workspace.yaml',
  '.yarnrc',
  '.yarnrc.yml',
  'bunfig.toml',
];

/** Programs that run on the way to refold, or that refold runs: of npx, of the first lines of scripts, and openers of pages. */
const ON_THE_WAY: readonly string[] = [
  ['refold', 'node', 'nodejs', 'npm', 'npx', 'env', 'sh', 'bash', 'dash', 'zsh'],
  // What package managers call in the scripts that they make instead of links.
  ['basename', 'cygpath', 'dirname', 'readlink', 'realpath', 'sed', 'uname'],
  ['xdg-open', 'open', 'gio', 'gvfs-open', 'kde-open', 'sensible-browser', 'x-www-browser', 'www-browser'],
].flat();

/** The names of a directory that may be such entries: what a search looks for where it cannot list. */
export const RUNNER_NAMES: readonly string[] = [...CONFIGURATION, MANIFEST, ...ON_THE_WAY];

const [configuration, onTheWay] = [new Set(CONFIGURATION), new Set(ON_THE_WAY)];

/** `yes`: such an entry, whatever is in it. `manifest`: one if it offers refold. `if link`: one if it is a symbolic link. */
export type RunnerEntry = 'no' | 'yes' | 'manifest' | 'if link';

/** What the last of these names is, which lead to it from the workspace. */
export function runnerEntry(names: readonly string[]): RunnerEntry {
  // Compared without case, because some file systems ignore it.
  const folded = names.map((name) => name.toLowerCase());
  const last = folded.at(-1) ?? '';
  const above = folded.at(-2);
  const inside = folded.indexOf(MODULES);
  // Beside `.bin` directly, an installed package.
  if (inside !== -1 && inside < folded.length - 1) {
    const within = folded.slice(inside + 1);
    if (within.length === 1 && last === 'refold') return 'yes';
    if (within[0] !== PROGRAMS) return 'no';
  }
  if (last === MODULES || last === PROGRAMS) return 'if link';
  if (above === PROGRAMS) return onTheWay.has(last) ? 'yes' : 'no';
  if (last === MANIFEST) return 'manifest';
  return configuration.has(last) ? 'yes' : 'no';
}

/** Throws for a path that leads to such an entry, or into one. */
export function refuseRunnerFiles({ names, shown }: WorkspacePath): void {
  const depth = names.findIndex((_, index) => runnerEntry(names.slice(0, index + 1)) === 'yes');
  if (depth === -1) return;
  throw new ToolFault(
    'forbidden',
    `${shown} is read or run by npx and package managers before the program that a person asks them for, and may name code ` +
      'to run: tools may read it but must not write it; tell the person what should stand in it, and choose another path',
  );
}

/** Throws for a package.json with which `npx refold` would run a program of the workspace. */
export function refuseOffer({ names, shown }: WorkspacePath, bytes: Uint8Array): void {
  if (runnerEntry(names) !== 'manifest' || !offersRefold(bytes)) return;
  throw new ToolFault(
    'forbidden',
    `${shown} would offer a program named refold ("bin" or "directories.bin"), which \`npx refold\` would run in place of ` +
      'refold; leave that entry out, or give the program another name',
  );
}

/** Whether the package.json in a directory offers refold now. One too large to be read does, for all that is known. */
export function manifestOffers(directory: Directory, name: string): boolean {
  try {
    const path = entryPath(directory, name);
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile()) return false;
      return stats.size > MANIFEST_BYTES_MAX || offersRefold(readRange(fd, 0, stats.size));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    // A link may lead to any file, at any later time.
    return errorName(error) === 'ELOOP';
  }
}

/** npm takes `bin` as an object, as the one program of the package's name, and as a directory of programs. */
function offersRefold(bytes: Uint8Array): boolean {
  const manifest = parsed(bytes);
  if (!isObject(manifest)) return false;
  const { bin, name, directories } = manifest;
  if (typeof bin === 'string') return lastPart(name) === 'refold';
  if (isObject(bin)) return Object.keys(bin).some((key) => lastPart(key) === 'refold');
  if (Array.isArray(bin)) return bin.some((file) => lastPart(file) === 'refold');
  return isObject(directories) && directories['bin'] !== undefined;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    // A decoder drops the byte order mark, as npm does.
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    // Nor can npm read it.
    return null;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** npm removes directories and the scope of a package from the name of a program. */
const lastPart = (name: unknown): string | undefined =>
  typeof name === 'string' ? name.split(/[/\\:]/).findLast((part) => part !== '') : undefined;
