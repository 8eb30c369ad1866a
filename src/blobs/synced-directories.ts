// The directories that contain blobs. Each process creates and syncs every directory on the path of a blob once, even one
// that exists already: the process that created it may have died before it was on disk.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../files/directories.ts';
import { codeOf } from '../files/file-failure.ts';

/** From the directory that is created first to the one that contains the blob. */
export type DirectoryPair = readonly [outer: string, inner: string];

export interface SyncedDirectories {
  /** Creates the missing directories of a pair, and makes their entries durable. */
  ensure(pair: DirectoryPair): Promise<void>;
  /** Creates the missing directories of a pair; a power cut may lose them. */
  create(pair: DirectoryPair): Promise<void>;
  /** A directory of the pair was deleted. */
  forget(pair: DirectoryPair): void;
}

export function newSyncedDirectories(): SyncedDirectories {
  const synced = new Set<string>();
  return {
    async ensure(pair) {
      const unknown = pair.filter((directory) => !synced.has(directory));
      for (const directory of unknown) await createMissing(directory);
      await Promise.all(unknown.map((directory) => syncDirectory(dirname(directory))));
      for (const directory of unknown) synced.add(directory);
    },
    async create(pair) {
      for (const directory of pair) if (!synced.has(directory)) await createMissing(directory);
    },
    forget(pair) {
      for (const directory of pair) synced.delete(directory);
    },
  };
}

async function createMissing(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    // When the existing entry is not a directory, the next write into it fails.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
