// The journal on LevelDB: the durable journal of one machine. Verifies its files before it opens them, and rebuilds the
// journal when some are damaged.
import { join } from 'node:path';
import { isLeft, right } from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { pipe } from 'fp-ts/lib/function.js';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type Clock, backgroundClock } from '../clock.ts';
import { openFileSnapshots } from './file-snapshots.ts';
import type { Journal } from './journal.ts';
import { forgetClosed, markClosed } from './level/closed-file.ts';
import { openLevelStore } from './level/store.ts';
import { type TableCheck, startTableCheck } from './level/table-check.ts';
import { type TornTail, recordTornTails } from './level/torn-tail.ts';
import { type VerifiedTables, readVerified, writeVerified } from './level/verified-tables.ts';
import { type VerifiedFiles, verifyLevelFiles } from './level/verify-files.ts';
import type { FileFault } from './level/verify-logs.ts';
import { checkLayout } from './layout.ts';
import { catchRefusal, refuse } from './refusal.ts';
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
}

const DEFAULTS: OpeningOptions = {
  tell: () => undefined,
  onStep: () => Promise.resolve(),
  everyTable: false,
  clock: backgroundClock,
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
      TE.chain((files) => openVerified(directory, { files, sinceMs, clock: how.clock })),
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
}

const openVerified =
  (directory: string, { files, sinceMs, clock }: Opening): TaskEither<Rejection, LevelJournal> =>
  async () => {
    const { torn: tornTails, faults } = files;
    let found: Damage | null = null;
    const open = async (): Promise<Store> => {
      const { store, damage } = await openStore(directory);
      found = damage;
      return store;
    };
    const opened = await openStoredJournal(open, openFileSnapshots(join(directory, SNAPSHOTS)))();
    if (isLeft(opened)) return opened;
    const damage = found as Damage | null;
    const whole = damage === null ? opened.right : refuseLost(opened.right, damage);
    // Recorded only now: before the store was open, another process could have been in the middle of a write.
    await recordTornTails(directory, tornTails);
    await forgetClosed(directory);
    const check = await beginCheck(directory, { files, sinceMs, clock });
    const journal = refuseDamaged(whole, check.fault);
    let closing: Promise<void> | null = null;
    const close = (): Promise<void> =>
      (closing ??= Promise.all([whole.close(), check.stop()]).then(() => markClosed(directory)));
    const notices = [...faults.map(describeFault), ...(damage === null ? [] : describeDamage(damage))];
    return right({ ...journal, tornTails, damage, notices, close });
  };

interface RunningCheck extends TableCheck {
  /** The damage that it found. */
  readonly fault: () => Rejection | null;
}

/** Records what the opening verified, and begins to read the rest. */
async function beginCheck(directory: string, { files, sinceMs, clock }: Opening): Promise<RunningCheck> {
  let fault: Rejection | null = null;
  // The tables of a rebuilt journal are new; the next opening reads them.
  if (files.faults.length > 0) return { fault: () => null, stop: () => Promise.resolve() };
  if ([...files.verified.values()].some(({ atMs }) => atMs >= sinceMs)) await writeVerified(directory, files.verified);
  const onDamage = (found: FileFault): void => {
    fault = reject('damaged', '', `${describeFault(found)}; restart the engine, which then rebuilds the journal`);
  };
  return { ...startTableCheck({ directory, files, sinceMs, clock, onDamage }), fault: () => fault };
}

/** Opens the store, and reads what it lost. */
async function openStore(directory: string): Promise<{ readonly store: Store; readonly damage: Damage | null }> {
  const store = await openLevelStore(directory);
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
