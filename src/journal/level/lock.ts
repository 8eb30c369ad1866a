// The lock that LevelDB takes on its directory: shows whether a process has a database open, and serves as a general lock,
// because Node has no file locks. The system releases it when the process that holds it ends.
import { Level } from 'level';
import { type Store } from '../store.ts';
import { openLevelStore } from './store.ts';
import { makeDirectory } from '../../files/directories.ts';
import { refuse } from '../refusal.ts';

/** Refuses when a process has the database in `directory` open. Does not change the database. */
export async function refuseWhenOpen(directory: string): Promise<void> {
  // LevelDB takes its lock first; with these options it then neither opens nor creates a database.
  const database = new Level(directory, { createIfMissing: false, errorIfExists: true });
  try {
    await database.open();
  } catch (error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      if ('code' in cause && cause.code === 'LEVEL_LOCKED') {
        refuse('in_use', 'another refold engine has this data directory open');
      }
    }
    return;
  }
  await database.close();
}

/** Runs `work` while this process holds the lock in `directory`. */
export async function holdingLock<T>(directory: string, work: () => Promise<T>): Promise<T> {
  await makeDirectory(directory);
  const lock: Store = await openLevelStore(directory);
  try {
    return await work();
  } finally {
    await lock.close();
  }
}
