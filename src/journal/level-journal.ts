// The journal on LevelDB: the durable journal of one machine.
import { join } from 'node:path';
import { isLeft, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../../schemas/rejection.ts';
import { type Damage, describeDamage, readDamage, refuseLost } from './salvage/damage-record.ts';
import { openFileSnapshots } from './file-snapshots.ts';
import type { Journal } from './journal.ts';
import { LAYOUT_1 } from './salvage/layout-1.ts';
import { type VerifiedFiles, verifyLevelFiles } from './level/verify-files.ts';
import { openLevelStore } from './level/store.ts';
import { markClosed } from './level/closed-file.ts';
import { type TornTail, recordTornTails } from './level/torn-tail.ts';
import { type RebuildOptions, describeFault, finishSwitch, rebuildJournal } from './salvage/rebuild.ts';
import { isSwitchPending } from './salvage/rebuild-switch.ts';
import { answering, refuse } from './refusal.ts';
import type { Store } from './store.ts';
import { openStoredJournal } from './stored-journal.ts';
import { readLayout } from './stream-reads.ts';

/** The directory of the snapshots within that of a journal. LevelDB leaves alone what it does not know. */
export const SNAPSHOTS = 'snapshots';

export interface LevelJournal extends Journal {
  /** Last writes that a crash had torn, and that were cut off when this journal was opened. */
  readonly tornTails: readonly TornTail[];
  /** What damage to its files took of it, now or at an earlier opening; null when nothing ever did. */
  readonly damage: Damage | null;
  /** What an operator should know of the damage. */
  readonly notices: readonly string[];
}

const QUIETLY: RebuildOptions = { tell: () => undefined, onStep: () => Promise.resolve() };

/**
 * Opens or creates the journal in `directory`, which one process may have open at a time. Verifies its files first; when
 * some are damaged, the journal is rebuilt from the rest, and sessions that lost something are refused as `damaged`. One
 * of layout 1 is converted in the same way, and goes on as it was.
 */
export const openLevelJournal =
  (directory: string, options: Partial<RebuildOptions> = {}): TaskEither<Rejection, LevelJournal> =>
  async () => {
    const rebuilding = { ...QUIETLY, ...options };
    const verified = await answering(() => prepare(directory, rebuilding))();
    if (isLeft(verified)) return verified;
    const { torn: tornTails, faults } = verified.right;
    const snapshots = openFileSnapshots(join(directory, SNAPSHOTS));
    let damage: Damage | null = null;
    const open = async (): Promise<Store> => {
      let store = await openLevelStore(directory);
      try {
        if ((await store.view(readLayout)) === LAYOUT_1.layout) {
          await store.close();
          await rebuildJournal(directory, rebuilding);
          store = await openLevelStore(directory);
        }
        // Another process may have moved the journal away since it was verified, and this one made an empty one.
        if (await isSwitchPending(directory)) refuse('storage_failed', 'the journal is being rebuilt; try again');
        damage = await store.view(readDamage);
      } catch (error) {
        await store.close();
        throw error;
      }
      return store;
    };
    const opened = await openStoredJournal(open, snapshots)();
    if (isLeft(opened)) return opened;
    const lost = damage as Damage | null;
    const journal = lost === null ? opened.right : refuseLost(opened.right, lost);
    // Only now: another process may have had the directory open, and been in the middle of a write.
    await recordTornTails(directory, tornTails);
    let closing: Promise<void> | null = null;
    const close = (): Promise<void> => (closing ??= journal.close().then(() => markClosed(directory)));
    const notices = [...faults.map(describeFault), ...(lost === null ? [] : describeDamage(lost))];
    return right({ ...journal, tornTails, damage: lost, notices, close });
  };

async function prepare(directory: string, options: RebuildOptions): Promise<VerifiedFiles> {
  await finishSwitch(directory, options.onStep);
  const files = await verifyLevelFiles(directory);
  return files.faults.length === 0 ? files : await rebuildJournal(directory, options);
}
