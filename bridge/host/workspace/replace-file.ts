// Writes a file in two steps, so that a reader sees the old bytes or the new ones and never a part: the bytes go to
// a temporary file in the same directory and to the disk, then take the target's name.
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { ToolFault, errorName } from '../outcome.ts';
import { type Directory, entryPath, lookUp, withDirectory } from './directory.ts';
import { checkReadable } from './open-file.ts';
import { pathOf } from './path-name.ts';
import type { Owner } from './workspace.ts';

/** What a written file keeps of the one it replaces. */
export interface Attributes extends Owner {
  readonly mode: number;
}

export const attributesOf = ({ mode, uid, gid }: Stats): Attributes => ({ mode: mode & 0o777, uid, gid });

export const newTemporaryName = (): string => `.refold-${randomBytes(8).toString('hex')}.tmp`;

/** Left by a crash in the middle of a write. Searches and listings do not show them. */
export const isTemporaryName = (name: string): boolean => /^\.refold-[0-9a-f]{16}\.tmp$/.test(name);

/** The entry a write would replace, or null; throws when it is something that must not be replaced. */
export function findReplaceable(directory: Directory, name: string): Stats | null {
  const stats = lookUp(directory, name);
  if (stats !== null) checkReadable(stats, pathOf([...directory.names, name]).shown);
  return stats;
}

/** Writes `bytes` to the new file `temporary`, durably, with the attributes that the target shall have. */
export function stageFile(directory: Directory, temporary: string, bytes: Uint8Array, like: Attributes | Owner): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const keepsMode = 'mode' in like;
  const fd = openSync(entryPath(directory, temporary), flags, keepsMode ? 0o600 : 0o666);
  try {
    writeFileSync(fd, bytes);
    giveTo(fd, like);
    if (keepsMode) fchmodSync(fd, like.mode);
    fsyncSync(fd);
  } catch (error) {
    rmSync(entryPath(directory, temporary), { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Gives a staged file its name. With `exclusive`, a file that has that name meanwhile is left alone. */
export function publishFile(directory: Directory, temporary: string, name: string, exclusive: boolean): void {
  const from = entryPath(directory, temporary);
  const to = entryPath(directory, name);
  if (!exclusive) {
    renameSync(from, to);
    return;
  }
  try {
    linkSync(from, to);
  } catch (error) {
    if (errorName(error) === 'EEXIST') throw existsFault(pathOf([...directory.names, name]).shown);
    throw error;
  } finally {
    unlinkSync(from);
  }
}

/** Makes the names of a directory durable. */
export function syncDirectory(directory: Directory): void {
  const fd = openSync(`${directory.location}/.`, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Stages and publishes in one go. */
export function replaceFile(
  directory: Directory,
  name: string,
  bytes: Uint8Array,
  options: { readonly like: Attributes | Owner; readonly exclusive?: boolean },
): void {
  const temporary = newTemporaryName();
  stageFile(directory, temporary, bytes, options.like);
  try {
    publishFile(directory, temporary, name, options.exclusive ?? false);
  } catch (error) {
    rmSync(entryPath(directory, temporary), { force: true });
    throw error;
  }
  syncDirectory(directory);
}

/** Makes every directory of `names` that is missing; returns those it made, outermost first. */
export function makeDirectories(
  root: Directory,
  names: readonly string[],
  owner: Owner,
): readonly (readonly string[])[] {
  const made: (readonly string[])[] = [];
  for (let depth = 1; depth <= names.length; depth += 1) {
    const name = names[depth - 1] as string;
    withDirectory(root, names.slice(0, depth - 1), (parent) => {
      if (lookUp(parent, name) !== null) return;
      mkdirSync(entryPath(parent, name));
      made.push(names.slice(0, depth));
      withDirectory(parent, [name], (child) => {
        const fd = openSync(`${child.location}/.`, constants.O_RDONLY | constants.O_DIRECTORY);
        try {
          giveTo(fd, owner);
        } finally {
          closeSync(fd);
        }
      });
      syncDirectory(parent);
    });
  }
  return made;
}

export const existsFault = (shown: string): ToolFault =>
  new ToolFault('file_exists', `${shown} already exists; edit it, or write it with mode "overwrite"`);

// Only root may give files away; anyone else's new files are their own already.
function giveTo(fd: number, owner: Owner): void {
  if (process.getuid?.() === 0) fchownSync(fd, owner.uid, owner.gid);
}
