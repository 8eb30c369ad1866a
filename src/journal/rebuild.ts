// Rebuilds a journal of which tables are damaged from everything that can be read, and puts it in the place of the
// damaged one. LevelDB cannot be trusted with a damaged table, not even to copy the rest of it.
import { readFile, rm } from 'node:fs/promises';
import { REBUILD_TOLD_BYTES, REBUILD_WRITE_BYTES } from '../../schemas/limits.ts';
import { DAMAGE_RANGE, describeDamage, putRebuilding, readDamage } from './damage-record.ts';
import { fileFailure, codeOf } from './file-failure.ts';
import { type DamagedTable, type VerifiedFiles, verifyLevelFiles } from './level-files.ts';
import { holdingLock, refuseWhenOpen } from './level-lock.ts';
import { readLog } from './level-log.ts';
import { mergeSpans } from './key-spans.ts';
import { type NewestEntry, mergeNewest } from './level-merge.ts';
import { openLevelStore } from './level-store.ts';
import { markClosed } from './level-tail.ts';
import { addWrites } from './level-writes.ts';
import {
  type OnStep,
  commitRebuilt,
  endSwitch,
  freeName,
  isSwitchPending,
  lockDirectory,
  rebuiltDirectory,
} from './rebuild-switch.ts';
import { Refusal, refuse } from './refusal.ts';
import { surveySessions } from './session-survey.ts';
import type { Put, Store } from './store.ts';

export interface RebuildOptions {
  /** Told what is being done, for an operator who waits. */
  readonly tell: (message: string) => void;
  readonly onStep: OnStep;
}

/** Ends a switch that a crash interrupted. */
export const finishSwitch = async (directory: string, onStep: OnStep): Promise<void> => {
  if (!(await isSwitchPending(directory))) return;
  await holdingLock(lockDirectory(directory), () =>
    filing('rebuilding the journal', () => endSwitch(directory, onStep)),
  );
};

/** Verifies the files again, under the lock, and rebuilds the journal if tables are still found damaged. */
export const rebuildJournal = (directory: string, options: RebuildOptions): Promise<VerifiedFiles> =>
  holdingLock(lockDirectory(directory), () =>
    filing('rebuilding the journal', async () => {
      await endSwitch(directory, options.onStep);
      await refuseWhenOpen(directory);
      const files = await verifyLevelFiles(directory);
      if (files.damaged.length === 0) return files;
      const notices = await rebuild(directory, files, options);
      await refuseWhenOpen(directory);
      await commitRebuilt(directory, notices, options.onStep);
      await endSwitch(directory, options.onStep);
      return files;
    }),
  );

/** Gives what an operator should know of what it made. */
async function rebuild(
  directory: string,
  files: VerifiedFiles,
  { tell, onStep }: RebuildOptions,
): Promise<readonly string[]> {
  const rebuilt = rebuiltDirectory(directory);
  await rm(rebuilt, { recursive: true, force: true });
  const [first] = files.damaged;
  if (first !== undefined) tell(`${describe(first)}; rebuilding the journal from the rest`);
  try {
    await onStep('making the rebuilt journal');
    const store = await openLevelStore(rebuilt);
    try {
      await fill(store, files, { tell, onStep, aside: await freeName(directory) });
      const damage = await store.view(readDamage);
      return [...files.damaged.map(describe), ...(damage === null ? [] : describeDamage(damage))];
    } finally {
      await store.close();
      await markClosed(rebuilt);
    }
  } catch (error) {
    // The damaged journal is as it was; what there is of the rebuilt one would only take space.
    await rm(rebuilt, { recursive: true, force: true }).catch(() => undefined);
    if (first === undefined || !(error instanceof Refusal)) throw error;
    const { code, message } = error.rejection;
    return refuse(code, `${describe(first)}, and the journal could not be rebuilt: ${message}`);
  }
}

const describe = ({ name, message }: DamagedTable): string => `${name} of the journal was damaged: ${message}`;

async function fill(
  store: Store,
  files: VerifiedFiles,
  { tell, onStep, aside }: RebuildOptions & { readonly aside: string },
): Promise<void> {
  const spans = mergeSpans(files.damaged.flatMap(({ lost }) => lost));
  if (spans.some(({ first }) => Buffer.compare(first, DAMAGE_RANGE.lt) < 0)) {
    refuse('damaged', 'what an earlier rebuilding lost is recorded in the damaged part; restore a backup');
  }
  const logged = new Map<string, NewestEntry>();
  const tables = files.tables.map(({ path, span }) => ({ first: span.first, read: () => readFile(path) }));
  try {
    for (const { path } of files.logs) {
      for (const record of readLog(await readFile(path)).records) addWrites(record, logged);
    }
    await copy(store, mergeNewest(tables, [...logged.values()]), { tell, onStep });
  } catch (error) {
    if (error instanceof RangeError)
      refuse('damaged', `a block that has its checksum does not decode: ${error.message}`);
    throw error;
  }
  await onStep('looking for what is lost');
  const isLogged = (key: Uint8Array): boolean => logged.has(Buffer.from(key).toString('latin1'));
  const vanished = await surveySessions(store, { spans, isLogged });
  await store.write([putRebuilding({ aside, vanished })]);
}

async function copy(
  store: Store,
  entries: AsyncIterable<NewestEntry>,
  { tell, onStep }: RebuildOptions,
): Promise<void> {
  let puts: Put[] = [];
  let bytes = 0;
  let copied = 0;
  const write = async (): Promise<void> => {
    await onStep('copying');
    await store.write(puts);
    if (Math.floor((copied + bytes) / REBUILD_TOLD_BYTES) > Math.floor(copied / REBUILD_TOLD_BYTES)) {
      tell(`rebuilding the journal: ${Math.floor((copied + bytes) / 1_048_576)} MiB are copied`);
    }
    copied += bytes;
    puts = [];
    bytes = 0;
  };
  for await (const { key, value } of entries) {
    if (value === null) continue;
    puts.push({ key, value });
    bytes += key.length + value.length;
    if (bytes >= REBUILD_WRITE_BYTES) await write();
  }
  if (puts.length > 0) await write();
}

async function filing<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal || codeOf(error) === null) throw error;
    throw new Refusal(fileFailure(doing, error));
  }
}
