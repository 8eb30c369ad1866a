// A damaged table costs only the sessions whose keys it lost. Each of them is named with its lost positions.
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionId } from '../../../schemas/ids.ts';
import { must } from '../../../src/client/must.ts';
import { type LevelJournal, openLevelJournal } from '../../../src/journal/level-journal.ts';
import { reject } from '../../../schemas/rejection.ts';
import { Refusal } from '../../../src/journal/refusal.ts';
import {
  type Streams,
  flipBit,
  liveTables,
  packageInTables,
  storedFiles,
  writeManyTables,
} from '../../support/journal/many-tables.ts';
import { outcome, refusal } from '../../support/journal/outcomes.ts';
import {
  commitAt,
  commitWith,
  createSample,
  eventId,
  genesisNaming,
  idleHead,
  idsIn,
  lengthOf,
  numbersFrom,
  owingHead,
  position,
  readAll,
  session,
  storedEvent,
  storedPackage,
} from '../../support/journal/samples.ts';
import { mountSmallDisk } from '../../support/journal/small-disk.ts';
import { inTemporaryDirectory } from '../../support/journal/temporary-directory.ts';
import { type Random, randomFrom, roundsOf } from '../../support/random.ts';

const ROUNDS = roundsOf(12);
const TWICE_DAMAGED = roundsOf(3);
const TABLE = /\.ldb$/;

interface Counted {
  right: number;
  damaged: number;
}

/** Compares every answer of a journal with what was written; an answer that is neither right nor `damaged` fails the test. */
async function compareWith(journal: LevelJournal, streams: Streams): Promise<Counted> {
  const counted = { right: 0, damaged: 0 };
  for (const [id, commits] of streams) {
    const genesis = await journal.genesis(id)();
    if (isLeft(genesis)) {
      counted.damaged += 1;
      await expectDamaged(journal, id, lengthOf(commits));
      continue;
    }
    counted.right += 1;
    expect(genesis.right).toBe(genesisNaming(id, packageInTables(id)));
    expect(await must(journal.toolPackage(packageInTables(id).digest))).toBe(packageInTables(id).text);
    expect(await readAll(journal, id)).toEqual(commits);
    expect(await must(journal.head(id))).toMatchObject({ version: lengthOf(commits) });
    for (const [at, event] of idsIn(commits).entries()) expect(await must(journal.find(id, eventId(event)))).toBe(at);
    expect(await outcome(createSample(journal, id))).toBe('session_exists');
  }
  const listed = (await must(journal.sessions({ limit: 1_000 }))).sessions;
  for (const { session_id, version: at } of listed) {
    if ((await outcome(journal.head(session_id))) === 'done') expect(at).toBe(lengthOf(streams.get(session_id) ?? []));
  }
  return counted;
}

async function expectDamaged(journal: LevelJournal, id: SessionId, length: number): Promise<void> {
  const asked = [
    journal.genesis(id),
    journal.head(id),
    journal.read(id, position(0), 9),
    journal.find(id, eventId('e')),
    createSample(journal, id),
  ];
  for (const task of asked) {
    const { code, message } = await refusal(task);
    expect(code).toBe('damaged');
    const [, first = '', last] = /^session \S+, positions? (?:from )?(-?\d+)(?: to (\d+))?/.exec(message) ?? [];
    expect(message).toContain(`session ${id}, `);
    expect(Number(first)).toBeLessThanOrEqual(length);
    if (last !== undefined) expect(Number(last)).toBeLessThan(length);
  }
}

/** Appends to every whole session, and expects to find the appended events after another opening. */
async function appendAndReopen(directory: string, journal: LevelJournal, streams: Streams): Promise<void> {
  const grown = new Map(streams);
  for (const [id, commits] of streams) {
    const more = commitAt(lengthOf(commits), `${id}-more`, `${id}-most`);
    const answer = await outcome(journal.append(id, [more], idleHead));
    if (answer === 'done') grown.set(id, [...commits, more]);
    else expect(['damaged', 'unknown_session']).toContain(answer);
  }
  await journal.close();
  const again = await must(openLevelJournal(directory));
  await compareWith(again, grown);
  await again.close();
}

/** Damages one to three tables. The first damage of twelve rounds in a row takes each of the twelve ways once. */
async function damageTables(directory: string, random: Random, round: number): Promise<void> {
  const tables = await liveTables(directory);
  const damages = 1 + random.below(3);
  for (let count = 0; count < damages; count += 1) {
    const { name, size } = random.pick(tables);
    const path = join(directory, name);
    const way = count === 0 ? round % 12 : random.below(12);
    if (way === 0) await rm(path, { force: true });
    else if (way === 1) await truncate(path, random.below(size)).catch(() => undefined);
    else if (way === 2) await flipBit(path, size - 1 - random.below(120), random.below(8)).catch(() => undefined);
    else await flipBit(path, random.below(size), random.below(8)).catch(() => undefined);
  }
}

/** Journals that {@link damagedJournal} has written, by their seed, each copied from there when it is wanted again. */
const written = new Map<number, { readonly copy: string; readonly streams: Streams }>();
let copies = '';
beforeAll(async () => {
  copies = await mkdtemp(join(tmpdir(), 'refold-rebuild-'));
});
afterAll(() => rm(copies, { recursive: true }));

/** Writes a journal and damages one block in the middle of its largest table; returns what was written. */
async function damagedJournal(directory: string, seed: number): Promise<Streams> {
  const { copy, streams } = written.get(seed) ?? (await writeDamagedJournal(seed));
  await cp(copy, directory, { recursive: true });
  return streams;
}

async function writeDamagedJournal(seed: number): Promise<{ readonly copy: string; readonly streams: Streams }> {
  const directory = join(copies, `${seed}`);
  const random = randomFrom(seed);
  const streams = await writeManyTables(directory, random);
  const tables = await liveTables(directory);
  const largest = tables.reduce((a, b) => (a.size > b.size ? a : b));
  await flipBit(join(directory, largest.name), Math.floor(largest.size * 0.8));
  const journal = { copy: directory, streams };
  written.set(seed, journal);
  return journal;
}

describe('a journal with damaged tables', () => {
  test(`returns each session unharmed or refuses it as damaged, in ${ROUNDS} rounds`, { timeout: 600_000 }, () =>
    inTemporaryDirectory(async (directory) => {
      const counts = { unopened: 0, right: 0, damaged: 0, others: 0 };
      for (let round = 0; round < ROUNDS; round += 1) {
        const random = randomFrom(77_000 + round);
        const path = join(directory, `${round}`);
        const streams = await writeManyTables(path, random);
        await damageTables(path, random, round);
        const opened = await openLevelJournal(path)();
        if (isLeft(opened)) {
          expect(opened.left.code).toBe('damaged');
          counts.unopened += 1;
          continue;
        }
        const found = await compareWith(opened.right, streams);
        counts.right += found.right;
        counts.damaged += found.damaged;
        if (found.right > 0 && found.damaged > 0) counts.others += 1;
        await appendAndReopen(path, opened.right, streams);
      }
      process.stdout.write(`damaged tables: ${JSON.stringify(counts)}\n`);
      expect(counts.others).toBeGreaterThan(ROUNDS / 5);
      expect(counts.right).toBeGreaterThan(counts.damaged / 2);
      expect(counts.unopened).toBeLessThan(ROUNDS / 5);
    }),
  );

  test('keeps the damaged files unchanged, and reports the rebuild at every later opening', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      await damagedJournal(path, 5);
      const before = await storedFiles(path, TABLE);
      const bytes = await readFile(join(path, before[0]?.name ?? ''));
      const messages: string[] = [];
      const journal = await must(openLevelJournal(path, { tell: (message) => messages.push(message) }));
      expect(messages[0]).toContain('rebuilding the journal');
      expect(journal.notices.join('\n')).toMatch(
        /\d+\.ldb of the journal was damaged: the checksum of the block at \d+/,
      );
      expect(journal.notices.join('\n')).toContain('kept in journal.damaged-1');
      expect(await storedFiles(join(directory, 'journal.damaged-1'), TABLE)).toEqual(before);
      expect(await readFile(join(directory, 'journal.damaged-1', before[0]?.name ?? ''))).toEqual(bytes);
      await journal.close();
      const again = await must(openLevelJournal(path));
      expect(again.notices).toEqual(journal.notices.slice(-1));
      expect(again.damage).toEqual(journal.damage);
      await again.close();
    }));

  test('is either the old or the rebuilt journal, at whichever step the rebuild is killed', { timeout: 120_000 }, () =>
    inTemporaryDirectory(async (directory) => {
      const home = join(directory, 'home');
      const streams = await damagedJournal(join(home, 'journal'), 5);
      const steps: string[] = [];
      const onStep = async (step: string): Promise<void> => {
        await cp(home, join(directory, `killed-${steps.length}`), { recursive: true });
        steps.push(step);
      };
      const journal = await must(openLevelJournal(join(home, 'journal'), { onStep }));
      const truth = await compareWith(journal, streams);
      expect(truth.damaged).toBeGreaterThan(0);
      const lost = journal.damage?.sessions;
      await journal.close();
      expect(steps.slice(-2)).toEqual(['moving the old journal aside', 'moving the rebuilt journal into its place']);
      for (const [k] of steps.entries()) {
        const path = join(directory, `killed-${k}`, 'journal');
        const opened = await must(openLevelJournal(path));
        expect(await compareWith(opened, streams)).toEqual(truth);
        expect(opened.damage?.sessions).toEqual(lost);
        await appendAndReopen(path, opened, streams);
        expect(await readdir(join(directory, `killed-${k}`))).toContain('journal.damaged-1');
      }
    }),
  );

  test(
    'is refused and unchanged when a step of the rebuild fails, and opens at the next attempt',
    { timeout: 120_000 },
    () =>
      inTemporaryDirectory(async (directory) => {
        const intact = join(directory, 'intact');
        const streams = await damagedJournal(join(intact, 'journal'), 5);
        for (let k = 0; ; k += 1) {
          const home = join(directory, `failed-${k}`);
          await cp(intact, home, { recursive: true });
          let step = -1;
          const failing = await openLevelJournal(join(home, 'journal'), {
            onStep: () => {
              step += 1;
              if (step === k) throw new Refusal(reject('storage_full', '', 'No space left on device'));
              return Promise.resolve();
            },
          })();
          if (!isLeft(failing)) {
            await failing.right.close();
            expect(k).toBeGreaterThan(5);
            break;
          }
          expect(failing.left.code).toBe('storage_full');
          const opened = await must(openLevelJournal(join(home, 'journal')));
          expect((await compareWith(opened, streams)).right).toBeGreaterThan(0);
          await opened.close();
        }
      }),
  );

  test('is not changed while another engine has it open', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      await writeManyTables(path, randomFrom(6));
      const journal = await must(openLevelJournal(path));
      await damageTableInUse(path);
      expect((await refusal(openLevelJournal(path))).message).toContain('another refold engine');
      expect((await readdir(directory)).filter((name) => name.includes('damaged'))).toEqual([]);
      await journal.close();
    }));

  test('is rebuilt again when it is damaged again, and still reports the first loss', { timeout: 60_000 }, () =>
    inTemporaryDirectory(async (directory) => {
      let twice = 0;
      for (let seed = 5; seed < 5 + TWICE_DAMAGED; seed += 1) {
        const path = join(directory, `${seed}`);
        const streams = await damagedJournal(path, seed);
        const first = await must(openLevelJournal(path));
        await first.close();
        await (await must(openLevelJournal(path))).close();
        const tables = await liveTables(path);
        const largest = tables.reduce((a, b) => (a.size > b.size ? a : b));
        await flipBit(join(path, largest.name), Math.floor(largest.size * 0.6));
        const opened = await openLevelJournal(path)();
        if (isLeft(opened)) {
          expect(opened.left.code).toBe('damaged');
          continue;
        }
        twice += 1;
        await compareWith(opened.right, streams);
        for (const id of first.damage?.sessions.keys() ?? []) {
          expect(opened.right.damage?.sessions.has(id)).toBe(true);
        }
        expect(opened.right.damage?.aside).toBe(`${seed}.damaged-2`);
        await opened.right.close();
      }
      expect(twice).toBeGreaterThan(TWICE_DAMAGED / 5);
    }),
  );
});

describe('a journal that lost a tool package', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(session) as [SessionId, SessionId, SessionId, SessionId];

  test.each([
    ['its log', 0],
    ['a table', 2],
  ])('from %s reports every session that names it as lost at position -1, and no other', (_, openings) =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const noise = randomHex(3);
      const [lost, kept] = [storedPackage(`{"note":"${noise()}"}`), storedPackage(`{"note":"${noise()}"}`)];
      const genesis = JSON.stringify({ note: noise(), tool_package_digest: kept.digest });
      const journal = await must(openLevelJournal(path));
      await must(journal.create(a, genesisNaming(a, lost), lost, idleHead));
      await must(journal.append(a, [commitAt(0, 'e'), commitAt(1, 'f', 'g')], idleHead));
      await must(journal.create(b, genesisNaming(b, lost), lost, owingHead));
      await must(journal.append(b, [commitAt(0, 'e', 'f'), commitAt(2, 'g')], owingHead));
      // This long genesis is the last one, so that no genesis shares a block of a table with a package.
      await must(journal.create(c, genesis, kept, idleHead));
      await must(journal.append(c, [commitAt(0, 'e')], idleHead));
      await journal.close();
      for (let opening = 0; opening < openings; opening += 1) await (await must(openLevelJournal(path))).close();
      await flipInside(path, lost.text);

      const rebuilt = await must(openLevelJournal(path));
      expect(rebuilt.damage?.sessions.get(b)).toEqual({ first: -1, last: -1 });
      expect([...(rebuilt.damage?.sessions.keys() ?? [])].sort()).toEqual([a, b]);
      expect((await refusal(rebuilt.head(b))).message).toMatch(/^session b, position -1: lost/);
      expect((await refusal(rebuilt.head(a))).message).toMatch(/^session a, positions? -1/);
      expect(await readAll(rebuilt, c)).toEqual([commitAt(0, 'e')]);
      expect(await must(rebuilt.genesis(c))).toBe(genesis);
      expect(await must(rebuilt.toolPackage(kept.digest))).toBe(kept.text);
      expect((await refusal(rebuilt.toolPackage(lost.digest))).code).toBe('damaged');
      // A new session stores the package again. The sessions that lost it are still refused: they are on record as damaged.
      await must(rebuilt.create(d, genesisNaming(d, lost), lost, idleHead));
      await rebuilt.close();
      const again = await must(openLevelJournal(path));
      expect(await must(again.toolPackage(lost.digest))).toBe(lost.text);
      expect((await refusal(again.head(b))).message).toMatch(/^session b, position -1: lost/);
      expect(await must(again.head(d))).toMatchObject({ version: 0 });
      await again.close();
    }),
  );
});

/** Text of 6000 characters that does not compress. */
function randomHex(seed: number): () => string {
  const below = numbersFrom(seed);
  return () => Array.from({ length: 6_000 }, () => below(16).toString(16)).join('');
}

/** Flips a bit in the middle of a text, in the one file of the journal in use that holds it. */
async function flipInside(path: string, text: string): Promise<void> {
  const sought = text.slice(2_000, 2_024);
  const tables = (await liveTables(path)).map(({ name }) => name);
  const logs = (await storedFiles(path, /\.log$/)).map(({ name }) => name);
  const holding: [string, number][] = [];
  for (const name of [...tables, ...logs]) {
    const at = (await readFile(join(path, name))).indexOf(sought);
    if (at !== -1) holding.push([name, at]);
  }
  expect(holding).toHaveLength(1);
  const [[name, at] = ['', 0]] = holding;
  await flipBit(join(path, name), at, 2);
}

describe('a damaged journal on a full disk', () => {
  test('is refused and unchanged, and is rebuilt once there is space', { timeout: 60_000 }, async (context) => {
    const disk = await mountSmallDisk('12m');
    if ('reason' in disk) {
      context.skip(disk.reason);
      return;
    }
    try {
      const path = join(disk.directory, 'journal');
      const [large, small] = [session('large'), session('small')];
      const journal = await must(openLevelJournal(path));
      for (const id of [large, small]) await must(createSample(journal, id));
      await must(journal.append(small, [commitAt(0, 'e')], idleHead));
      for (let at = 0; at < 40; at += 1) {
        const text = randomBytes(50_000).toString('hex');
        await must(journal.append(large, [commitWith(at, [storedEvent(`l${at}`, text)])], idleHead));
      }
      await journal.close();
      await (await must(openLevelJournal(path))).close();
      const [table] = await liveTables(path);
      await flipBit(join(path, table?.name ?? ''), Math.floor((table?.size ?? 0) / 2));
      const files = await storedFiles(path, TABLE);
      const reserve = join(disk.directory, 'reserve');
      await writeFile(reserve, Buffer.alloc(5 * 1_048_576)).catch(() => undefined);
      const refused = await refusal(openLevelJournal(path));
      expect(refused.code).toBe('storage_full');
      expect(refused.message).toContain('could not be rebuilt');
      expect(await storedFiles(path, TABLE)).toEqual(files);
      await rm(reserve);
      const again = await must(openLevelJournal(path));
      expect(await readAll(again, small)).toEqual([commitAt(0, 'e')]);
      expect((await refusal(again.head(large))).message).toMatch(/^session large, positions? \d+/);
      await again.close();
    } finally {
      await disk.unmount();
    }
  });
});

describe('a journal whose CURRENT is damaged', () => {
  test.each(['flipped', 'missing', 'empty'])('finds its only manifest when CURRENT is %s', (how) =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const streams = await writeManyTables(path, randomFrom(8));
      const current = join(path, 'CURRENT');
      if (how === 'flipped') await flipBit(current, 3);
      else if (how === 'missing') await rm(current);
      else await truncate(current, 0);
      const journal = await must(openLevelJournal(path));
      expect(await compareWith(journal, streams)).toEqual({ right: streams.size, damaged: 0 });
      await journal.close();
    }),
  );

  test('is rebuilt from every table and log in the directory when no manifest is usable', () =>
    inTemporaryDirectory(async (directory) => {
      for (const [index, how] of ['two', 'none', 'flipped'].entries()) {
        const path = join(directory, how);
        const streams = await writeManyTables(path, randomFrom(8 + index));
        const [manifest] = await storedFiles(path, /^MANIFEST/);
        const named = join(path, manifest?.name ?? '');
        if (how === 'flipped') await flipBit(named, 50);
        else await rm(how === 'two' ? join(path, 'CURRENT') : named);
        if (how === 'two') await writeFile(join(path, 'MANIFEST-999999'), '');
        const journal = await must(openLevelJournal(path));
        expect(journal.notices[0]).toMatch(/^(?:CURRENT|MANIFEST-\d+) of the journal was damaged/);
        expect(await compareWith(journal, streams)).toEqual({ right: streams.size, damaged: 0 });
        await appendAndReopen(path, journal, streams);
      }
    }));

  test('is refused and unchanged when a table cannot be read and no manifest states whether it was in use', () =>
    inTemporaryDirectory(async (directory) => {
      await writeManyTables(directory, randomFrom(8));
      await rm(join(directory, 'CURRENT'));
      await writeFile(join(directory, 'MANIFEST-999999'), '');
      const [table] = await storedFiles(directory, TABLE);
      await truncate(join(directory, table?.name ?? ''), 100);
      const tables = await storedFiles(directory, TABLE);
      const { code, message } = await refusal(openLevelJournal(directory));
      expect(code).toBe('damaged');
      expect(message).toContain(`${table?.name} of the journal cannot be read, and no manifest states`);
      expect(await storedFiles(directory, TABLE)).toEqual(tables);
    }));

  test('loses nothing when the last edit of its manifest looks torn because its length is damaged', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const streams = await writeManyTables(path, randomFrom(9));
      const [manifest] = await storedFiles(path, /^MANIFEST/);
      const file = join(path, manifest?.name ?? '');
      const bytes = await readFile(file);
      let last = 0;
      for (let at = 0; at < bytes.length; at += 7 + bytes.readUInt16LE(at + 4)) last = at;
      await flipBit(file, last + 5, 3);
      const journal = await must(openLevelJournal(path));
      expect(await compareWith(journal, streams)).toEqual({ right: streams.size, damaged: 0 });
      await journal.close();
    }));
});

/** Damages a table of an open store, which may merge it into another one at any moment. */
async function damageTableInUse(path: string): Promise<void> {
  for (let damaged = false; !damaged;) {
    const [table] = await liveTables(path);
    damaged =
      table !== undefined &&
      (await flipBit(join(path, table.name), 100).then(
        () => true,
        () => false,
      ));
  }
}
