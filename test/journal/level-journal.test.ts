import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { journalContract } from '../support/journal/journal-contract.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { commitAt, createSample, idleHead, readIds, session } from '../support/journal/samples.ts';
import { inTemporaryDirectory, temporaryDirectory } from '../support/journal/temporary-directory.ts';
import { roundsOf } from '../support/random.ts';

journalContract(
  'the journal on LevelDB',
  async () => {
    const { directory, remove } = await temporaryDirectory();
    let journal = await must(openLevelJournal(directory));
    return {
      journal,
      reopen: async () => {
        await journal.close();
        journal = await must(openLevelJournal(directory));
        return journal;
      },
      dispose: async () => {
        await journal.close();
        await remove();
      },
    };
  },
  { modelRuns: roundsOf(15, 600) },
);

describe('the journal on LevelDB', () => {
  test('creates its directory with access for its owner only', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'deeper', 'journal');
      const journal = await must(openLevelJournal(path));
      await journal.close();
      expect((await stat(path)).mode & 0o777).toBe(0o700);
      expect((await stat(join(directory, 'deeper'))).mode & 0o777).toBe(0o700);
    }));

  test('refuses a second opening of its directory as in use', () =>
    inTemporaryDirectory(async (directory) => {
      const journal = await must(openLevelJournal(directory));
      const second = await refusal(openLevelJournal(directory));
      expect(second.code).toBe('in_use');
      expect(second.message).toContain('another refold engine has this data directory open');
      await must(createSample(journal, session('still-served')));
      await journal.close();
      const third = await must(openLevelJournal(directory));
      await third.close();
    }));

  test('refuses a path that cannot be a directory', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      await (await must(openLevelJournal(path))).close();
      const refused = await refusal(openLevelJournal(join(path, 'CURRENT')));
      expect(refused.code).toBe('storage_failed');
    }));

  test('waits for accepted appends when it closes', () =>
    inTemporaryDirectory(async (directory) => {
      const journal = await must(openLevelJournal(directory));
      const id = session('s');
      await must(createSample(journal, id));
      const append = journal.append(id, [commitAt(0, 'accepted')], idleHead)();
      await journal.close();
      expect(await append).toMatchObject({ right: 1 });
      const again = await must(openLevelJournal(directory));
      expect(await readIds(again, id)).toEqual(['accepted']);
      await again.close();
    }));
});
