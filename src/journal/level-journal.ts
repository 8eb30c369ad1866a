// The journal on LevelDB: the durable journal of one machine.
import { join } from 'node:path';
import { type TaskEither, chain } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../../schemas/rejection.ts';
import { openFileSnapshots } from './file-snapshots.ts';
import type { Journal } from './journal.ts';
import { openLevelStore } from './level-store.ts';
import { verifyLevelFiles } from './level-files.ts';
import { answering } from './refusal.ts';
import { openStoredJournal } from './stored-journal.ts';

/** The directory of the snapshots within that of a journal. LevelDB leaves alone what it does not know. */
export const SNAPSHOTS = 'snapshots';

/** Opens or creates the journal in `directory`, which one process may have open at a time. Verifies its files first. */
export const openLevelJournal = (directory: string): TaskEither<Rejection, Journal> =>
  chain(() => openStoredJournal(() => openLevelStore(directory), openFileSnapshots(join(directory, SNAPSHOTS))))(
    answering(() => verifyLevelFiles(directory)),
  );
