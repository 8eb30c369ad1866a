// The journal on LevelDB: the durable journal of one machine. Verifies its files before it opens them, and rebuilds the
// journal when some are damaged.
import { join } from 'node:path';
import { type Anchor, PUT_BACK, anchorDirectory } from '../files/anchor.ts';
import { isLeft, left, right } from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { pipe } from 'fp-ts/lib/function.js';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type Clock, backgroundClock } from '../clock.ts';
import { makeDirectory } from '../files/directories.ts';
import { codeOf, fileFailure } from '../files/file-failure.ts';
import { openFileSnapshots } from './file-snapshots.ts';
import type { Journal } from './journal.ts';
import { anchorStore } from './level/anchored-store.ts';
import { forgetClosed, markClosed } from './level/closed-file.ts';
import { openReadOnlyStore } from './level/read-only-store.ts';
import { openLevelStore } from './level/store.ts';
import { type TableCheck, startTableCheck } from './level/table-check.ts';
import { type TornTail, recordTornTails } from './level/torn-tail.ts';
import { type VerifiedTables, readVerified, writeVerified } from './level/verified-tables.ts';
import { type VerifiedFiles, verifyLevelFiles } from './level/verify-files.ts';
import type { FileFault } from './level/verify-logs.ts';
import { checkLayout } from './layout.ts';
import { Refusal, catchRefusal, refuse } from './refusal.ts';
import type { Snapshots } from './snapshots.ts';
import { type Damage, describeDamage, readDamage, refuseDamaged, refuseLost } from './salvage/damage-record.ts';
import { isSwitchPending } from './salvage/rebuild-switch.ts';
import { type RebuildOptions, describeFault, finishSwitch, rebuildJournal } from './salvage/rebuild.ts';
import type { Store } from './store.ts';
import { openStoredJournal } from './stored-journal.ts';
import { readLayout } from './stream-reads.ts';

/** The directory of the snapshots within the directory of a journal. LevelDB ignores files that it does not know. */
export const SNAPSHOTS = 'snapshots';

export interface LevelJournal extends Journal {
  /** Last writes that a crash tore and that this opening cut off. */
  readonly tornTails: readonly TornTail[];
  /** What the journal lost to damage, at this opening or an earlier one; null when it never lost anything. */
  readonly damage: Damage | null;
  /** What the operator must know about the damage. */
  readonly notices: readonly string[];
}

export interface OpeningOptions extends RebuildOptions {
  /** Read every table before the journal answers, also those that were verified before and are unchanged. */
  readonly everyTable: boolean;
  /** Times the check of tables in the background. */
  readonly clock: Clock;
  /** Called with the milliseconds that each write took, its sync included. */
  readonly onWrite: (took: number) => void;
}

const DEFAULTS: OpeningOptions = {
  tell: () => undefined,
  onStep: () => Promise.resolve(),
  everyTable: false,
  clock: backgroundClock,
  onWrite: () => undefined,
};

/**
 * Opens or creates the journal in `directory`, which only one process can have open at a time. Verifies its files first.
 * When some are damaged, the journal is rebuilt from the readable parts, and sessions that lost events are refused as
 * `damaged`. A journal of another layout is refused and not changed.
 */
export const openLevelJournal = (
  directory: string,
  options: Partial<OpeningOptions> = {},
): TaskEither<Rejection, LevelJournal> => {
  const chosen = { ...DEFAULTS, ...options };
  const opening = (how: OpeningOptions): TaskEither<Rejection, LevelJournal> => {
    const sinceMs = how.clock.now();
    return pipe(
      catchRefusal(() => prepare(directory, how)),
      TE.chain((files) => openVerified(directory, { files, sinceMs, clock: how.clock, onWrite: how.onWrite })),
    );
  };
  return pipe(
    opening(chosen),
    // A table that was not read may be why: then the journal is rebuilt.
    TE.orElse((refused) =>
      refused.code === 'damaged' && !chosen.everyTable ? opening({ ...chosen, everyTable: true }) : TE.left(refused),
    ),
  );
};

async function prepare(directory: string, options: OpeningOptions): Promise<VerifiedFiles> {
  await finishSwitch(directory, options.onStep);
  const trusted: VerifiedTables = options.everyTable ? new Map() : await readVerified(directory);
  const files = await verifyLevelFiles(directory, { trusted, clock: options.clock });
  return files.faults.length === 0 ? files : await rebuildJournal(directory, options);
}

interface Opening {
  readonly files: VerifiedFiles;
  readonly sinceMs: number;
  readonly clock: Clock;
  readonly onWrite: OpeningOptions['onWrite'];
}

interface Checking extends Pick<Opening, 'files' | 'sinceMs' | 'clock'> {
  readonly isLost: () => boolean;
}

const openVerified =
  (directory: string, { onWrite, ...opening }: Opening): TaskEither<Rejection, LevelJournal> =>
  async () => {
    const { torn: tornTails, faults } = opening.files;
    let found: Damage | null = null;
    let anchor: Anchor | null = null;
    const open = async (): Promise<Store> => {
      const loss = lossOf(directory, anchor);
      if (loss !== null) throw new Refusal(loss);
      await catchFileErrors('opening the journal', () => makeDirectory(directory));
      anchor ??= anchorDirectory(directory);
      const { store, damage } = await openStore(directory, anchor);
      found = damage;
      return timed(store, onWrite);
    };
    const snapshots = openFileSnapshots(join(directory, SNAPSHOTS));
    const opened = await openStoredJournal(
      open,
      anchorSnapshots(snapshots, () => lossOf(directory, anchor)),
    )();
    if (isLeft(opened)) {
      (anchor as Anchor | null)?.close();
      return opened;
    }
    const damage = found as Damage | null;
    const whole = damage === null ? opened.right : refuseLost(opened.right, damage);
    // Recorded only now: before the store was open, another process could have been in the middle of a write.
    await recordTornTails(directory, tornTails);
    await forgetClosed(directory);
    const check = await beginCheck(directory, { ...opening, isLost: () => lossOf(directory, anchor) !== null });
    const journal = refuseDamaged(whole, check.fault);
    let closing: Promise<void> | null = null;
    const stop = async (): Promise<void> => {
      await Promise.all([whole.close(), check.stop()]);
      if (lossOf(directory, anchor) === null) await markClosed(directory);
      anchor?.close();
    };
    const close = (): Promise<void> => (closing ??= stop());
    const notices = [
      ...faults.map(describeFault),
      ...(damage === null ? [] : describeDamage(damage)),
      ...opened.right.notices,
    ];
    return right({ ...journal, tornTails, damage, notices, close });
  };

interface RunningCheck extends TableCheck {
  /** The damage that it found. */
  readonly fault: () => Rejection | null;
}

/** Records what the opening verified, and begins to read the rest. */
async function beginCheck(directory: string, { files, sinceMs, clock, isLost }: Checking): Promise<RunningCheck> {
  let fault: Rejection | null = null;
  // The tables of a rebuilt journal are new; the next opening reads them.
  if (files.faults.length > 0) return { fault: () => null, stop: () => Promise.resolve() };
  if ([...files.verified.values()].some(({ atMs }) => atMs >= sinceMs)) await writeVerified(directory, files.verified);
  const onDamage = (found: FileFault): void => {
    fault = reject('damaged', '', `${describeFault(found)}; restart the engine, which then rebuilds the journal`);
  };
  return { ...startTableCheck({ directory, files, sinceMs, clock, isLost, onDamage }), fault: () => fault };
}

const timed = (store: Store, onWrite: (took: number) => void): Store => ({
  ...store,
  write: async (changes) => {
    const startedAt = performance.now();
    await store.write(changes);
    onWrite(performance.now() - startedAt);
  },
});

/** Why nothing may be written in the directory of the journal any more; null while it is in its place. */
function lossOf(directory: string, anchor: Anchor | null): Rejection | null {
  const lost = anchor?.lost() ?? null;
  if (lost === null) return null;
  return reject('storage_failed', '', `the journal is no longer in ${directory}: ${lost}; ${PUT_BACK}`);
}

/** Snapshots that are not written into a directory that took the place of the journal's. */
const anchorSnapshots = (snapshots: Snapshots, findLoss: () => Rejection | null): Snapshots => ({
  ...snapshots,
  put: (snapshot) => async () => {
    const loss = findLoss();
    return loss === null ? await snapshots.put(snapshot)() : left(loss);
  },
});

/** Opens the store; one on a full disk can only be read, until it is opened again. */
async function openAnchored(directory: string, anchor: Anchor): Promise<Store> {
  try {
    return anchorStore(directory, anchor, await openLevelStore(directory));
  } catch (error) {
    if (error instanceof Refusal && error.rejection.code === 'storage_full') {
      return await openReadOnlyStore(directory, error);
    }
    throw error;
  }
}

/** Opens the store, and reads what it lost. */
async function openStore(
  directory: string,
  anchor: Anchor,
): Promise<{ readonly store: Store; readonly damage: Damage | null }> {
  const store = await openAnchored(directory, anchor);
  try {
    const layout = await store.view(readLayout);
    if (layout !== null) checkLayout(layout, `the journal in ${directory}`);
    // Another process may have moved the journal away since it was verified; this opening then created an empty one.
    if (await isSwitchPending(directory))
      refuse('storage_failed', 'another process is rebuilding the journal; try again');
    return { store, damage: await store.view(readDamage) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function catchFileErrors<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === null) throw error;
    throw new Refusal(fileFailure(doing, error));
  }
}
