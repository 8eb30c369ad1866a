// Writes the entries of a backup into a new journal.
import { markClosed } from './closed-file.ts';
import { openLevelStore } from './store.ts';
import type { Put } from '../store.ts';

export interface LevelCopy {
  add(entries: readonly Put[]): Promise<void>;
  /** Completes the journal, so that it opens like one that was stopped. */
  close(): Promise<void>;
}

/** Makes a journal in a directory without one. */
export async function newLevelCopy(directory: string): Promise<LevelCopy> {
  const store = await openLevelStore(directory);
  return {
    add: async (entries) => {
      if (entries.length > 0) await store.write(entries);
    },
    close: async () => {
      await store.close();
      // Opening it again writes its log to a table, because no trail covers the writes in this log.
      await (await openLevelStore(directory)).close();
      await markClosed(directory);
    },
  };
}
