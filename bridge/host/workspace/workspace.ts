// The workspace: the one directory whose files the tools may read and write. It stays open for the life of the host, so
// replacing the directory at its path has no effect.
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, readFileSync, readSync, realpathSync, statSync, type Stats } from 'node:fs';
import { hostname } from 'node:os';
import { basename, resolve } from 'node:path';
import { FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { type Directory, type WalkKind, lookUp, openRoot, walkKindHere, withDirectory } from './directory.ts';
import { type OpenFile, openFile } from './open-file.ts';
import { type OwnCode, openOwnCode } from './own-code.ts';
import { type WorkspacePath, parsePath, pathOf } from './path-name.ts';
import { type ProtectedPlaces, protectPlaces } from './protected-places.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface Workspace {
  /** The absolute path without links, as outputs and the sandbox show it. */
  readonly path: string;
  /** Identifies the workspace among all of all machines. */
  readonly name: string;
  readonly root: Directory;
  /** The owner of the workspace, and of new files when the host runs as root. */
  readonly owner: Owner;
  /** What no tool may read or write, wherever it lies. */
  readonly places: ProtectedPlaces;
  /** The programs in it that refold itself runs, which no tool may write. */
  readonly code: OwnCode;
  parse(raw: string): WorkspacePath;
  close(): void;
}

interface WorkspaceOptions {
  readonly walk?: WalkKind;
  /** Directories and files of refold itself. */
  readonly protect?: readonly string[];
  readonly name?: string | undefined;
}

/** Throws for a directory that must not be a workspace. */
export function openWorkspace(
  path: string,
  { walk = walkKindHere(), protect = [], name }: WorkspaceOptions = {},
): Workspace {
  const real = realpathSync(path);
  if (real === '/') throw new Error('the workspace must not be /; choose a directory below it');
  const places = protectPlaces(real, protect);
  const root = openRoot(real, walk, places);
  const { uid, gid, ino } = checkRoot(root, real);
  const roots = [real, resolve(path)];
  return {
    path: real,
    name: name ?? nameOf(real, ino),
    root,
    owner: { uid, gid },
    places,
    code: openOwnCode(real),
    parse: (raw) => parsePath(raw, roots),
    close: () => closeSync(root.fd),
  };
}

// Not the device: its number may change when the machine starts again.
function nameOf(path: string, inode: number): string {
  const place = createHash('sha256').update([machineId(), path, inode].join('\0')).digest('hex').slice(0, 16);
  return `${basename(path)
    .replace(/[^\w.-]/g, '_')
    .slice(0, 64)}@${place}`;
}

function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim() || hostname();
  } catch {
    return hostname();
  }
}

// The path may lead elsewhere than when it was checked.
function checkRoot(root: Directory, path: string): Stats {
  const opened = fstatSync(root.fd);
  if (!root.places.has(opened) && isAt(opened, path) && realpathSync(path) === path) return opened;
  closeSync(root.fd);
  throw new Error(`the workspace ${path} changed while it was opened; try again`);
}

/** Throws when another directory has taken the path of the workspace: what is opened by its path is not in it. */
export function refuseReplaced({ root, path }: Workspace): void {
  if (isAt(fstatSync(root.fd), path)) return;
  throw new ToolFault('forbidden', `the workspace ${path} was moved or replaced; a person must restart the bridge`);
}

function isAt({ dev, ino }: Stats, path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.dev === dev && stats.ino === ino;
}

/** Runs `use` with the parent directory of `path` and the name in it. Throws for the workspace itself. */
export function withParent<T>(
  workspace: Workspace,
  path: WorkspacePath,
  use: (directory: Directory, name: string) => T,
): T {
  const name = path.names.at(-1);
  if (name === undefined) throw new ToolFault('is_directory', '. is the workspace directory; name a file in it');
  return withDirectory(workspace.root, path.names.slice(0, -1), (directory) => use(directory, name));
}

/** Runs `use` with a regular file open for reading; see `openFile` for what is refused. */
export function withFile<T>(workspace: Workspace, path: WorkspacePath, use: (file: OpenFile) => T): T {
  return withParent(workspace, path, (directory, name) => {
    if (lookUp(directory, name) === null) throw missingFault(path);
    const file = openFile(directory, name);
    try {
      return use(file);
    } finally {
      closeSync(file.fd);
    }
  });
}

/** The bytes of a regular file of at most `bytesMax` bytes, and its stats. */
export function readWhole(
  workspace: Workspace,
  path: WorkspacePath,
  bytesMax = FILE_BYTES_MAX,
): { readonly bytes: Buffer; readonly stats: Stats } {
  return withFile(workspace, path, ({ fd, stats }) => {
    if (stats.size > bytesMax) {
      throw new ToolFault('file_too_large', `${path.shown} has ${stats.size} bytes; the maximum is ${bytesMax}`);
    }
    return { bytes: readRange(fd, 0, stats.size), stats };
  });
}

/** At most `length` bytes from `start` on; fewer when the file ends earlier. */
export function readRange(fd: number, start: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(fd, buffer, filled, length - filled, start + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

/** The text of UTF-8 bytes, including a byte order mark; null when they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return null;
  }
}

export const missingFault = (path: WorkspacePath): ToolFault =>
  new ToolFault(
    'not_found',
    `${path.shown} does not exist; list ${pathOf(path.names.slice(0, -1)).shown} to see what exists`,
  );

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
