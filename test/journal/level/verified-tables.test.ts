// Tables that an earlier opening verified are read after the journal answers. Everything that the file system shows is found
// before that, and the rest soon after.
import { randomBytes } from 'node:crypto';
import { readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TABLE_CHECK_BYTES, TABLE_TRUST_MS_MAX } from '../../../schemas/limits.ts';
import { must } from '../../../src/client/must.ts';
import { type OpeningOptions, openLevelJournal } from '../../../src/journal/level-journal.ts';
import { readVerified, stampOf, writeVerified } from '../../../src/journal/level/verified-tables.ts';
import { flipBit, liveTables } from '../../support/journal/many-tables.ts';
import { outcome, refusal } from '../../support/journal/outcomes.ts';
import {
  commitAt,
  commitWith,
  createSample,
  idleHead,
  readAll,
  session,
  storedEvent,
} from '../../support/journal/samples.ts';
import { inTemporaryDirectory } from '../../support/journal/temporary-directory.ts';

const id = session('s');
/** Later than every file here by more than a tick of the file system. */
const LATER_MS = 60_000;

/** A clock whose timers fire only when the test says so. */
function handClock(aheadMs = LATER_MS) {
  const timers: { readonly ms: number; readonly fire: () => void }[] = [];
  let rests = 0;
  return {
    now: () => Date.now() + aheadMs,
    elapsed: () => Date.now(),
    after: (ms: number, fire: () => void) => {
      const timer = { ms, fire };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0);
    },
    rests: () => rests,
    /** Fires timers until the check of the tables has read all of them once, or has ended. */
    async run(ended: () => boolean = () => false): Promise<void> {
      while (!ended()) {
        const timer = timers.shift();
        if (timer !== undefined) {
          if (timer.ms > 3_600_000) return;
          rests += 1;
          timer.fire();
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

/** A journal of one table, which two openings verified; `bytes` is about its size. */
async function verifiedJournal(directory: string, bytes = 8_000): Promise<string> {
  const journal = await must(openLevelJournal(directory));
  await must(createSample(journal, id));
  const text = (): string => randomBytes(bytes / 8).toString('hex');
  for (let at = 0; at < 4; at += 1) {
    await must(journal.append(id, [commitWith(at, [storedEvent(`e${at}`, text())])], idleHead));
  }
  await journal.close();
  await (await must(openLevelJournal(directory))).close();
  await (await must(openLevelJournal(directory, { clock: handClock() }))).close();
  const [table] = await liveTables(directory);
  const verified = await readVerified(directory);
  expect([...verified.keys()]).toContain(table?.name);
  return table?.name ?? '';
}

/** Flips a bit in a table and makes VERIFIED name the file as it is now: what a disk does that alters bits silently. */
async function rot(directory: string, name: string, offset?: number): Promise<void> {
  const verified = new Map(await readVerified(directory));
  const before = verified.get(name);
  // In the middle of a table are commits.
  await flipBit(join(directory, name), offset ?? (await stat(join(directory, name))).size >>> 1);
  const stamp = (await stampOf(join(directory, name)))?.text ?? '';
  if (before !== undefined) verified.set(name, { ...before, stamp });
  await writeVerified(directory, verified);
}

/** The names of the tables that an opening found damaged. */
async function foundAtOpening(directory: string, options: Partial<OpeningOptions> = {}): Promise<readonly string[]> {
  const journal = await must(openLevelJournal(directory, { clock: handClock(), ...options }));
  await journal.close();
  return journal.notices.flatMap((notice) => /^(\d+\.ldb) of the journal was damaged/.exec(notice)?.[1] ?? []);
}

describe('an opening of a journal whose tables were verified before', () => {
  test('finds a table that was written to, though its size and its times of writing are the old ones', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const name = await verifiedJournal(path);
      const { atime, mtime } = await stat(join(path, name));
      await flipBit(join(path, name), 100);
      await utimes(join(path, name), atime, mtime);
      expect(await foundAtOpening(path)).toEqual([name]);
    }));

  test('reads no table that is unchanged, unless every table is asked for', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const name = await verifiedJournal(path);
      await rot(path, name);
      expect(await foundAtOpening(path)).toEqual([]);
      expect(await foundAtOpening(path, { everyTable: true })).toEqual([name]);
    }));

  test.each([
    ['missing', (file: string) => rm(file)],
    ['altered', (file: string) => flipBit(file, 10)],
    ['cut short', async (file: string) => writeFile(file, (await readFile(file)).subarray(0, 30))],
    ['of another form', (file: string) => writeFile(file, '[]\n00000000\n')],
    // The checksum of nothing is zero.
    ['without a value', (file: string) => writeFile(file, '\n00000000\n')],
  ] as const)('reads every table when VERIFIED is %s', (_, damage) =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const name = await verifiedJournal(path);
      await rot(path, name);
      await damage(join(path, 'VERIFIED'));
      expect(await foundAtOpening(path)).toEqual([name]);
    }),
  );

  test('reads a table that was verified a day ago, or at a time to come', () =>
    inTemporaryDirectory(async (directory) => {
      for (const sign of [1, -1]) {
        const path = join(directory, `${sign}`, 'journal');
        const name = await verifiedJournal(path);
        await rot(path, name);
        const almost = sign * (TABLE_TRUST_MS_MAX - 2 * LATER_MS);
        expect(await foundAtOpening(path, { clock: handClock(almost) })).toEqual([]);
        const over = sign * (TABLE_TRUST_MS_MAX + 2 * LATER_MS);
        expect(await foundAtOpening(path, { clock: handClock(over) })).toEqual([name]);
      }
    }));

  test('does not remember a table that was written within the same tick as it was read', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const name = await verifiedJournal(path);
      await writeFile(join(path, name), await readFile(join(path, name)));
      await (await must(openLevelJournal(path, { clock: handClock(0) }))).close();
      const stamp = (await stampOf(join(path, name)))?.text ?? '';
      expect(stamp).not.toBe('');
      expect((await readVerified(path)).get(name)?.stamp).not.toBe(stamp);
    }));

  test('reads every table when the journal does not open as it is', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const name = await verifiedJournal(path);
      // The first block holds the layout record.
      await rot(path, name, 100);
      expect(await foundAtOpening(path)).toEqual([name]);
    }));

  test('reads the tables that are new since, after a crash too', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      await verifiedJournal(path);
      const journal = await must(openLevelJournal(path));
      await must(journal.append(id, [commitAt(4, 'more')], idleHead));
      await journal.close();
      await (await must(openLevelJournal(path))).close();
      await rm(join(path, 'CLOSED'));
      const known = await readVerified(path);
      const added = (await liveTables(path)).filter(({ name }) => !known.has(name));
      expect(added).toHaveLength(1);
      await flipBit(join(path, added[0]?.name ?? ''), 10);
      expect(await foundAtOpening(path)).toEqual(added.map(({ name }) => name));
    }));
});

describe('the check of tables while a journal is open', () => {
  test('finds bits that changed without a trace, refuses everything from then on, and leaves the rebuild to the next opening', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const name = await verifiedJournal(path);
      await rot(path, name);
      const clock = handClock();
      const journal = await must(openLevelJournal(path, { clock }));
      expect(await outcome(journal.sessions({ limit: 1 }))).toBe('done');
      let isFound = false;
      const running = clock.run(() => isFound);
      while (!isFound) isFound = (await outcome(journal.sessions({ limit: 1 }))) === 'damaged';
      await running;
      const { code, message } = await refusal(journal.append(id, [commitAt(4, 'more')], idleHead));
      expect(code).toBe('damaged');
      expect(message).toContain(`${name} of the journal was damaged: the checksum of the block at`);
      expect(message).toContain('restart the engine');
      expect(await outcome(journal.head(id))).toBe('damaged');
      await journal.close();
      expect(await readdir(path)).not.toContain('VERIFIED');
      expect(await foundAtOpening(path)).toEqual([name]);
    }));

  test('rests after each part of a large table, and renews the time of verification', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const bytes = 8 * TABLE_CHECK_BYTES;
      const name = await verifiedJournal(path, bytes);
      const [{ size } = { size: 0 }] = await liveTables(path);
      const before = (await readVerified(path)).get(name)?.atMs ?? 0;
      const clock = handClock(2 * LATER_MS);
      const journal = await must(openLevelJournal(path, { clock }));
      await clock.run();
      expect(clock.rests()).toBeGreaterThanOrEqual(Math.floor(size / (TABLE_CHECK_BYTES + bytes / 4)));
      expect(clock.rests()).toBeGreaterThan(2);
      expect((await readVerified(path)).get(name)?.atMs).toBeGreaterThan(before);
      expect(await readAll(journal, id)).toHaveLength(4);
      await journal.close();
    }));

  test('passes over a table that is gone, and ends when the journal is closed', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const name = await verifiedJournal(path);
      const clock = handClock();
      const journal = await must(openLevelJournal(path, { clock }));
      await rm(join(path, name));
      await clock.run();
      expect([...(await readVerified(path)).keys()]).not.toContain(name);
      await journal.close();
      expect(await outcome(journal.sessions({ limit: 1 }))).toBe('closing');
    }));
});
