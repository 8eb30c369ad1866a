// The one lock that Node can take on a file is the one LevelDB takes on its directory. It goes with its process.
import { Level } from 'level';
import { type Store } from '../store.ts';
import { openLevelStore } from './store.ts';
import { makeDirectory } from '../../files/directories.ts';
import { refuse } from '../refusal.ts';

/** Refuses when a process has the database in `directory` open. Changes nothing in it. */
export async function refuseWhenOpen(directory: string): Promise<void> {
  // LevelDB takes its lock first, and sees then that it may neither open nor make anything.
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

/** Runs `work` while this process alone holds the lock that is kept in `directory`. */
export async function holdingLock<T>(directory: string, work: () => Promise<T>): Promise<T> {
  await makeDirectory(directory);
  const lock: Store = await openLevelStore(directory);
  try {
    return await work();
  } finally {
    await lock.close();
  }
}
