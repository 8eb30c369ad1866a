// The path walk (DESIGN section 7): every directory is opened from the handle of the one above it, and a symbolic
// link is never followed, so whoever swaps a directory for a link while a call runs only makes the call fail.
// Nothing here is asynchronous: within this process no other call can come between a check and its use.
//
// Linux: `/proc/self/fd/<handle>/<name>` is openat(2) in the form that Node can express. Elsewhere there is no such
// path: each component is checked with lstat(2) and compared with what was then opened. That is weaker, because
// between the two a rename is possible; it is noticed when it leads to another file, and only after the open.
import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, type Stats } from 'node:fs';
import { ToolFault, errorName } from '../outcome.ts';
import { pathOf } from './path-name.ts';

export type WalkKind = 'fd' | 'lstat';

/** An open directory of the workspace. */
export interface Directory {
  readonly walk: WalkKind;
  readonly fd: number;
  /** A path that leads to this very directory, whatever is renamed above it (with the `fd` walk). */
  readonly location: string;
  readonly names: readonly string[];
}

// Node does not export O_PATH. The value is the same on every Linux architecture that Node is built for.
const O_PATH = 0o10_000_000;

export const walkKindHere = (): WalkKind =>
  process.platform === 'linux' && existsSync(`/proc/self/fd/`) ? 'fd' : 'lstat';

/** Opens the workspace itself. Its own path is the operator's word and may contain links. */
export function openRoot(path: string, walk: WalkKind): Directory {
  const fd = openSync(path, constants.O_DIRECTORY | handleFlag(walk));
  return { walk, fd, location: walk === 'fd' ? `/proc/self/fd/${fd}` : path, names: [] };
}

export const entryPath = (directory: Directory, name: string): string => `${directory.location}/${name}`;

/** Runs `use` with the directory that `names` lead to. All handles but the root's are closed afterwards. */
export function withDirectory<T>(root: Directory, names: readonly string[], use: (directory: Directory) => T): T {
  let directory = root;
  try {
    for (const name of names) {
      const parent = directory;
      directory = enter(parent, name);
      if (parent !== root) closeSync(parent.fd);
    }
    return use(directory);
  } finally {
    if (directory !== root) closeSync(directory.fd);
  }
}

/** What lies under a name, without following a link; null when nothing does. */
export function lookUp(directory: Directory, name: string): Stats | null {
  return lstatSync(entryPath(directory, name), { throwIfNoEntry: false }) ?? null;
}

export const linkFault = (shown: string): ToolFault =>
  new ToolFault('forbidden', `${shown} is a symbolic link, and links are not followed; name the real path instead`);

function enter(parent: Directory, name: string): Directory {
  const names = [...parent.names, name];
  const path = entryPath(parent, name);
  const before = parent.walk === 'lstat' ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
  let fd: number;
  try {
    if (before?.isSymbolicLink() === true) throw linkFault(pathOf(names).shown);
    fd = openSync(path, constants.O_DIRECTORY | constants.O_NOFOLLOW | handleFlag(parent.walk));
  } catch (error) {
    throw error instanceof ToolFault ? error : refused(parent, name, error);
  }
  if (parent.walk === 'fd') return { walk: 'fd', fd, location: `/proc/self/fd/${fd}`, names };
  try {
    if (before === undefined || !isSame(fstatSync(fd), before)) throw changedFault(pathOf(names).shown);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { walk: 'lstat', fd, location: path, names };
}

// The kernel says ENOTDIR of a link and of a file alike; the model should know which of the two it is.
function refused(parent: Directory, name: string, error: unknown): unknown {
  const shown = pathOf([...parent.names, name]).shown;
  const reason = errorName(error);
  if (reason === 'ENOENT') return new ToolFault('not_found', `${shown} does not exist; list its parent to see names`);
  if (reason !== 'ENOTDIR' && reason !== 'ELOOP') return error;
  if (lookUp(parent, name)?.isSymbolicLink() === true) return linkFault(shown);
  return new ToolFault('not_directory', `${shown} is not a directory`);
}

const isSame = (a: Stats, b: Stats): boolean => a.ino === b.ino && a.dev === b.dev;

export const changedFault = (shown: string): ToolFault =>
  new ToolFault('forbidden', `${shown} changed while it was opened; try again`);

export const handleFlag = (walk: WalkKind): number => (walk === 'fd' ? O_PATH : constants.O_RDONLY);
