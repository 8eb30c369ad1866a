// Damage anywhere in a log costs only the sessions whose writes it hit. Each of them is named with its lost positions.
import { cp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { SessionId } from '../../../schemas/ids.ts';
import { must } from '../../../src/client/must.ts';
import { type LevelJournal, openLevelJournal } from '../../../src/journal/level-journal.ts';
import { readLog } from '../../../src/journal/level/log-format.ts';
import { type BusyLog, cutAt, firstLost, packageOfSession, writeBusyLog } from '../../support/journal/busy-log.ts';
import { outcome, refusal } from '../../support/journal/outcomes.ts';
import {
  commitAt,
  createSample,
  eventId,
  genesisNaming,
  idleHead,
  idsIn,
  lengthOf,
  position,
  readAll,
} from '../../support/journal/samples.ts';
import { inTemporaryDirectory } from '../../support/journal/temporary-directory.ts';
import { type Random, randomFrom, roundsOf } from '../../support/random.ts';

/** Each journal is damaged this often at most, each time in a copy: every way of damage three times. */
const DAMAGES_PER_JOURNAL = 15;
const DAMAGES = roundsOf(2, 50);
const MANIFEST_DAMAGES = roundsOf(2, 70);
const SECTOR = 4_096;
const BLOCK = 32_768;

interface Hole {
  readonly from: number;
  readonly to: number;
}

/** Ways to damage a file in memory; each returns the range it damaged. */
const WAYS: Readonly<Record<string, (bytes: Buffer, random: Random) => Hole>> = {
  flip: (bytes, random) => {
    const at = random.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    return { from: at, to: at + 1 };
  },
  'zeroed sector': (bytes, random) => overwrite(bytes, random, SECTOR, () => 0),
  'overwritten sector': (bytes, random) => overwrite(bytes, random, SECTOR, () => random.below(256)),
  'zeroed block': (bytes, random) => overwrite(bytes, random, BLOCK, () => 0),
  'overwritten block': (bytes, random) => overwrite(bytes, random, BLOCK, () => random.below(256)),
};

function overwrite(bytes: Buffer, random: Random, size: number, byte: () => number): Hole {
  const from = size * random.below(Math.ceil(bytes.length / size));
  const to = Math.min(bytes.length, from + size);
  for (let at = from; at < to; at += 1) bytes[at] = byte();
  return { from, to };
}

/**
 * After a crash only the last write may be reported as torn. More writes may be, only when a header of the first lost write
 * is damaged, in its first block or a later one: then its length is unknown.
 */
function expectTorn(offset: number, hole: Hole, { commits }: BusyLog): void {
  const first = commits.find(({ from }) => from === offset);
  expect(first).toBeDefined();
  expect(hole.to).toBeGreaterThan(offset);
  const isLast = first === commits.at(-1);
  const spansBlocks = Math.floor(offset / BLOCK) !== Math.floor(((first?.to ?? 0) - 1) / BLOCK);
  expect(isLast || spansBlocks || hole.from < offset + 7).toBe(true);
}

interface Counted {
  unopened: number;
  right: number;
  damaged: number;
  /** Reported as damaged although the damaged bytes held no write of theirs. */
  misreported: number;
}

async function damage(file: string, way: string, random: Random): Promise<Hole> {
  const bytes = await readFile(file);
  const hole = WAYS[way]?.(bytes, random) ?? { from: 0, to: 0 };
  await writeFile(file, bytes);
  return hole;
}

/** Expects every session to be right up to its last acknowledged event, or `damaged` from its first lost event at the latest. */
async function compareWith(journal: LevelJournal, { streams }: BusyLog, lost: ReadonlyMap<SessionId, number>) {
  const counted = { right: 0, damaged: 0, misreported: 0 };
  for (const [id, commits] of streams) {
    const first = lost.get(id);
    if ((await outcome(journal.head(id))) === 'done') {
      counted.right += 1;
      // Exactly as written: no acknowledged event may be missing unreported.
      expect(await readAll(journal, id)).toEqual(commits);
      expect(await must(journal.head(id))).toMatchObject({ version: lengthOf(commits) });
      expect(await must(journal.genesis(id))).toBe(genesisNaming(id, packageOfSession(id)));
      expect(await must(journal.toolPackage(packageOfSession(id).digest))).toBe(packageOfSession(id).text);
      for (const [at, event] of idsIn(commits).entries()) expect(await must(journal.find(id, eventId(event)))).toBe(at);
      continue;
    }
    const { code, message } = await refusal(journal.read(id, position(0), 9));
    expect(code).toBe('damaged');
    const [, at = ''] = /^session \S+, positions? (?:from )?(-?\d+)/.exec(message) ?? [];
    expect(Number(at)).toBeLessThanOrEqual(first ?? Number.POSITIVE_INFINITY);
    expect(await outcome(createSample(journal, id))).toBe('damaged');
    if (first === undefined) counted.misreported += 1;
    else counted.damaged += 1;
  }
  return counted;
}

/** Counts the right and the damaged sessions; any other answer fails the test. */
async function countOutcomes(journal: LevelJournal, { streams }: BusyLog): Promise<{ done: number; damaged: number }> {
  const counted = { done: 0, damaged: 0 };
  for (const [id, commits] of streams) {
    const answer = await outcome(journal.head(id));
    expect(['done', 'damaged']).toContain(answer);
    counted[answer === 'done' ? 'done' : 'damaged'] += 1;
    if (answer === 'done') expect(await readAll(journal, id)).toEqual(commits);
  }
  return counted;
}

/** Expects that whole sessions accept appends, and that the next opening finds these and no further damage. */
async function appendAndReopen(path: string, journal: LevelJournal, { streams }: BusyLog): Promise<void> {
  const grown = new Map(streams);
  const appends = [...streams].map(async ([id, commits]) => {
    const more = commitAt(lengthOf(commits), `${id}-more`, `${id}-most`);
    const answer = await outcome(journal.append(id, [more], idleHead));
    if (answer === 'done') grown.set(id, [...commits, more]);
    else expect(answer).toBe('damaged');
  });
  await Promise.all(appends);
  await journal.close();
  const again = await must(openLevelJournal(path));
  expect(again.damage).toEqual(journal.damage);
  for (const [id, commits] of grown) {
    if (!(again.damage?.sessions.has(id) ?? false)) expect(await readAll(again, id)).toEqual(commits);
  }
  await again.close();
}

describe('a journal with a damaged log', () => {
  test.each([
    ['closed', 'grouped', { commits: 90, sessions: 40, together: 6 }],
    ['crashed', 'grouped', { commits: 90, sessions: 40, together: 6 }],
    ['closed', 'single', { commits: 160, sessions: 60, together: 1 }],
    ['crashed', 'single', { commits: 160, sessions: 60, together: 1 }],
  ] as const)(
    `names the sessions that lost events and serves the others: %s, %s writes, ${DAMAGES} damages`,
    { timeout: 600_000 },
    (how, kind, shape) =>
      inTemporaryDirectory(async (directory) => {
        const counts: Counted = { unopened: 0, right: 0, damaged: 0, misreported: 0 };
        const journals = Math.ceil(DAMAGES / DAMAGES_PER_JOURNAL);
        for (let round = 0; round < journals; round += 1) {
          const random = randomFrom(91_000 + round);
          const busy = await writeBusyLog(join(directory, `${round}`), random, shape);
          for (let turn = 0; turn < Math.min(DAMAGES_PER_JOURNAL, DAMAGES); turn += 1) {
            const path = join(directory, `${round}-${turn}`, 'journal');
            await cp(busy[how], path, { recursive: true });
            const hole = await damage(join(path, busy.log), Object.keys(WAYS)[turn % 5] ?? '', random);
            const lastFrom = busy.commits.at(-1)?.from ?? 0;
            const opened = await openLevelJournal(path)();
            if (isLeft(opened)) {
              expect(opened.left.message).toContain('cannot tell which sessions lost writes');
              expect(how).toBe('crashed');
              expect(lastFrom - hole.to).toBeLessThan(2 * BLOCK);
              counts.unopened += 1;
              continue;
            }
            const [torn] = opened.right.tornTails;
            if (torn !== undefined) expectTorn(torn.offset, hole, busy);
            const held = torn === undefined ? busy : cutAt(busy, torn.offset);
            const found = await compareWith(opened.right, held, firstLost(held, hole.from, hole.to));
            for (const name of ['right', 'damaged', 'misreported'] as const) counts[name] += found[name];
            await appendAndReopen(path, opened.right, held);
            await rm(join(directory, `${round}-${turn}`), { recursive: true });
          }
        }
        process.stdout.write(`damaged log, ${how}, ${kind} writes: ${JSON.stringify(counts)}\n`);
        expect(counts.damaged).toBeGreaterThan(journals);
        expect(counts.right).toBeGreaterThan(3 * counts.damaged);
        expect(counts.misreported).toBe(0);
        expect(counts.unopened).toBeLessThanOrEqual(how === 'closed' ? 0 : journals * 2);
      }),
  );

  test('reports each session that lost events when the log of a closed journal is cut short or missing', () =>
    inTemporaryDirectory(async (directory) => {
      const busy = await writeBusyLog(directory, randomFrom(5), { commits: 30, sessions: 20, together: 3 });
      const cuts = roundsOf(1);
      for (const cut of [...busy.commits.slice(0, cuts), ...busy.commits.slice(-cuts), null]) {
        const path = join(directory, `cut-${cut?.from ?? 'gone'}`, 'journal');
        await cp(busy.closed, path, { recursive: true });
        const log = join(path, busy.log);
        if (cut === null) await rm(log);
        else await truncate(log, cut.from);
        const journal = await must(openLevelJournal(path));
        const lost = firstLost(busy, cut?.from ?? 0, Number.POSITIVE_INFINITY);
        const found = await compareWith(journal, busy, lost);
        expect(found).toEqual({ right: busy.streams.size - lost.size, damaged: lost.size, misreported: 0 });
        await appendAndReopen(path, journal, busy);
      }
    }));

  test('is refused when the log is missing after a crash: nothing names its sessions', () =>
    inTemporaryDirectory(async (directory) => {
      const busy = await writeBusyLog(directory, randomFrom(5), { commits: 5, sessions: 20, together: 3 });
      await rm(join(busy.crashed, busy.log));
      const { code, message } = await refusal(openLevelJournal(busy.crashed));
      expect(code).toBe('damaged');
      expect(message).toContain(`${busy.log} of the journal was damaged: it is missing`);
      expect(message).toContain('cannot tell which sessions lost writes');
    }));

  test('does not report more than one lost write of a crashed log as torn', () =>
    inTemporaryDirectory(async (directory) => {
      const busy = await writeBusyLog(directory, randomFrom(7), { commits: 30, sessions: 20, together: 3 });
      const end = busy.commits.at(-1)?.to ?? 0;
      for (const [back, { from, to }] of busy.commits.slice(-6).toReversed().entries()) {
        // Where a write that spans two blocks ended is stated only by the header in the second one.
        if (Math.floor(from / BLOCK) !== Math.floor(to / BLOCK)) continue;
        for (const begin of [from + 7, Math.floor((from + to) / 2), to - 20]) {
          const path = join(directory, `${begin}`, 'journal');
          await cp(busy.crashed, path, { recursive: true });
          const bytes = await readFile(join(path, busy.log));
          bytes.fill(0, begin);
          await writeFile(join(path, busy.log), bytes);
          const opened = await openLevelJournal(path)();
          if (back > 0) {
            // Nothing names the sessions of the writes after the first lost one.
            expect(opened).toMatchObject({ left: { code: 'damaged' } });
            continue;
          }
          if (isLeft(opened)) throw new Error(opened.left.message);
          expect(opened.right.tornTails).toMatchObject([{ offset: from, bytes: end - from }]);
          await compareWith(opened.right, cutAt(busy, from), new Map());
          await opened.right.close();
        }
      }
    }));

  test('reports a torn first write and a damaged table as two findings', () =>
    inTemporaryDirectory(async (directory) => {
      const busy = await writeBusyLog(directory, randomFrom(8), { commits: 12, sessions: 12, together: 2 });
      const [first] = busy.commits;
      for (const size of [5, (first?.to ?? 0) - 3]) {
        const path = join(directory, `${size}`, 'journal');
        await cp(busy.crashed, path, { recursive: true });
        await truncate(join(path, busy.log), size);
        const [table = ''] = (await readdir(path)).filter((name) => name.endsWith('.ldb')).sort();
        await damage(join(path, table), 'flip', randomFrom(9));
        const journal = await must(openLevelJournal(path));
        expect(journal.tornTails).toMatchObject([{ file: busy.log, offset: 0, bytes: size }]);
        expect(journal.notices[0]).toContain(`${table} of the journal was damaged`);
        const found = await countOutcomes(journal, cutAt(busy, 0));
        expect(found.done).toBeGreaterThan(0);
        await journal.close();
      }
    }));

  test('loses nothing when only the length of a write is damaged', () =>
    inTemporaryDirectory(async (directory) => {
      const busy = await writeBusyLog(directory, randomFrom(6), { commits: 6, sessions: 8, together: 2 });
      for (const how of ['closed', 'crashed'] as const) {
        for (const [index, { from }] of busy.commits.entries()) {
          const path = join(directory, `${how}-${index}`, 'journal');
          await cp(busy[how], path, { recursive: true });
          const bytes = await readFile(join(path, busy.log));
          bytes[from + 4 + (index % 2)] = (bytes[from + 4 + (index % 2)] ?? 0) ^ (1 << ((5 * index) % 8));
          await writeFile(join(path, busy.log), bytes);
          const journal = await must(openLevelJournal(path));
          expect(await compareWith(journal, busy, new Map())).toMatchObject({ right: busy.streams.size, damaged: 0 });
          await journal.close();
        }
      }
    }));
});

describe('a journal with a damaged manifest', () => {
  test(`loses nothing, in ${MANIFEST_DAMAGES} ways`, { timeout: 300_000 }, () =>
    inTemporaryDirectory(async (directory) => {
      const random = randomFrom(93_000);
      const busy = await writeBusyLog(directory, random, { commits: 20, sessions: 20, together: 4 });
      for (let turn = 0; turn < MANIFEST_DAMAGES; turn += 1) {
        const path = join(directory, `${turn}`, 'journal');
        await cp(turn % 2 === 0 ? busy.closed : busy.crashed, path, { recursive: true });
        const names = (await readdir(path)).filter((name) => /^(?:MANIFEST-\d+|CURRENT)$/.test(name));
        const file = join(path, random.pick(names));
        if (turn % 7 === 6) await rm(file);
        else if (turn % 7 === 5) await truncate(file, random.below(60));
        else await damage(file, Object.keys(WAYS)[turn % 3] ?? '', random);
        const journal = await must(openLevelJournal(path));
        expect(await compareWith(journal, busy, new Map())).toEqual({
          right: busy.streams.size,
          damaged: 0,
          misreported: 0,
        });
        await appendAndReopen(path, journal, busy);
      }
    }),
  );

  test('loses nothing when it is cut short after any of its edits', () =>
    inTemporaryDirectory(async (directory) => {
      const busy = await writeBusyLog(directory, randomFrom(9), { commits: 8, sessions: 8, together: 2 });
      for (const how of ['closed', 'crashed'] as const) {
        const manifest = await nameOf(busy[how], /^MANIFEST-/);
        const { records } = readLog(await readFile(join(busy[how], manifest)));
        expect(records.length).toBeGreaterThan(1);
        for (const { at } of records) {
          const path = join(directory, `${how}-${at}`, 'journal');
          await cp(busy[how], path, { recursive: true });
          await truncate(join(path, manifest), at);
          const journal = await must(openLevelJournal(path));
          const [notice = '', ...others] = journal.notices;
          expect(notice).toContain(`${manifest} of the journal was damaged`);
          expect(others.filter((one) => one.includes('is missing'))).toEqual([]);
          expect(await compareWith(journal, busy, new Map())).toMatchObject({ right: busy.streams.size, damaged: 0 });
          await journal.close();
        }
      }
    }));

  test('is refused when the logs are missing too, whatever an old CLOSED says of earlier ones', () =>
    inTemporaryDirectory(async (directory) => {
      const busy = await writeBusyLog(directory, randomFrom(9), { commits: 8, sessions: 8, together: 2 });
      expect(await readdir(busy.crashed)).not.toContain('CLOSED');
      await truncate(join(busy.crashed, await nameOf(busy.crashed, /^MANIFEST-/)), 0);
      await rm(join(busy.crashed, busy.log));
      const { code, message } = await refusal(openLevelJournal(busy.crashed));
      expect(code).toBe('damaged');
      expect(message).toContain('cannot tell which sessions lost writes');
    }));

  test('is not compared with a CLOSED from before a log that was begun later', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const id = 's' as SessionId;
      const first = await must(openLevelJournal(path));
      await must(createSample(first, id));
      await must(first.append(id, [commitAt(0, 'a')], idleHead));
      await first.close();
      const closed = await readFile(join(path, 'CLOSED'));
      const second = await must(openLevelJournal(path));
      await must(second.append(id, [commitAt(1, 'b')], idleHead));
      const crashed = join(directory, 'crashed', 'journal');
      await cp(path, crashed, { recursive: true });
      await second.close();
      // As when a power cut undoes the removal of the file.
      await writeFile(join(crashed, 'CLOSED'), closed);
      await truncate(join(crashed, await nameOf(crashed, /^MANIFEST-/)), 0);
      const journal = await must(openLevelJournal(crashed));
      expect(journal.notices.filter((one) => one.includes('is missing'))).toEqual([]);
      expect(await readAll(journal, id)).toEqual([commitAt(0, 'a'), commitAt(1, 'b')]);
      await journal.close();
    }));
});

const nameOf = async (directory: string, pattern: RegExp): Promise<string> =>
  (await readdir(directory)).find((name) => pattern.test(name)) ?? '';
