// Verifies journals whose files are whole, torn or damaged in one known place.
import { randomBytes } from 'node:crypto';
import { cp, readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { must } from '../../../src/client/must.ts';
import { openLevelJournal } from '../../../src/journal/level-journal.ts';
import { refusal } from '../../support/journal/outcomes.ts';
import {
  commitWith,
  createSample,
  idleHead,
  numbersFrom,
  owingHead,
  readAll,
  session,
  storedEvent,
} from '../../support/journal/samples.ts';
import { inTemporaryDirectory } from '../../support/journal/temporary-directory.ts';

const id = session('s');

/** Appends the events from `from` to `to` one by one, each with a text from `text`. */
async function appendEach(directory: string, from: number, to: number, text?: () => string): Promise<void> {
  const journal = await must(openLevelJournal(directory));
  if (from === 0) await must(createSample(journal, id));
  for (let at = from; at < to; at += 1) {
    await must(journal.append(id, [commitWith(at, [storedEvent(`e${at}`, text?.())])], idleHead));
  }
  await journal.close();
}

async function only(directory: string, pattern: RegExp): Promise<string> {
  const names = (await readdir(directory)).filter((name) => pattern.test(name));
  expect(names).toHaveLength(1);
  return join(directory, names[0] ?? '');
}

async function zero(path: string, offset: number, length: number): Promise<void> {
  const bytes = await readFile(path);
  bytes.fill(0, offset, offset + length);
  await writeFile(path, bytes);
}

describe('the verification of a journal before it is opened', () => {
  test('finds no fault in an undamaged journal with compressible, random, large and small events', () =>
    inTemporaryDirectory(async (directory) => {
      const below = numbersFrom(3);
      const texts = [
        () => 'a'.repeat(below(9_000)),
        () => randomBytes(below(9_000)).toString('hex'),
        () => String(below(1_000)).repeat(below(200)),
        () => '{}',
      ];
      const end = 300;
      for (let from = 0; from < end; from += 30) {
        await appendEach(directory, from, from + 30, () => (texts[below(texts.length)] ?? String)());
      }
      // Large appends fill the write buffer, so that LevelDB writes and merges tables besides the log.
      const journal = await must(openLevelJournal(directory));
      for (let at = end; at < end + 120; at += 8) {
        const events = Array.from({ length: 8 }, (_, n) =>
          storedEvent(`e${at + n}`, randomBytes(50_000).toString('hex')),
        );
        await must(journal.append(id, [commitWith(at, events)], owingHead));
      }
      await journal.close();
      const again = await must(openLevelJournal(directory));
      expect(await readAll(again, id, 100)).toHaveLength(end + 15);
      await again.close();
    }));

  test('accepts a torn last write after a crash, and keeps all events before it', () =>
    inTemporaryDirectory(async (directory) => {
      const intact = join(directory, 'intact');
      await appendEach(intact, 0, 20, () => 'x'.repeat(4_000));
      const size = (await stat(await only(intact, /\.log$/))).size;
      const below = numbersFrom(11);
      let before = 0;
      const cuts = Array.from({ length: 25 }, () => below(size)).sort((a, b) => a - b);
      for (const [index, length] of cuts.entries()) {
        const copy = join(directory, `cut-${index}`);
        await cp(intact, copy, { recursive: true });
        await rm(join(copy, 'CLOSED'));
        await truncate(await only(copy, /\.log$/), length);
        const journal = await must(openLevelJournal(copy));
        const sessions = (await must(journal.sessions({ limit: 1_000 }))).sessions;
        const commits = sessions.length === 0 ? [] : await readAll(journal, id);
        expect(commits).toEqual(commits.map((_, at) => commitWith(at, [storedEvent(`e${at}`, 'x'.repeat(4_000))])));
        expect(commits.length).toBeGreaterThanOrEqual(before);
        before = commits.length;
        await journal.close();
      }
      expect(before).toBeGreaterThan(10);
    }));

  test('names the log or table in which a page is zeroed', () =>
    inTemporaryDirectory(async (directory) => {
      const logged = join(directory, 'logged');
      await appendEach(logged, 0, 20, () => 'x'.repeat(4_000));
      const log = await only(logged, /\.log$/);
      await zero(log, 8_192, 4_096);
      const ofLog = await must(openLevelJournal(logged));
      expect(ofLog.notices[0]).toMatch(
        /^\d+\.log of the journal was damaged: the checksum or the length of the write at \d+/,
      );
      expect((await refusal(ofLog.head(id))).message).toMatch(/^session s, positions? \d+(?: to \d+)?: lost/);
      await ofLog.close();

      const tabled = join(directory, 'tabled');
      await appendEach(tabled, 0, 20, () => randomBytes(2_000).toString('hex'));
      await (await must(openLevelJournal(tabled))).close();
      await zero(await only(tabled, /\.ldb$/), 8_192, 4_096);
      const rebuilt = await must(openLevelJournal(tabled));
      expect(rebuilt.notices[0]).toMatch(/^\d+\.ldb of the journal was damaged: the checksum of the block at \d+/);
      const refused = await refusal(rebuilt.head(id));
      expect(refused.code).toBe('damaged');
      expect(refused.message).toMatch(/^session s, positions \d+ to \d+: lost/);
      await rebuilt.close();
    }));

  test('refuses a table that is cut short', () =>
    inTemporaryDirectory(async (directory) => {
      await appendEach(directory, 0, 5);
      await (await must(openLevelJournal(directory))).close();
      const table = await only(directory, /\.ldb$/);
      const { size } = await stat(table);
      await truncate(table, size - 1);
      expect((await refusal(openLevelJournal(directory))).message).toContain('does not end with the mark of a table');
      await truncate(table, 10);
      expect((await refusal(openLevelJournal(directory))).message).toContain('too short');
    }));

  test('ignores files that are not, or no longer, part of the journal', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const end = 20;
      // The fifth opening finds four tables and merges them, so that the manifest also names deleted tables.
      for (let at = 0; at < end; at += 4) await appendEach(path, at, at + 4, () => 'x'.repeat(4_000));
      const log = await only(path, /\.log$/);
      const damagedLog = await readFile(log);
      damagedLog[20] = (damagedLog[20] ?? 0) ^ 1;
      const names = new Set(await readdir(path));
      const leftovers = Array.from({ length: Number(basename(log, '.log')) - 1 }, (_, n) =>
        String(n + 1).padStart(6, '0'),
      );
      for (const stem of leftovers) {
        if (names.has(`${stem}.ldb`)) continue;
        await writeFile(join(path, `${stem}.ldb`), randomBytes(5_000));
        await writeFile(join(path, `${stem}.log`), damagedLog);
      }
      await writeFile(join(path, '999999.ldb'), randomBytes(5_000));
      await writeFile(join(path, 'notes.txt'), 'notes');
      const journal = await must(openLevelJournal(path));
      expect(await readAll(journal, id)).toHaveLength(end);
      await journal.close();
      // The same log in the place of the live one counts as damage; the tables still hold its writes.
      await writeFile(await only(path, /\.log$/), damagedLog);
      const rebuilt = await must(openLevelJournal(path));
      expect(rebuilt.notices[0]).toMatch(
        /^\d+\.log of the journal was damaged: the checksum or the length of the write at 0/,
      );
      expect(await readAll(rebuilt, id)).toHaveLength(end);
      await rebuilt.close();
    }));
});
