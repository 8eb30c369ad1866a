// The store on LevelDB: one directory, one process. Every write is synchronous, because a power cut would otherwise lose
// acknowledged events. LevelDB makes a write visible only after it is on disk, so everything that can be read is durable.
import { Level } from 'level';
import { makeDirectory } from '../../files/directories.ts';
import { LEVEL_FILES_OPEN_MAX, LEVEL_FILE_BYTES, SCAN_BYTES_MAX } from '../../../schemas/limits.ts';
import { storageCode, withRemedy } from '../../files/file-failure.ts';
import { Refusal, refuse } from '../refusal.ts';
import type { KeyRange, Put, ScanOptions, Store, StoreView } from '../store.ts';

type Database = Level<Uint8Array, Uint8Array>;
type Snapshot = ReturnType<Database['snapshot']>;

/** Entries that one step of a scan requests; SCAN_BYTES_MAX may end the step earlier. */
const SCAN_ENTRIES = 1_000;

/** Opens or creates the database in `directory` (created with mode 0700). */
export async function openLevelStore(directory: string): Promise<Store> {
  const database: Database = await guard('opening the journal', async () => {
    await makeDirectory(directory);
    const opened = new Level<Uint8Array, Uint8Array>(directory, { keyEncoding: 'view', valueEncoding: 'view' });
    await opened.open({ maxOpenFiles: LEVEL_FILES_OPEN_MAX, maxFileSize: LEVEL_FILE_BYTES });
    return opened;
  });
  return {
    write: (changes) =>
      guard('writing to the journal', async () => {
        // Takes a third of the time of passing an array, in which every put is copied together with its options.
        const batch = database.batch();
        for (const { key, value } of changes) {
          if (value === null) batch.del(key);
          else batch.put(key, value);
        }
        await batch.write({ sync: true });
      }),
    view: async (work) => {
      const snapshot = await guard('reading the journal', async () => database.snapshot());
      try {
        return await work(viewAt(database, snapshot));
      } finally {
        await snapshot.close();
      }
    },
    close: () => guard('closing the journal', () => database.close()),
  };
}

const viewAt = (database: Database, snapshot: Snapshot): StoreView => ({
  // The declared result type omits `undefined`, which LevelDB returns for an absent key.
  get: (key) =>
    guard('reading the journal', async (): Promise<Uint8Array | undefined> => database.get(key, { snapshot })),
  getMany: (keys) =>
    guard('reading the journal', async (): Promise<(Uint8Array | undefined)[]> =>
      database.getMany([...keys], { snapshot }),
    ),
  scan: (range, options) => guard('reading the journal', () => scan(database, snapshot, range, options)),
});

async function scan(
  database: Database,
  snapshot: Snapshot,
  range: KeyRange,
  { limit = -1, reverse = false }: ScanOptions,
): Promise<readonly Put[]> {
  const iterator = database.iterator({ ...range, limit, reverse, snapshot, highWaterMarkBytes: SCAN_BYTES_MAX });
  try {
    const found: Put[] = [];
    for (;;) {
      const step = await iterator.nextv(SCAN_ENTRIES);
      if (step.length === 0) return found;
      for (const [key, value] of step) found.push({ key, value });
    }
  } finally {
    await iterator.close();
  }
}

/** Runs `work`; an error of LevelDB or the file system becomes a Refusal. */
async function guard<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return refuseFailure(doing, error);
  }
}

function refuseFailure(doing: string, error: unknown): never {
  const codes: string[] = [];
  let message = '';
  // LevelDB's own error is the cause of the error that reports that the database is not open.
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') codes.push(cause.code);
    message = cause.message;
  }
  if (codes.length === 0) throw error;
  if (codes.includes('LEVEL_LOCKED')) {
    refuse('in_use', 'another refold engine has this data directory open');
  }
  if (codes.includes('LEVEL_CORRUPTION')) refuse('damaged', `${doing}: ${message}`);
  refuse(storageCode(message), `${doing}: ${withRemedy(`${message} (${codes.at(-1)})`)}`);
}
