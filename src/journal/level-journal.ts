// The journal on LevelDB: the durable journal of one machine.
import { join } from 'node:path';
import { isLeft, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../../schemas/rejection.ts';
import { openFileSnapshots } from './file-snapshots.ts';
import type { Journal } from './journal.ts';
import { verifyLevelFiles } from './level-files.ts';
import { openLevelStore } from './level-store.ts';
import { type TornTail, markClosed, recordTornTails } from './level-tail.ts';
import { answering } from './refusal.ts';
import { openStoredJournal } from './stored-journal.ts';

/** The directory of the snapshots within that of a journal. LevelDB leaves alone what it does not know. */
export const SNAPSHOTS = 'snapshots';

export interface LevelJournal extends Journal {
  /** Last writes that a crash had torn, and that were cut off when this journal was opened. */
  readonly tornTails: readonly TornTail[];
}

/** Opens or creates the journal in `directory`, which one process may have open at a time. Verifies its files first. */
export const openLevelJournal =
  (directory: string): TaskEither<Rejection, LevelJournal> =>
  async () => {
    const verified = await answering(() => verifyLevelFiles(directory))();
    if (isLeft(verified)) return verified;
    const snapshots = openFileSnapshots(join(directory, SNAPSHOTS));
    const opened = await openStoredJournal(() => openLevelStore(directory), snapshots)();
    if (isLeft(opened)) return opened;
    const journal = opened.right;
    const tornTails = verified.right;
    // Only now: another process may have had the directory open, and been in the middle of a write.
    await recordTornTails(directory, tornTails);
    let closing: Promise<void> | null = null;
    const close = (): Promise<void> => (closing ??= journal.close().then(() => markClosed(directory)));
    return right({ ...journal, tornTails, close });
  };
