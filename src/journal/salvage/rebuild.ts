// Rebuilds a journal from everything readable in its files, and replaces the old journal with it. Used when files are
// damaged, because LevelDB cannot be trusted to read them, not even to copy the undamaged parts.
import { Buffer } from 'node:buffer';
import { readFile, rm } from 'node:fs/promises';
import { REBUILD_REPORT_BYTES } from '../../../schemas/limits.ts';
import { openBulkWriter } from './bulk-writer.ts';
import { DAMAGE_RANGE, describeDamage, putRebuilding, readDamage } from './damage-record.ts';
import { codeOf, fileFailure } from '../../files/file-failure.ts';
import { copyJournal } from './copy-journal.ts';
import { mergeSpans } from '../level/key-spans.ts';
import { markClosed } from '../level/closed-file.ts';
import { RESTORE_ADVICE, type VerifiedFiles, verifyLevelFiles } from '../level/verify-files.ts';
import { holdingLock, refuseWhenOpen } from '../level/lock.ts';
import type { FileFault } from '../level/verify-logs.ts';
import { type NewestEntry, mergeNewest } from '../level/newest-entries.ts';
import { openLevelStore } from '../level/store.ts';
import { addWrites } from '../level/write-batch.ts';
import { findLostWrites } from './lost-writes.ts';
import {
  type OnStep,
  commitRebuilt,
  endSwitch,
  freeName,
  isSwitchPending,
  lockDirectory,
  rebuiltDirectory,
} from './rebuild-switch.ts';
import { writeSessions } from './rebuilt-sessions.ts';
import { Refusal, refuse } from '../refusal.ts';
import type { Store } from '../store.ts';

export interface RebuildOptions {
  /** Receives progress messages for the waiting operator. */
  readonly tell: (message: string) => void;
  readonly onStep: OnStep;
}

/** Completes a switch that a crash interrupted. */
export const finishSwitch = async (directory: string, onStep: OnStep): Promise<void> => {
  if (!(await isSwitchPending(directory))) return;
  await holdingLock(lockDirectory(directory), () => catchFileErrors(() => endSwitch(directory, onStep)));
};

/** Verifies the files again under the lock, and rebuilds the journal if it is still damaged. */
export const rebuildJournal = (directory: string, options: RebuildOptions): Promise<VerifiedFiles> =>
  holdingLock(lockDirectory(directory), () =>
    catchFileErrors(async () => {
      await endSwitch(directory, options.onStep);
      await refuseWhenOpen(directory);
      const files = await verifyLevelFiles(directory);
      const [first] = files.faults;
      if (first === undefined) return files;
      const notices = await rebuild(directory, files, { ...options, why: describeFault(first) });
      await refuseWhenOpen(directory);
      await commitRebuilt(directory, notices, options.onStep);
      await endSwitch(directory, options.onStep);
      return files;
    }),
  );

/** Returns the notices for the operator. */
async function rebuild(
  directory: string,
  files: VerifiedFiles,
  { why, ...options }: RebuildOptions & { readonly why: string },
): Promise<readonly string[]> {
  const rebuilt = rebuiltDirectory(directory);
  await rm(rebuilt, { recursive: true, force: true });
  options.tell(`${why}; rebuilding the journal from the rest`);
  try {
    await options.onStep('making the rebuilt journal');
    const store = await openLevelStore(rebuilt);
    try {
      await fill(store, files, { ...options, aside: await freeName(directory) });
      const damage = await store.view(readDamage);
      return [...files.faults.map(describeFault), ...(damage === null ? [] : describeDamage(damage))];
    } finally {
      await store.close();
      // Opening it again writes its log to a table, because no trail covers the writes in this log.
      await (await openLevelStore(rebuilt)).close();
      await markClosed(rebuilt);
    }
  } catch (error) {
    // The old journal is unchanged; the unfinished new one would only take space.
    await rm(rebuilt, { recursive: true, force: true }).catch(() => undefined);
    if (!(error instanceof Refusal)) throw error;
    const { code, message } = error.rejection;
    return refuse(code, `${why}, and the journal could not be rebuilt: ${message}`);
  }
}

export const describeFault = ({ name, message }: FileFault): string => `${name} of the journal was damaged: ${message}`;

async function fill(
  store: Store,
  files: VerifiedFiles,
  { tell, onStep, aside }: RebuildOptions & { readonly aside: string },
): Promise<void> {
  const spans = mergeSpans(files.lost);
  if (spans.some(({ first }) => Buffer.compare(first, DAMAGE_RANGE.lt) < 0)) {
    refuse('damaged', `the record of what the journal lost earlier is damaged too; ${RESTORE_ADVICE}`);
  }
  let reported = 0;
  const writes = openBulkWriter(store, async (writtenBytes) => {
    await onStep('copying');
    if (Math.floor(writtenBytes / REBUILD_REPORT_BYTES) === reported) return;
    reported = Math.floor(writtenBytes / REBUILD_REPORT_BYTES);
    tell(`copied ${Math.floor(writtenBytes / 1_048_576)} MiB of the journal`);
  });
  const logged = new Map<string, NewestEntry>();
  let tablesEnd = 1;
  const noteStored = (sequence: number): void => {
    tablesEnd = Math.max(tablesEnd, sequence + 1);
  };
  try {
    for (const { records } of files.logs) for (const { bytes } of records) addWrites(bytes, logged);
    const tables = files.tables.map(({ path, span }) => ({ first: span.first, read: () => readFile(path) }));
    const copied = await copyJournal(mergeNewest(tables, [...logged.values()], noteStored), writes);
    await onStep('finding lost writes');
    const { named, unnamed, isLossy } = findLostWrites(files, tablesEnd);
    if (unnamed) refuse('damaged', `cannot tell which sessions lost writes in its log; ${RESTORE_ADVICE}`);
    const isLogged = (key: Uint8Array): boolean => logged.has(Buffer.from(key).toString('latin1'));
    const losses = { spans, isLogged, named, packages: copied.packages };
    const before = await store.view(readDamage);
    const vanished = await writeSessions(writes, { copied, losses, isLogLossy: isLossy, before });
    await store.write([putRebuilding({ aside, vanished })]);
  } catch (error) {
    if (error instanceof RangeError) {
      refuse('damaged', `a block with a valid checksum does not decode: ${error.message}; ${RESTORE_ADVICE}`);
    }
    throw error;
  }
}

/** Runs `work`; an error of the file system becomes a Refusal. */
async function catchFileErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal || codeOf(error) === null) throw error;
    throw new Refusal(fileFailure('rebuilding the journal', error));
  }
}
