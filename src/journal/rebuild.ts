// Makes a journal anew from everything that can be read of its files, and puts it in the place of the old one: when some
// are damaged, because LevelDB cannot be trusted with them, not even to copy the rest; and when it is of layout 1.
import { readFile, rm } from 'node:fs/promises';
import type { SessionId } from '../../schemas/ids.ts';
import { DAMAGED_SESSIONS_MAX, REBUILD_TOLD_BYTES, REBUILD_WRITE_BYTES } from '../../schemas/limits.ts';
import {
  DAMAGE_RANGE,
  type LostPositions,
  describeDamage,
  putLost,
  putRebuilding,
  readDamage,
} from './damage-record.ts';
import { codeOf, fileFailure } from './file-failure.ts';
import { type Copied, copyJournal } from './journal-copy.ts';
import { type SessionSpan, intersectSessions, mergeSpans, sessionsIn, spansHold } from './key-spans.ts';
import { GENESIS_LETTER, HEAD_LETTER, META_KEY, headKey } from './keys.ts';
import { LAYOUT_1 } from './layout-1.ts';
import { markClosed } from './level-closed.ts';
import { type FileFault, NEXT, type VerifiedFiles, verifyLevelFiles } from './level-files.ts';
import { holdingLock, refuseWhenOpen } from './level-lock.ts';
import { type NewestEntry, mergeNewest } from './level-merge.ts';
import { openLevelStore } from './level-store.ts';
import { addWrites } from './level-writes.ts';
import { type LogDamage, surveyLogs } from './log-damage.ts';
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
import { type Losses, judgeSession, nothingOf } from './session-survey.ts';
import { encodeHead, encodeMeta } from './stored-values.ts';
import type { Put, Store } from './store.ts';
import { readLayout } from './stream-reads.ts';

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

/** Looks at the files again, under the lock, and makes the journal anew if it is still damaged, or of layout 1. */
export const rebuildJournal = (directory: string, options: RebuildOptions): Promise<VerifiedFiles> =>
  holdingLock(lockDirectory(directory), () =>
    filing('rebuilding the journal', async () => {
      await endSwitch(directory, options.onStep);
      await refuseWhenOpen(directory);
      let files = await verifyLevelFiles(directory);
      if (files.faults.length === 0) {
        if (!(await isOfLayout1(directory))) return files;
        // Opening it has written its log out as a table.
        files = { ...(await verifyLevelFiles(directory)), torn: files.torn };
      }
      const notices = await rebuild(directory, files, options);
      await refuseWhenOpen(directory);
      await commitRebuilt(directory, notices, options.onStep);
      await endSwitch(directory, options.onStep);
      return files;
    }),
  );

async function isOfLayout1(directory: string): Promise<boolean> {
  const store = await openLevelStore(directory);
  try {
    return (await store.view(readLayout)) === LAYOUT_1.layout;
  } finally {
    await store.close();
  }
}

/** Gives what an operator should know of the damage. */
async function rebuild(directory: string, files: VerifiedFiles, options: RebuildOptions): Promise<readonly string[]> {
  const rebuilt = rebuiltDirectory(directory);
  await rm(rebuilt, { recursive: true, force: true });
  const [first] = files.faults;
  const why = first === undefined ? 'the journal has an older layout' : describeFault(first);
  options.tell(`${why}; ${first === undefined ? 'converting it' : 'rebuilding the journal from the rest'}`);
  try {
    await options.onStep('making the rebuilt journal');
    const store = await openLevelStore(rebuilt);
    try {
      await fill(store, files, { ...options, aside: await freeName(directory, first !== undefined) });
      const damage = await store.view(readDamage);
      return first === undefined
        ? []
        : [...files.faults.map(describeFault), ...(damage === null ? [] : describeDamage(damage))];
    } finally {
      await store.close();
      // Opening it writes its log out as a table: what this log holds no trail goes back over.
      await (await openLevelStore(rebuilt)).close();
      await markClosed(rebuilt);
    }
  } catch (error) {
    // The old journal is as it was; what there is of the new one would only take space.
    await rm(rebuilt, { recursive: true, force: true }).catch(() => undefined);
    if (!(error instanceof Refusal)) throw error;
    const { code, message } = error.rejection;
    return refuse(
      code,
      `${why}, and the journal could not be ${first === undefined ? 'converted' : 'rebuilt'}: ${message}`,
    );
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
    refuse('damaged', `what an earlier rebuilding lost is recorded in the damaged part; ${NEXT}`);
  }
  const logged = new Map<string, NewestEntry>();
  let tablesEnd = 1;
  const noteStored = (sequence: number): void => {
    tablesEnd = Math.max(tablesEnd, sequence + 1);
  };
  let told = 0;
  const onWrite = async (copied: number): Promise<void> => {
    await onStep('copying');
    if (Math.floor(copied / REBUILD_TOLD_BYTES) > told) {
      told = Math.floor(copied / REBUILD_TOLD_BYTES);
      tell(`${Math.floor(copied / 1_048_576)} MiB of the journal are copied`);
    }
  };
  try {
    for (const { records } of files.logs) for (const { bytes } of records) addWrites(bytes, logged);
    const tables = files.tables.map(({ path, span }) => ({ first: span.first, read: () => readFile(path) }));
    const copied = await copyJournal(mergeNewest(tables, [...logged.values()], noteStored), store, onWrite);
    await onStep('looking for what is lost');
    const log = surveyLogs(files, tablesEnd);
    if (log.unnamed !== null) refuse('damaged', `nobody can tell whose writes its log lost; ${NEXT}`);
    const isLogged = (key: Uint8Array): boolean => logged.has(Buffer.from(key).toString('latin1'));
    const losses = { layout: copied.layout, spans, isLogged, named: log.named };
    const vanished = await writeVerdicts(store, copied, { losses, log });
    if (files.faults.length > 0) await store.write([putRebuilding({ aside, vanished })]);
  } catch (error) {
    if (error instanceof RangeError) {
      refuse('damaged', `a block that has its checksum does not decode: ${error.message}`);
    }
    throw error;
  }
}

interface Found {
  readonly losses: Losses;
  readonly log: LogDamage;
}

/** Writes heads, losses and the count of sessions; gives where sessions may have been of which nothing is left. */
async function writeVerdicts(store: Store, copied: Copied, { losses, log }: Found): Promise<readonly SessionSpan[]> {
  const before = await store.view(readDamage);
  const lostBefore = before?.sessions ?? new Map<SessionId, LostPositions>();
  const ids = [...new Set([...copied.sessions.keys(), ...losses.named.keys()])].sort();
  let damaged = lostBefore.size;
  let puts: Put[] = [];
  let bytes = 0;
  for (const id of ids) {
    const { head, lost } = judgeSession(id, copied.sessions.get(id) ?? nothingOf(), losses);
    const added: Put[] = [{ key: headKey(id), value: encodeHead(head) }];
    if (lost !== null) {
      if (!lostBefore.has(id)) damaged += 1;
      added.push(putLost(id, widest(lost, lostBefore.get(id) ?? lost)));
    }
    // The record of it is read back whole at every opening, under one more key.
    if (damaged >= DAMAGED_SESSIONS_MAX) refuse('damaged', `more than ${damaged} sessions of the journal are damaged`);
    puts.push(...added);
    for (const { key, value } of added) bytes += key.length + value.length;
    if (bytes < REBUILD_WRITE_BYTES) continue;
    await store.write(puts);
    puts = [];
    bytes = 0;
  }
  if (ids.length > 0 || copied.sessionCount !== null) puts.push({ key: META_KEY, value: encodeMeta(ids.length) });
  else if (before !== null || losses.spans.length > 0)
    refuse('damaged', 'nothing that can be read of the journal names a session');
  if (puts.length > 0) await store.write(puts);
  return [...(before?.vanished ?? []), ...vanishedOf(ids.length, copied, { losses, log })];
}

function widest(a: LostPositions, b: LostPositions): LostPositions {
  const last = a.last === null || b.last === null ? null : Math.max(a.last, b.last);
  return { first: Math.min(a.first, b.first), last };
}

/** Where sessions may have been of which not even the names are left. */
function vanishedOf(count: number, { sessionCount, layout }: Copied, { losses, log }: Found): readonly SessionSpan[] {
  const { spans, isLogged } = losses;
  const isSure = sessionCount !== null && (!spansHold(spans, META_KEY) || isLogged(META_KEY));
  if (isSure && sessionCount === count) return [];
  // Genesis and head are written first, and together.
  const heads = layout === LAYOUT_1.layout ? LAYOUT_1.head : HEAD_LETTER;
  const vanished = intersectSessions(sessionsIn(spans, GENESIS_LETTER), sessionsIn(spans, heads));
  // What the log lost is named, and may have been the last count.
  if (isSure && (count < sessionCount ? vanished.length === 0 : !log.isLossy)) {
    refuse('damaged', `the journal held ${sessionCount} sessions, and ${count} are there; ${NEXT}`);
  }
  return vanished;
}

async function filing<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal || codeOf(error) === null) throw error;
    throw new Refusal(fileFailure(doing, error));
  }
}
