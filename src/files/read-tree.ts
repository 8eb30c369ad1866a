// Reads a whole directory into memory, for what is pinned by a digest of its files. Every directory is opened from the handle
// of the one above it, and every file from the handle of its directory, so that a name that is replaced by a link meanwhile
// leads nowhere. Symbolic links, hard links, devices and pipes are refused, and everything is bounded: a directory that cannot
// be read as a whole is not read at all. Synchronous, so nothing of this process runs in between.
import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, opendirSync, readSync } from 'node:fs';
import { Buffer, isUtf8 } from 'node:buffer';
import { SOURCE_ENTRIES_MAX } from '../../schemas/limits.ts';
import { reasonOf } from './file-failure.ts';

export interface TreeFile {
  /** Relative to the directory, with `/`. */
  readonly path: string;
  /** Its content. */
  readonly bytes: Buffer;
  /** Whether its owner may run it. */
  readonly executable: boolean;
}

export interface TreeBounds {
  readonly files: number;
  /** Of all files together. */
  readonly bytes: number;
  /** Directories above a file. */
  readonly depth: number;
}

/** Why a directory is not read: the path in it, and what is wrong there. */
export class TreeRefused extends Error {
  override readonly name = 'TreeRefused';
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

interface OpenDirectory {
  /** A path to it that stays valid when a directory above is renamed, where the system has such paths. */
  readonly location: string;
  readonly shown: string;
  readonly depth: number;
}

/** An entry of a directory that was read, in the order of the bytes of their names. */
export interface DirectoryEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
}

// Node does not export O_PATH. The value is the same on every Linux architecture that Node is built for.
const O_PATH = 0o10_000_000;
const HANDLES = process.platform === 'linux' && existsSync('/proc/self/fd/');

/**
 * The files of `name` in the directory `root`, sorted by the bytes of their paths. Throws a {@link TreeRefused}. `root` may be
 * a link, which the operator named; `name` may not.
 */
export function readTree(root: string, name: string, bounds: TreeBounds): readonly TreeFile[] {
  const files: TreeFile[] = [];
  let bytes = 0;
  const visit = (directory: OpenDirectory): void => {
    for (const { name: child, kind } of entriesOf(directory)) {
      const shown = directory.shown === '' ? child : `${directory.shown}/${child}`;
      if (kind === 'link') throw new TreeRefused(shown, 'is a symbolic link; put the file itself there');
      if (kind === 'other') throw new TreeRefused(shown, 'is a device, socket or pipe; remove it');
      if (kind === 'directory') {
        if (directory.depth >= bounds.depth)
          throw new TreeRefused(shown, `lies deeper than ${bounds.depth} directories; move it up`);
        withHandle(directory.location, child, shown, (location) =>
          visit({ location, shown, depth: directory.depth + 1 }),
        );
        continue;
      }
      if (files.length >= bounds.files) throw new TreeRefused('', `has more than ${bounds.files} files; remove some`);
      const file = readFileOf(directory.location, child, { shown, bytesMax: bounds.bytes - bytes });
      bytes += file.bytes.length;
      files.push(file);
    }
  };
  guarded('', () => withHandle(root, name, '', (location) => visit({ location, shown: '', depth: 0 })));
  return files.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

/** The entries of a directory, which may be a link. Throws a {@link TreeRefused}. */
export const listDirectory = (path: string): readonly DirectoryEntry[] =>
  guarded('', () => entriesOf({ location: path, shown: '', depth: 0 }));

/** Errors of the file system become refusals. */
function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TreeRefused) throw error;
    throw new TreeRefused(path, `cannot be read: ${reasonOf(error)}`);
  }
}

function entriesOf({ location, shown }: OpenDirectory): readonly DirectoryEntry[] {
  // As latin1, a name is its bytes.
  const directory = opendirSync(location, { encoding: 'latin1' });
  const entries: DirectoryEntry[] = [];
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      if (entries.length >= SOURCE_ENTRIES_MAX)
        throw new TreeRefused(shown, `has more than ${SOURCE_ENTRIES_MAX} entries; remove some`);
      const bytes = Buffer.from(entry.name, 'latin1');
      if (!isUtf8(bytes)) throw new TreeRefused(shown, 'has an entry whose name is not UTF-8; rename it');
      const name = bytes.toString('utf8');
      const stats = lstatSync(`${location}/${name}`, { throwIfNoEntry: false });
      if (stats === undefined) continue;
      const plain = stats.isFile() ? 'file' : 'other';
      entries.push({ name, kind: stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : plain });
    }
  } finally {
    directory.closeSync();
  }
  return entries.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}

/** Opens a directory from the location of the one above it, and never through a link. */
function withHandle<T>(location: string, name: string, shown: string, use: (location: string) => T): T {
  const path = `${location}/${name}`;
  const fd = openNoLink(path, shown, constants.O_DIRECTORY | (HANDLES ? O_PATH : constants.O_RDONLY));
  try {
    return use(HANDLES ? `/proc/self/fd/${fd}` : path);
  } finally {
    closeSync(fd);
  }
}

function openNoLink(path: string, shown: string, flags: number): number {
  try {
    return openSync(path, flags | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (isLink && (code === 'ELOOP' || code === 'ENOTDIR'))
      throw new TreeRefused(shown, 'is a symbolic link; put the file or directory itself there');
    throw error;
  }
}

function readFileOf(
  location: string,
  name: string,
  { shown, bytesMax }: { readonly shown: string; readonly bytesMax: number },
): TreeFile {
  // O_PATH does not open the file itself: a device or a pipe is only looked at, and then refused.
  const handle = openNoLink(`${location}/${name}`, shown, HANDLES ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size, mode, nlink } = checked(handle, shown);
    if (nlink > 1) throw new TreeRefused(shown, `has ${nlink} hard links; put a copy of its own there`);
    if (size > bytesMax) throw new TreeRefused(shown, `is larger than the ${bytesMax} bytes that are left; remove it`);
    const fd = HANDLES ? openSync(`/proc/self/fd/${handle}`, constants.O_RDONLY | constants.O_NONBLOCK) : handle;
    try {
      return { path: shown, bytes: readAll(fd, size, shown), executable: (mode & 0o100) !== 0 };
    } finally {
      if (fd !== handle) closeSync(fd);
    }
  } finally {
    closeSync(handle);
  }
}

function checked(handle: number, shown: string): { size: number; mode: number; nlink: number } {
  const stats = fstatSync(handle);
  if (stats.isSymbolicLink()) throw new TreeRefused(shown, 'is a symbolic link; put the file itself there');
  if (!stats.isFile()) throw new TreeRefused(shown, 'is no regular file; remove it');
  return stats;
}

/** Exactly so many bytes: a file that grows or shrinks meanwhile is being written. */
function readAll(fd: number, size: number, shown: string): Buffer {
  const bytes = Buffer.alloc(size + 1);
  let at = 0;
  for (;;) {
    const read = readSync(fd, bytes, at, bytes.length - at, at);
    at += read;
    if (read === 0 || at === bytes.length) break;
  }
  if (at !== size) throw new TreeRefused(shown, 'changed while it was read; it is read again when it is whole');
  return bytes.subarray(0, size);
}
