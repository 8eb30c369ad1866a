// The path walk (docs/design.md, "Safety"): every directory is opened from the handle of its parent, and a symbolic link is
// never followed. A process that replaces a directory by a link while a call runs can only make the call fail. Everything
// here is synchronous, so no other call of this process runs between a check and its use.
//
// On Linux, `/proc/self/fd/<handle>/<name>` is what Node can use for openat(2). Other systems have no such path: each
// component is checked with lstat(2) and compared with the file that was then opened. That is weaker, because a rename is
// possible in between; it is detected only after the open, and only when it leads to another file.
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  type Stats,
} from 'node:fs';
import { isDataDirectory } from '../../../src/files/own-places.ts';
import { ToolFault, errorName } from '../outcome.ts';
import { filePath } from './byte-name.ts';
import { pathOf } from './path-name.ts';
import { NO_PLACES, type ProtectedPlaces, protectedFault } from './protected-places.ts';

export type WalkKind = 'fd' | 'lstat';

/** An open directory of the workspace. */
export interface Directory {
  readonly walk: WalkKind;
  readonly fd: number;
  /** A path to this directory. With the `fd` walk it stays valid when a directory above is renamed. */
  readonly location: string;
  readonly names: readonly string[];
  /** What is not opened, wherever it is found. */
  readonly places: Pick<ProtectedPlaces, 'has'>;
}

// Node does not export O_PATH. The value is the same on every Linux architecture that Node is built for.
const O_PATH = 0o10_000_000;

export const walkKindHere = (): WalkKind =>
  process.platform === 'linux' && existsSync(`/proc/self/fd/`) ? 'fd' : 'lstat';

/** Opens the workspace itself. The operator gives its path, which may contain links. */
export function openRoot(path: string, walk: WalkKind, places: Directory['places'] = NO_PLACES): Directory {
  const fd = openSync(path, constants.O_DIRECTORY | handleFlag(walk));
  return { walk, fd, location: walk === 'fd' ? `/proc/self/fd/${fd}` : path, names: [], places };
}

export const entryPath = (directory: Directory, name: string): string | Buffer =>
  filePath(`${directory.location}/${name}`);

/** Runs `use` with the directory that `names` lead to, then closes every handle except the root's. */
export function withDirectory<T>(root: Directory, names: readonly string[], use: (directory: Directory) => T): T {
  let directory = root;
  try {
    for (const name of names) {
      const parent = directory;
      directory = openChild(parent, name);
      if (parent !== root) closeSync(parent.fd);
    }
    return use(directory);
  } finally {
    if (directory !== root) closeSync(directory.fd);
  }
}

/** The entry with a name, without following a link; null when there is none. */
export function lookUp(directory: Directory, name: string): Stats | null {
  return lstatSync(entryPath(directory, name), { throwIfNoEntry: false }) ?? null;
}

/** Gives the owner of a directory these rights to it, whatever its path leads to now. */
export function grantOwner({ walk, fd, location }: Directory, rights: number): void {
  const mode = fstatSync(fd).mode & 0o7777;
  if ((mode & rights) === rights) return;
  // The handle of the `fd` walk has no rights of its own: only its path reaches the directory.
  if (walk === 'fd') chmodSync(location, mode | rights);
  else fchmodSync(fd, mode | rights);
}

export const linkFault = (shown: string): ToolFault =>
  new ToolFault('forbidden', `${shown} is a symbolic link, and links are not followed; name the real path instead`);

/** Opens a directory of `parent`; the caller closes its handle. */
export function openChild(parent: Directory, name: string): Directory {
  const names = [...parent.names, name];
  const path = entryPath(parent, name);
  const before = parent.walk === 'lstat' ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
  let fd: number;
  try {
    if (before?.isSymbolicLink() === true) throw linkFault(pathOf(names).shown);
    fd = openSync(path, constants.O_DIRECTORY | constants.O_NOFOLLOW | handleFlag(parent.walk));
  } catch (error) {
    throw error instanceof ToolFault ? error : openFault(parent, name, error);
  }
  try {
    const opened = fstatSync(fd);
    const location = parent.walk === 'fd' ? `/proc/self/fd/${fd}` : `${parent.location}/${name}`;
    if (parent.places.has(opened) || isDataDirectory(location)) throw protectedFault(pathOf(names).shown);
    if (parent.walk === 'lstat' && (before === undefined || !isSame(opened, before)))
      throw changedFault(pathOf(names).shown);
    return { ...parent, fd, location, names };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

// The kernel reports ENOTDIR both for a link and for a file; the fault reports which of the two it is.
function openFault(parent: Directory, name: string, error: unknown): unknown {
  const shown = pathOf([...parent.names, name]).shown;
  const reason = errorName(error);
  if (reason === 'ENOENT')
    return new ToolFault('not_found', `${shown} does not exist; list its parent directory to see names`);
  if (reason !== 'ENOTDIR' && reason !== 'ELOOP') return error;
  if (lookUp(parent, name)?.isSymbolicLink() === true) return linkFault(shown);
  return new ToolFault('not_directory', `${shown} is not a directory; use a file tool for it, or name a directory`);
}

const isSame = (a: Stats, b: Stats): boolean => a.ino === b.ino && a.dev === b.dev;

export const changedFault = (shown: string): ToolFault =>
  new ToolFault('forbidden', `${shown} changed while it was opened; try again`);

export const handleFlag = (walk: WalkKind): number => (walk === 'fd' ? O_PATH : constants.O_RDONLY);
