// The store on LevelDB: one directory, one process. Every write is synchronous, because a power cut would otherwise lose
// acknowledged events. LevelDB makes a write visible only after it is on disk, so everything that can be read is durable.
import { Level } from 'level';
import { makeDirectory } from '../../files/directories.ts';
import { LEVEL_FILES_OPEN_MAX, LEVEL_FILE_BYTES, SCAN_BYTES_MAX } from '../../../schemas/limits.ts';
import { storageCode, withRemedy } from '../../files/file-failure.ts';
import { Refusal, refuse } from '../refusal.ts';
import type { KeyRange, Put, ScanOptions, Store, StoreView } from '../store.ts';

type Database = Level<Uint8Array, Uint8Array>;
/** A method of LevelDB's binding that the declared type omits, because the binding for browsers has none. */
interface Compactable {
  compactRange(start: Uint8Array, end: Uint8Array): Promise<void>;
}

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
  const views = new Set<Promise<boolean>>();
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
    check: () => undefined,
    view: (work) => {
      const viewing = viewOf(database, work);
      const ended: Promise<boolean> = viewing.then(
        () => views.delete(ended),
        () => views.delete(ended),
      );
      views.add(ended);
      return viewing;
    },
    compact: (ranges) =>
      guard('compacting the journal', async () => {
        // LevelDB keeps what an open view can see, and deletes the files of an older state at the end of a compaction. So the
        // second round deletes the files that a view of the first round kept.
        for (let round = 0; round < 2; round += 1) {
          await Promise.all(views);
          for (const { gte, lt } of ranges) await (database as Database & Compactable).compactRange(gte, lt);
        }
      }),
    close: () => guard('closing the journal', () => database.close()),
  };
}

async function viewOf<T>(database: Database, work: (view: StoreView) => Promise<T>): Promise<T> {
  const snapshot = await guard('reading the journal', async () => database.snapshot());
  try {
    return await work(viewAt(database, snapshot));
  } finally {
    await snapshot.close();
  }
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
  { limit = -1, bytesMax = Number.POSITIVE_INFINITY, reverse = false }: ScanOptions,
): Promise<readonly Put[]> {
  const iterator = database.iterator({ ...range, limit, reverse, snapshot, highWaterMarkBytes: SCAN_BYTES_MAX });
  try {
    const found: Put[] = [];
    let bytes = 0;
    for (;;) {
      const step = await iterator.nextv(SCAN_ENTRIES);
      if (step.length === 0) return found;
      for (const [key, value] of step) {
        found.push({ key, value });
        bytes += value.length;
        if (bytes >= bytesMax) return found;
      }
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
