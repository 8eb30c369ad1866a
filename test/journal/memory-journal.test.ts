import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { journalContract } from '../support/journal/journal-contract.ts';
import { roundsOf } from '../support/random.ts';

journalContract(
  'the memory journal',
  async () => {
    const journal = openMemoryJournal();
    return { journal, reopen: async () => journal, dispose: () => journal.close() };
  },
  { modelRuns: roundsOf(50, 2_000) },
);
