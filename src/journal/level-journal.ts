// The journal on LevelDB: the durable journal of one machine.
import { type TaskEither, chain } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Journal } from './journal.ts';
import { openLevelStore } from './level-store.ts';
import { verifyLevelFiles } from './level-files.ts';
import { answering } from './refusal.ts';
import { openStoredJournal } from './stored-journal.ts';

/** Opens or creates the journal in `directory`, which one process may have open at a time. Verifies its files first. */
export const openLevelJournal = (directory: string): TaskEither<Rejection, Journal> =>
  chain(() => openStoredJournal(() => openLevelStore(directory)))(answering(() => verifyLevelFiles(directory)));
