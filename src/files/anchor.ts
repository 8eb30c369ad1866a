// Whether files are still where they were opened. A directory that was removed, renamed or replaced under a running process
// takes its writes without an error, and nobody finds them again by name. So whoever acknowledges a write asks first and
// afterwards whether the names still lead to the same files, by device and inode.
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs';
import { reasonOf } from './file-failure.ts';

export interface Anchor {
  /** What happened to the directory; null while its path leads to it. */
  lost(): string | null;
  close(): void;
}

/** Remembers a directory and keeps it open, so that no other directory gets its inode. Throws when it cannot be opened. */
export function anchorDirectory(path: string): Anchor {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  const identity = identityOf(fstatSync(descriptor));
  let closed = false;
  return {
    lost: () => movedFrom(path, identity),
    close() {
      if (!closed) closeSync(descriptor);
      closed = true;
    },
  };
}

/** A file by device and inode. */
export type Identity = `${number}:${number}`;

export const identityOf = ({ dev, ino }: { readonly dev: number; readonly ino: number }): Identity => `${dev}:${ino}`;

/** What happened to the file that had this identity; null while its path leads to it. Keep the file open meanwhile. */
export function movedFrom(path: string, identity: Identity): string | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return `${path} was deleted or renamed`;
    return identityOf(stats) === identity ? null : `${path} was replaced by another`;
  } catch (error) {
    return `${path} cannot be reached: ${reasonOf(error)}`;
  }
}

/** The end of every refusal because of a lost directory. */
export const PUT_BACK = 'nothing more is recorded; put the original back, or stop this process and restore a backup';
