// Law 22, deltas leave no trace: nothing that a model tells while it writes is in a record.
import type { SessionId } from '../../../schemas/ids.ts';
import type { JournalCommit } from '../../journal/journal.ts';
import { DELTA_MARK } from '../model-script.ts';
import type { Judge } from './judge.ts';

/** The texts of the events are read as they are stored. */
export function checkNoDelta(id: SessionId, commits: readonly JournalCommit[], judge: Judge): void {
  for (const { text, event_id } of commits.flatMap(({ events }) => events)) {
    judge.check(!text.includes(DELTA_MARK), 'deltas leave no trace', () => `${id}: ${event_id} holds a delta`);
  }
}
