// Puts a git directory out of git's sight: an entry `.git` gets another name, and in a directory with the content of a git
// directory `HEAD` gets one, without which git does not accept it. Nothing is deleted: a person can move both back.
import { randomBytes } from 'node:crypto';
import { renameSync } from 'node:fs';
import { errorName } from '../outcome.ts';
import { type Directory, entryPath, grantOwner, withDirectory } from '../workspace/directory.ts';
import { pathOf } from '../workspace/path-name.ts';
import type { GitEntry } from './git-entries.ts';

export interface Quarantined {
  /** The path of the entry, for the model. */
  readonly path: string;
  /** What it is called now; null when it could not be moved. */
  readonly movedTo: string | null;
}

/** In the order of `findGitEntries`: one that holds others has been moved when their turn comes. */
export function quarantine(root: Directory, entries: readonly GitEntry[]): readonly Quarantined[] {
  const moved = new Map<string, readonly string[]>();
  return entries.map(({ names, kind }) => {
    const path = pathOf(names).shown;
    try {
      const at = placeNow(names, moved);
      const to = kind === 'entry' ? moveEntry(root, at) : moveHead(root, at);
      if (kind === 'entry') moved.set(names.join('/'), to);
      return { path, movedTo: pathOf(to).shown };
    } catch {
      return { path, movedTo: null };
    }
  });
}

/** Where an entry is, after the innermost of those above it was moved. */
function placeNow(names: readonly string[], moved: ReadonlyMap<string, readonly string[]>): readonly string[] {
  for (let count = names.length - 1; count > 0; count -= 1) {
    const above = moved.get(names.slice(0, count).join('/'));
    if (above !== undefined) return [...above, ...names.slice(count)];
  }
  return names;
}

function moveEntry(root: Directory, names: readonly string[]): readonly string[] {
  const above = names.slice(0, -1);
  const moved = [...above, newNameOf(names.at(-1) as string)];
  withDirectory(root, above, (directory) => rename(directory, names.at(-1) as string, moved.at(-1) as string));
  try {
    // It would be a git directory for a program that runs in it.
    moveHead(root, moved);
  } catch {
    // A file, a link, or a directory without a HEAD.
  }
  return moved;
}

function moveHead(root: Directory, names: readonly string[]): readonly string[] {
  return withDirectory(root, names, (directory) => {
    const name = newNameOf('HEAD');
    rename(directory, 'HEAD', name);
    return [...names, name];
  });
}

const newNameOf = (name: string): string => `${name}.quarantined-${randomBytes(4).toString('hex')}`;

/** Renames an entry, also in a directory to which its owner has no rights. */
function rename(directory: Directory, from: string, to: string): void {
  try {
    renameSync(entryPath(directory, from), entryPath(directory, to));
  } catch (error) {
    if (errorName(error) !== 'EACCES') throw error;
    grantOwner(directory, 0o700);
    renameSync(entryPath(directory, from), entryPath(directory, to));
  }
}
