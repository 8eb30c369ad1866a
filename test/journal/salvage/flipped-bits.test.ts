// Flips one bit somewhere in the stored files. For most flips LevelDB alone returns wrong values or drops acknowledged
// writes without an error, and for some it ends the process; a journal verifies its tables and its log when it opens.
import { cp, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionId } from '../../../schemas/ids.ts';
import type { RejectionCode } from '../../../schemas/rejection.ts';
import { must } from '../../../src/client/must.ts';
import type { Journal, JournalCommit } from '../../../src/journal/journal.ts';
import { COMMIT_LETTER, GENESIS_LETTER, PACKAGE_LETTER } from '../../../src/journal/keys.ts';
import { spansInclude, userKey } from '../../../src/journal/level/key-spans.ts';
import { readTable } from '../../../src/journal/level/table.ts';
import { verifyLevelFiles } from '../../../src/journal/level/verify-files.ts';
import { openLevelJournal } from '../../../src/journal/level-journal.ts';
import {
  commitAt,
  createSample,
  eventId,
  genesisNaming,
  idleHead,
  lengthOf,
  numbersFrom,
  owingHead,
  position,
  samplePackage,
  session,
} from '../../support/journal/samples.ts';
import { removeUnusedTables } from '../../support/journal/many-tables.ts';
import { inTemporaryDirectory, temporaryDirectory } from '../../support/journal/temporary-directory.ts';
import { roundsOf } from '../../support/random.ts';

const FLIPS = roundsOf(6, 200);
const SESSIONS = ['a', 'b', 'c'].map(session);
const SEGMENT = 40;
const EVENTS = 3 * SEGMENT;

/** Writes a journal of two tables (each further opening writes one) and a log. */
async function writeJournal(directory: string): Promise<void> {
  for (let from = 0; from < EVENTS; from += SEGMENT) {
    const journal = await must(openLevelJournal(directory));
    for (const id of SESSIONS) {
      if (from === 0) await must(createSample(journal, id, genesisNaming(id, samplePackage)));
      for (let at = from; at < from + SEGMENT; at += 4) {
        const ids = [0, 1, 2, 3].map((n) => `${id}-${at + n}`);
        await must(journal.append(id, [commitAt(at, ...ids.slice(0, 1)), commitAt(at + 1, ...ids.slice(1))], idleHead));
      }
    }
    await journal.close();
  }
  await removeUnusedTables(directory);
}

interface StoredFile {
  readonly name: string;
  readonly size: number;
}

async function filesOf(directory: string, pattern: RegExp): Promise<readonly StoredFile[]> {
  const names = (await readdir(directory)).filter((name) => pattern.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ name, size: (await stat(join(directory, name))).size })));
}

async function flipBit(path: string, offset: number, bit: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[offset] = (bytes[offset] ?? 0) ^ (1 << bit);
  await writeFile(path, bytes);
}

/** What became of a damaged journal: refused as a whole, opened with some refusals, or without any. */
type Ending = 'unopened' | 'refused' | 'right';

/** Opens a journal and reads all of it; fails the test when it returns anything that was never written. */
async function readDamaged(directory: string): Promise<Ending> {
  const opened = await openLevelJournal(directory)();
  if (isLeft(opened)) {
    expect(['damaged', 'storage_failed']).toContain(opened.left.code);
    return 'unopened';
  }
  const journal = opened.right;
  const refused: RejectionCode[] = [];
  const listed = await journal.sessions({ limit: 1_000 })();
  if (isLeft(listed)) refused.push(listed.left.code);
  for (const id of SESSIONS) refused.push(...(await readStream(journal, id)));
  const appended = await journal.append(session('a'), [commitAt(EVENTS, 'new')], owingHead)();
  if (isLeft(appended)) refused.push(appended.left.code);
  await journal.close();
  // A session whose head is lost is unknown; an append to a stream that lost its last events conflicts.
  for (const code of refused) expect(['damaged', 'unknown_session', 'version_conflict']).toContain(code);
  return refused.length > 0 ? 'refused' : 'right';
}

async function readStream(journal: Journal, id: SessionId): Promise<readonly RejectionCode[]> {
  const [genesis, head, found, read] = [
    await journal.genesis(id)(),
    await journal.head(id)(),
    await journal.find(id, eventId(`${id}-7`))(),
    await journal.read(id, position(0), EVENTS + 10)(),
  ];
  const answers = [genesis, head, found, read];
  const refused = answers.flatMap((answer) => (isLeft(answer) ? [answer.left.code] : []));
  expect([genesisNaming(id, samplePackage)]).toContain(
    isLeft(genesis) ? genesisNaming(id, samplePackage) : genesis.right,
  );
  // A session whose package is lost is refused as a whole.
  if (!isLeft(genesis)) expect(await must(journal.toolPackage(samplePackage.digest))).toBe(samplePackage.text);
  expect([7, null]).toContain(isLeft(found) ? 7 : found.right);
  const commits = isLeft(read) ? [] : read.right;
  const expected = (commit: JournalCommit): JournalCommit =>
    commitAt(commit.position, ...commit.events.map((_, index) => `${id}-${commit.position + index}`));
  expect(commits).toEqual(commits.map(expected));
  const events = lengthOf(commits);
  expect(events).toBe(isLeft(read) || isLeft(head) ? events : head.right.version);
  return refused;
}

let fixture: Awaited<ReturnType<typeof temporaryDirectory>>;

beforeAll(async () => {
  fixture = await temporaryDirectory();
  await writeJournal(fixture.directory);
});

afterAll(async () => {
  await fixture.remove();
});

/** The letters of the keys that nothing can be derived from: genesis texts, tool packages and commits. */
const UNDERIVED = new Set([GENESIS_LETTER, PACKAGE_LETTER, COMMIT_LETTER]);
/** The end of a table: two handles, padding, and a mark of eight bytes. */
const FOOTER = { bytes: 48, mark: 8 };

/** The keys that a damaged copy of a table lost, without those that its last undamaged block before a damaged one ends with. */
async function lostKeys(copy: string, name: string): Promise<readonly Uint8Array[] | null> {
  const { faults, lost } = await verifyLevelFiles(copy);
  if (faults.length === 0) return null;
  const keys = [...readTable(await readFile(join(fixture.directory, name)))].map(({ key }) => userKey(key));
  return keys.filter((key) => spansInclude(lost, key) && !lost.some(({ first }) => first.equals(key)));
}

/** Expects that the journal noticed a flipped bit of a table, and lost nothing if it answers everything. */
async function expectNoticed(copy: string, { name, size }: StoredFile, offset: number): Promise<(as: Ending) => void> {
  const keys = await lostKeys(copy, name);
  if (keys === null) {
    // Only the padding between the handles and the mark has no checksum, and no meaning.
    expect(offset).toBeGreaterThanOrEqual(size - FOOTER.bytes);
    expect(offset).toBeLessThan(size - FOOTER.mark);
  }
  const letters = new Set((keys ?? []).map((key) => String.fromCodePoint(key[0] ?? 0)));
  return (ending) => {
    expect(ending).toBe([...letters].some((letter) => UNDERIVED.has(letter)) ? 'refused' : 'right');
  };
}

/** Flips bits in files of one kind, each in a fresh copy of the journal, and counts the endings. */
async function flipBits(pattern: RegExp, flips: number): Promise<Readonly<Record<Ending, number>>> {
  return inTemporaryDirectory(async (directory) => {
    const intact = fixture.directory;
    // A table that was merged into another one may still exist; damage to it loses nothing.
    const live = new Set((await verifyLevelFiles(intact)).tables.map(({ name }) => name));
    const files = (await filesOf(intact, pattern)).filter(({ name }) => !name.endsWith('.ldb') || live.has(name));
    expect(files.length).toBeGreaterThan(0);
    const below = numbersFrom(7_190);
    const endings = { unopened: 0, refused: 0, right: 0 };
    for (let flip = 0; flip < flips; flip += 1) {
      const copy = join(directory, `flip-${flip}`);
      await cp(intact, copy, { recursive: true });
      const file = files[below(files.length)] ?? { name: '', size: 0 };
      const offset = below(file.size);
      await flipBit(join(copy, file.name), offset, below(8));
      const expectEnding = live.has(file.name) ? await expectNoticed(copy, file, offset) : null;
      const ending = await readDamaged(copy);
      expectEnding?.(ending);
      endings[ending] += 1;
    }
    process.stdout.write(`flipped bits in ${pattern.source}: ${JSON.stringify(endings)}\n`);
    return endings;
  });
}

describe('a journal with one flipped bit', () => {
  test(`refuses what a table lost and returns the rest, for ${FLIPS} flipped bits`, async () => {
    // About a quarter of the bits is in blocks of heads and indexes, which the rebuild derives again: `expectNoticed` says of
    // each bit which ending it must have.
    const { unopened, refused } = await flipBits(/\.ldb$/, FLIPS);
    expect(unopened).toBe(0);
    expect(refused).toBeGreaterThan(0);
  });

  test(`names what its log lost and returns the rest, for ${FLIPS} flipped bits`, async () => {
    const { unopened, refused } = await flipBits(/\.log$/, FLIPS);
    expect(unopened).toBe(0);
    // A record with a flipped bit in its length is still read, and a flipped bit in padding has no effect.
    expect(refused).toBeGreaterThan(FLIPS * 0.9);
  });

  test(`returns everything written when its manifest is damaged, for ${FLIPS / 2} flipped bits`, async () => {
    expect(await flipBits(/^(MANIFEST-\d+|CURRENT)$/, FLIPS / 2)).toEqual({
      unopened: 0,
      refused: 0,
      right: FLIPS / 2,
    });
  });
});
