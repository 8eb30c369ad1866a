import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { journalContract } from '../support/journal/journal-contract.ts';
import { done, refusal } from '../support/journal/outcomes.ts';
import { readIds, recordsOf, session, version } from '../support/journal/samples.ts';
import { inTemporaryDirectory, temporaryDirectory } from '../support/journal/temporary-directory.ts';
import { roundsOf } from '../support/random.ts';

journalContract(
  'the journal on LevelDB',
  async () => {
    const { directory, remove } = await temporaryDirectory();
    let journal = await done(openLevelJournal(directory));
    return {
      journal,
      reopen: async () => {
        await journal.close();
        journal = await done(openLevelJournal(directory));
        return journal;
      },
      dispose: async () => {
        await journal.close();
        await remove();
      },
    };
  },
  { modelRuns: roundsOf(60) },
);

describe('the journal on LevelDB', () => {
  test('creates its directory with access for its owner only', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'deeper', 'journal');
      const journal = await done(openLevelJournal(path));
      await journal.close();
      expect((await stat(path)).mode & 0o777).toBe(0o700);
      expect((await stat(join(directory, 'deeper'))).mode & 0o777).toBe(0o700);
    }));

  test('refuses a second opening of its directory as in use', () =>
    inTemporaryDirectory(async (directory) => {
      const journal = await done(openLevelJournal(directory));
      const second = await refusal(openLevelJournal(directory));
      expect(second.code).toBe('in_use');
      expect(second.message).toContain('another refold engine has this data directory open');
      await done(journal.create(session('still-served'), '{}'));
      await journal.close();
      const third = await done(openLevelJournal(directory));
      await third.close();
    }));

  test('refuses a path that cannot be a directory', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      await (await done(openLevelJournal(path))).close();
      const refused = await refusal(openLevelJournal(join(path, 'CURRENT')));
      expect(refused.code).toBe('storage_failed');
    }));

  test('waits for accepted appends when it closes', () =>
    inTemporaryDirectory(async (directory) => {
      const journal = await done(openLevelJournal(directory));
      const id = session('s');
      await done(journal.create(id, '{}'));
      const append = journal.append(id, version(0), recordsOf('accepted'), false)();
      await journal.close();
      expect(await append).toMatchObject({ right: 1 });
      const again = await done(openLevelJournal(directory));
      expect(await readIds(again, id)).toEqual(['accepted']);
      await again.close();
    }));
});
