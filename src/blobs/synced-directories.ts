// The directories that lead to blobs. Whatever leads to one that was put is made and synced once by each process, those
// that were there too: whoever made them may have died before they were on disk.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../files/directories.ts';
import { codeOf } from '../files/file-failure.ts';

/** From the directory that is made first to the one that holds the blob. */
export type Way = readonly [outer: string, inner: string];

export interface Ways {
  /** Makes the directories of a way that are missing, and what leads to them durable. */
  make(way: Way): Promise<void>;
  /** Something took a directory of it away. */
  forget(way: Way): void;
}

export function newWays(): Ways {
  const reached = new Set<string>();
  return {
    async make(way) {
      const unknown = way.filter((directory) => !reached.has(directory));
      for (const directory of unknown) await makeMissing(directory);
      await Promise.all(unknown.map((directory) => syncDirectory(dirname(directory))));
      for (const directory of unknown) reached.add(directory);
    },
    forget(way) {
      for (const directory of way) reached.delete(directory);
    },
  };
}

async function makeMissing(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    // What is there and no directory shows with the next thing that is put into it.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
