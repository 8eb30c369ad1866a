// Opens a regular file of the workspace so that not one byte from outside can come in. Links that follow names are
// refused by the walk; a hard link is a second name of the very file, and the only sign of it is the count of names.
// That count alone can be fooled: an attacker who removes the second name right after the open leaves a file with
// one name, the one outside. So the name that was opened must still stand once the count was seen:
//
//   open   the handle holds the name it was opened by, and what becomes of that name
//   count  the file has one name
//   wait   until nobody is removing a name from this directory: the kernel counts down before it takes the name away
//   name   the handle's name is in this directory, and was not removed
//
// A removed name never comes back, so it stood when there was one name: it was the one.
import { randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { ToolFault, errorName } from '../outcome.ts';
import { type Directory, changedFault, entryPath, handleFlag, linkFault, lookUp } from './directory.ts';
import { pathOf } from './path-name.ts';

/** A regular file that is open for reading, and what it was when it was opened. */
export interface OpenFile {
  readonly fd: number;
  readonly stats: Stats;
}

/** A file that is just being replaced by its writer is looked for again, a few times. */
const OPEN_ATTEMPTS = 4;

/** What Linux appends to the path of a handle whose name was removed (proc(5)). */
const REMOVED = ' (deleted)';

/** Opens a regular file for reading. Anything else under that name is refused before it is opened. */
export function openFile(directory: Directory, name: string): OpenFile {
  const shown = pathOf([...directory.names, name]).shown;
  if (name.endsWith(REMOVED)) {
    throw new ToolFault('forbidden', `${shown} has a name that Linux gives to deleted files; rename it to read it`);
  }
  for (let attempt = 1; attempt <= OPEN_ATTEMPTS; attempt += 1) {
    const opened = openOnce(directory, name, shown);
    if (opened !== null) return opened;
  }
  throw changedFault(shown);
}

function openOnce(directory: Directory, name: string, shown: string): OpenFile | null {
  const path = entryPath(directory, name);
  if (directory.walk === 'lstat') checkReadable(lstatSync(path), shown);
  // O_PATH opens nothing: a device or a FIFO is only looked at, and then refused.
  const handle = openSync(path, handleFlag(directory.walk) | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  let kept = false;
  try {
    const stats = fstatSync(handle);
    checkReadable(stats, shown);
    if (directory.walk === 'lstat') {
      kept = isNamed(directory, name, stats);
      return kept ? { fd: handle, stats } : null;
    }
    return holdsItsName(directory, handle, shown) ? { fd: reopened(handle), stats } : null;
  } finally {
    if (!kept) closeSync(handle);
  }
}

/** True when the name by which `handle` was opened still stands in the directory. */
function holdsItsName(directory: Directory, handle: number, shown: string): boolean {
  // The kernel remembers no such name, so it must look into the directory, which it does not while somebody removes
  // a name from it: a removal that had begun is over after this.
  lookUp(directory, `.refold-${randomUUID()}`);
  const path = pathOfHandle(handle, shown);
  return !path.endsWith(REMOVED) && dirname(path) === readlinkSync(directory.location);
}

// A walk from handle to handle gets deeper than the longest path that the kernel tells.
function pathOfHandle(handle: number, shown: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${handle}`);
  } catch (error) {
    if (errorName(error) !== 'ENAMETOOLONG') throw error;
    throw new ToolFault('invalid_path', `${shown} lies too deep to be read; move it to a shorter path`);
  }
}

/** Where a handle does not tell its name: the name is asked again. Weaker, as all of that walk. */
function isNamed(directory: Directory, name: string, opened: Stats): boolean {
  const named = lookUp(directory, name);
  return named !== null && named.ino === opened.ino && named.dev === opened.dev && named.nlink <= 1;
}

/** A second handle of the same file, one that can be read. */
const reopened = (handle: number): number =>
  openSync(`/proc/self/fd/${handle}`, constants.O_RDONLY | constants.O_NONBLOCK);

/** Throws unless the entry is a regular file with one name only. */
export function checkReadable(stats: Stats, shown: string): void {
  if (stats.isDirectory()) throw new ToolFault('is_directory', `${shown} is a directory; list it instead`);
  if (stats.isSymbolicLink()) throw linkFault(shown);
  if (!stats.isFile()) throw new ToolFault('forbidden', `${shown} is a device, socket or pipe, not a file`);
  // A second name may lie outside of the workspace, and no check of paths would show it.
  if (stats.nlink > 1) {
    throw new ToolFault('forbidden', `${shown} has ${stats.nlink} hard links; copy it to a new file and use the copy`);
  }
}
