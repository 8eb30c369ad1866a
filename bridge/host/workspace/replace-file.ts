// Writes a file in two steps, so that a reader sees the old bytes or the new ones, never a mixture: the bytes are written
// and synced to a temporary file in the same directory, which then takes the target's name.
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

/** The attributes that a written file keeps from the one it replaces. */
export interface Attributes extends Owner {
  readonly mode: number;
}

export const attributesOf = ({ mode, uid, gid }: Stats): Attributes => ({ mode: mode & 0o777, uid, gid });

export const newTemporaryName = (): string => `.refold-${randomBytes(8).toString('hex')}.tmp`;

/** True for a temporary file, which a crash during a write can leave. Searches and listings leave these out. */
export const isTemporaryName = (name: string): boolean => /^\.refold-[0-9a-f]{16}\.tmp$/.test(name);

/** The entry that a write would replace, or null; throws when the entry must not be replaced. */
export function findReplaceable(directory: Directory, name: string): Stats | null {
  const stats = lookUp(directory, name);
  if (stats !== null) checkReadable(directory, stats, pathOf([...directory.names, name]).shown);
  return stats;
}

/** Writes `bytes` durably to the new file `temporary`, with the attributes that the target must have. */
export function stageFile(
  directory: Directory,
  temporary: string,
  bytes: Uint8Array,
  attributes: Attributes | Owner,
): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const keepsMode = 'mode' in attributes;
  const fd = openSync(entryPath(directory, temporary), flags, keepsMode ? 0o600 : 0o666);
  try {
    writeFileSync(fd, bytes);
    setOwner(fd, attributes);
    if (keepsMode) fchmodSync(fd, attributes.mode);
    fsyncSync(fd);
  } catch (error) {
    rmSync(entryPath(directory, temporary), { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Renames a staged file to its name. With `exclusive`, throws when a file has taken that name since. */
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

/** Makes the entries of a directory durable. */
export function syncHandle(directory: Directory): void {
  const fd = openSync(`${directory.location}/.`, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Stages a file and publishes it. */
export function replaceFile(
  directory: Directory,
  name: string,
  bytes: Uint8Array,
  options: { readonly attributes: Attributes | Owner; readonly exclusive?: boolean },
): void {
  const temporary = newTemporaryName();
  stageFile(directory, temporary, bytes, options.attributes);
  try {
    publishFile(directory, temporary, name, options.exclusive ?? false);
  } catch (error) {
    rmSync(entryPath(directory, temporary), { force: true });
    throw error;
  }
  syncHandle(directory);
}

/** Makes every missing directory of `names`; returns those it made, outermost first. */
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
          setOwner(fd, owner);
        } finally {
          closeSync(fd);
        }
      });
      syncHandle(parent);
    });
  }
  return made;
}

export const existsFault = (shown: string): ToolFault =>
  new ToolFault('file_exists', `${shown} already exists; edit it, or use mode "overwrite" to replace it`);

// Only root may change a file's owner; under any other user a new file already has the right one.
function setOwner(fd: number, owner: Owner): void {
  if (process.getuid?.() === 0) fchownSync(fd, owner.uid, owner.gid);
}
