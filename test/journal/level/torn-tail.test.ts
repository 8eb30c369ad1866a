// A last write that a crash tore is cut off, reported and recorded.
import { cp, readFile, readdir, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TORN_TAILS_KEPT } from '../../../schemas/limits.ts';
import { must } from '../../../src/client/must.ts';
import { type LevelJournal, openLevelJournal } from '../../../src/journal/level-journal.ts';
import { describeTornTail, readTornTails } from '../../../src/journal/level/torn-tail.ts';
import { refusal } from '../../support/journal/outcomes.ts';
import { commitAt, createSample, idleHead, readIds, session } from '../../support/journal/samples.ts';
import { inTemporaryDirectory } from '../../support/journal/temporary-directory.ts';

const id = session('s');
const open = (directory: string): Promise<LevelJournal> => must(openLevelJournal(directory));

async function logOf(directory: string): Promise<string> {
  const logs = (await readdir(directory)).filter((name) => name.endsWith('.log')).sort();
  return join(directory, logs.at(-1) ?? '');
}

/** Writes a journal with that many events, and copies its files while it is open: they are what a crash leaves. */
async function crashed(directory: string, events: number): Promise<string> {
  const journal = await open(join(directory, 'live'));
  await must(createSample(journal, id));
  for (let at = 0; at < events; at += 1) await must(journal.append(id, [commitAt(at, `e${at}`)], idleHead));
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
  test('is cut off, reported at that opening, and stays recorded', () =>
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
        expect(describeTornTail(tail)).toContain(
          'never acknowledged and was cut off. Sessions named in what is left of it: s',
        );
      expect(await readTornTails(path)).toEqual(journal.tornTails);
      await must(journal.append(id, [commitAt(4, 'after')], idleHead));
      await journal.close();
      const again = await open(path);
      expect(again.tornTails).toEqual([]);
      expect(await readIds(again, id)).toHaveLength(5);
      expect(await readTornTails(path)).toEqual(journal.tornTails);
      await again.close();
    }));

  test('is not reported when the log is whole, after a crash or a clean stop', () =>
    inTemporaryDirectory(async (directory) => {
      const journal = await open(await crashed(directory, 5));
      expect(journal.tornTails).toEqual([]);
      expect(await readIds(journal, id)).toHaveLength(5);
      await journal.close();
      expect((await open(join(directory, 'live'))).tornTails).toEqual([]);
    }));

  test('counts as damage after a clean stop, when the write was whole', () =>
    inTemporaryDirectory(async (directory) => {
      const path = await crashed(directory, 5);
      const live = join(directory, 'live');
      await flip(await logOf(live), 5);
      const damaged = await open(live);
      expect(damaged.tornTails).toEqual([]);
      expect(damaged.notices[0]).toContain('although it was whole when the journal was closed');
      expect((await refusal(damaged.head(id))).message).toMatch(/^session s, position 4: lost/);
      await damaged.close();
      // After a crash the same flipped bit cannot be distinguished from a torn write.
      await flip(await logOf(path), 5);
      const journal = await open(path);
      expect(journal.tornTails).toHaveLength(1);
      expect(await readIds(journal, id)).toHaveLength(4);
      await journal.close();
    }));

  test('is not recorded by a process that finds the directory in use', () =>
    inTemporaryDirectory(async (directory) => {
      const path = await crashed(directory, 5);
      const journal = await open(path);
      const log = await logOf(path);
      await must(journal.append(id, [commitAt(5, 'e5')], idleHead));
      // What another process sees during a write.
      await truncate(log, (await stat(log)).size - 3);
      expect((await refusal(openLevelJournal(path))).message).toContain('another refold engine');
      expect(await readTornTails(path)).toEqual([]);
      await journal.close();
    }));

  test('is recorded up to a maximum number, and unreadable lines of the record are ignored', () =>
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
