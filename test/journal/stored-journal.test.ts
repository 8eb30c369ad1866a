import { must } from '../../src/client/must.ts';
import { openMemorySnapshots } from '../../src/journal/memory-snapshots.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { journalContract } from '../support/journal/journal-contract.ts';
import { makeMemoryStore } from '../support/journal/memory-store.ts';
import { roundsOf } from '../support/random.ts';

journalContract(
  'the stored journal on a store in memory',
  async () => {
    const { open } = makeMemoryStore();
    const snapshots = openMemorySnapshots();
    let journal = await must(openStoredJournal(open, snapshots));
    return {
      journal,
      reopen: async () => {
        await journal.close();
        journal = await must(openStoredJournal(open, snapshots));
        return journal;
      },
      dispose: () => journal.close(),
    };
  },
  { modelRuns: roundsOf(50, 2_000) },
);
