// A last write that a crash tore is cut off, and whoever looks after the journal is told.
import { cp, readFile, readdir, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TORN_TAILS_KEPT } from '../../../schemas/limits.ts';
import { type LevelJournal, openLevelJournal } from '../../../src/journal/level-journal.ts';
import { describeTornTail, readTornTails } from '../../../src/journal/level/torn-tail.ts';
import { done, refusal } from '../../support/journal/outcomes.ts';
import { readIds, recordOf, session, version } from '../../support/journal/samples.ts';
import { inTemporaryDirectory } from '../../support/journal/temporary-directory.ts';

const id = session('s');
const open = (directory: string): Promise<LevelJournal> => done(openLevelJournal(directory));

async function logOf(directory: string): Promise<string> {
  const logs = (await readdir(directory)).filter((name) => name.endsWith('.log')).sort();
  return join(directory, logs.at(-1) ?? '');
}

/** A journal of so many events, as a crash leaves it: its files are copied while it is open. */
async function crashed(directory: string, events: number): Promise<string> {
  const journal = await open(join(directory, 'live'));
  await done(journal.create(id, '{}'));
  for (let at = 0; at < events; at += 1) await done(journal.append(id, version(at), [recordOf(`e${at}`)], false));
  const copy = join(directory, 'crashed');
  await cp(join(directory, 'live'), copy, { recursive: true });
  await journal.close();
  return copy;
}

async function flip(path: string, fromEnd: number): Promise<void> {
  const bytes = await readFile(path);
  const at = bytes.length - fromEnd;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

describe('a torn last write', () => {
  test('is cut back to the last whole one, told at that opening, and on record from then on', () =>
    inTemporaryDirectory(async (directory) => {
      const path = await crashed(directory, 5);
      const log = await logOf(path);
      const { size } = await stat(log);
      await truncate(log, size - 10);
      const journal = await open(path);
      expect(await readIds(journal, id)).toEqual(['e0', 'e1', 'e2', 'e3']);
      expect(journal.tornTails).toHaveLength(1);
      const [tail] = journal.tornTails;
      expect(tail).toMatchObject({ file: log.slice(path.length + 1) });
      expect((tail?.offset ?? 0) + (tail?.bytes ?? 0)).toBe(size - 10);
      if (tail !== undefined)
        expect(describeTornTail(tail)).toContain('never acknowledged; what is left of it names s');
      expect(await readTornTails(path)).toEqual(journal.tornTails);
      await done(journal.append(id, version(4), [recordOf('after')], false));
      await journal.close();
      const again = await open(path);
      expect(again.tornTails).toEqual([]);
      expect(await readIds(again, id)).toHaveLength(5);
      expect(await readTornTails(path)).toEqual(journal.tornTails);
      await again.close();
    }));

  test('is none when nothing was torn, by a crash or not', () =>
    inTemporaryDirectory(async (directory) => {
      const journal = await open(await crashed(directory, 5));
      expect(journal.tornTails).toEqual([]);
      expect(await readIds(journal, id)).toHaveLength(5);
      await journal.close();
      expect((await open(join(directory, 'live'))).tornTails).toEqual([]);
    }));

  test('is damage when the journal had been closed: then the write was whole', () =>
    inTemporaryDirectory(async (directory) => {
      const path = await crashed(directory, 5);
      const live = join(directory, 'live');
      await flip(await logOf(live), 5);
      const damaged = await open(live);
      expect(damaged.tornTails).toEqual([]);
      expect(damaged.notices[0]).toContain('it had when the journal was closed');
      expect((await refusal(damaged.head(id))).message).toMatch(/^session s, position 4: lost/);
      await damaged.close();
      // After a crash the same bit cannot be told from a write that was torn.
      await flip(await logOf(path), 5);
      const journal = await open(path);
      expect(journal.tornTails).toHaveLength(1);
      expect(await readIds(journal, id)).toHaveLength(4);
      await journal.close();
    }));

  test('is not put on record by a process that finds the directory taken', () =>
    inTemporaryDirectory(async (directory) => {
      const path = await crashed(directory, 5);
      const journal = await open(path);
      const log = await logOf(path);
      await done(journal.append(id, version(5), [recordOf('e5')], false));
      // What another process would see in the middle of a write.
      await truncate(log, (await stat(log)).size - 3);
      expect((await refusal(openLevelJournal(path))).message).toContain('another refold engine');
      expect(await readTornTails(path)).toEqual([]);
      await journal.close();
    }));

  test('is remembered a bounded number of times, and a damaged record of it is passed over', () =>
    inTemporaryDirectory(async (directory) => {
      const path = await crashed(directory, 2);
      const line = (n: number): string => `{"file":"000003.log","offset":${n},"bytes":7}\n`;
      const lines = Array.from({ length: TORN_TAILS_KEPT + 9 }, (_, n) => line(n)).join('');
      await writeFile(join(path, 'torn-tails.jsonl'), `garbage\n{"file":1}\n${lines}`);
      expect(await readTornTails(path)).toHaveLength(TORN_TAILS_KEPT + 9);
      const log = await logOf(path);
      await truncate(log, (await stat(log)).size - 1);
      await (await open(path)).close();
      expect(await readTornTails(path)).toHaveLength(TORN_TAILS_KEPT);
    }));
});
