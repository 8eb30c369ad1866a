// Opens a regular file of the workspace in such a way that no byte from outside the workspace can be read. The walk refuses
// symbolic links. A hard link is a second name of the same file, visible only in the link count. The count alone is not
// enough: an attacker who removes the workspace's name right after the open leaves a file with one name, the one outside.
// So the opened name must still exist after the count was read:
//
//   open   the handle records the name it was opened by, and whether that name was removed
//   count  the file has one name
//   wait   until no removal from this directory is in progress: the kernel lowers the count before it removes the name
//   name   the handle's name is in this directory, and was not removed
//
// A handle never regains a removed name, so the opened name existed when the file had one name: it was that name.
import { randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { ToolFault, errorName } from '../outcome.ts';
import { type Directory, changedFault, entryPath, handleFlag, linkFault, lookUp } from './directory.ts';
import { pathOf } from './path-name.ts';
import { protectedFault } from './protected-places.ts';

/** A regular file that is open for reading, and its stats at the open. */
export interface OpenFile {
  readonly fd: number;
  readonly stats: Stats;
}

/** A file may be replaced by its writer during the open: it is then opened again, up to so many times. */
const OPEN_ATTEMPTS = 4;

/** What Linux appends to the path of a handle whose name was removed (proc(5)). */
const REMOVED = ' (deleted)';

/** Opens a regular file for reading. An entry of another kind is refused before it is opened. */
export function openFile(directory: Directory, name: string): OpenFile {
  const shown = pathOf([...directory.names, name]).shown;
  if (name.endsWith(REMOVED)) {
    throw new ToolFault(
      'forbidden',
      `${shown} ends in "${REMOVED}", which marks deleted files on Linux; rename the file to read it`,
    );
  }
  for (let attempt = 1; attempt <= OPEN_ATTEMPTS; attempt += 1) {
    const opened = openOnce(directory, name, shown);
    if (opened !== null) return opened;
  }
  throw changedFault(shown);
}

function openOnce(directory: Directory, name: string, shown: string): OpenFile | null {
  const path = entryPath(directory, name);
  if (directory.walk === 'lstat') checkReadable(directory, lstatSync(path), shown);
  // O_PATH does not open the file itself: a device or a FIFO is only inspected, and then refused.
  const handle = openSync(path, handleFlag(directory.walk) | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  let kept = false;
  try {
    const stats = fstatSync(handle);
    checkReadable(directory, stats, shown);
    if (directory.walk === 'lstat') {
      kept = isNamed(directory, name, stats);
      return kept ? { fd: handle, stats } : null;
    }
    return isUnderItsName(directory, handle, shown) ? { fd: reopened(handle), stats } : null;
  } finally {
    if (!kept) closeSync(handle);
  }
}

/** True when the name by which `handle` was opened still exists in the directory. */
function isUnderItsName(directory: Directory, handle: number, shown: string): boolean {
  // The kernel has not cached this random name, so it must search the directory, which waits for a removal in progress:
  // a removal that had begun has ended after this.
  lookUp(directory, `.refold-${randomUUID()}`);
  const path = pathOfHandle(handle, shown);
  return !path.endsWith(REMOVED) && dirname(path) === readlinkSync(directory.location);
}

// The walk can reach deeper than the longest path that the kernel reports.
function pathOfHandle(handle: number, shown: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${handle}`);
  } catch (error) {
    if (errorName(error) !== 'ENAMETOOLONG') throw error;
    throw new ToolFault('invalid_path', `${shown} lies too deep to be read; move it to a shorter path`);
  }
}

/** For the `lstat` walk, whose handles do not report their name: looks the name up again. Weaker, like all of that walk. */
function isNamed(directory: Directory, name: string, opened: Stats): boolean {
  const named = lookUp(directory, name);
  return named !== null && named.ino === opened.ino && named.dev === opened.dev && named.nlink <= 1;
}

/** A second handle of the same file, opened for reading. */
const reopened = (handle: number): number =>
  openSync(`/proc/self/fd/${handle}`, constants.O_RDONLY | constants.O_NONBLOCK);

/** Throws unless the entry is a regular file with exactly one name, and is not protected. */
export function checkReadable({ places }: Directory, stats: Stats, shown: string): void {
  if (places.has(stats)) throw protectedFault(shown);
  if (stats.isDirectory()) throw new ToolFault('is_directory', `${shown} is a directory; list it instead`);
  if (stats.isSymbolicLink()) throw linkFault(shown);
  if (!stats.isFile()) throw new ToolFault('forbidden', `${shown} is a device, socket or pipe; name a regular file`);
  // The other name may lie outside the workspace, which no check of paths would detect.
  if (stats.nlink > 1) {
    throw new ToolFault('forbidden', `${shown} has ${stats.nlink} hard links; copy it to a new file and use the copy`);
  }
}
