// Each way in which head, records, index and genesis of a stream can disagree.
import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { META_KEY, commitKey, eventKey, genesisKey, headKey, packageKey } from '../../src/journal/keys.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { encodeNumber } from '../../src/journal/stored-numbers.ts';
import { encodeCommit, encodeHead } from '../../src/journal/stored-values.ts';
import { makeMemoryStore } from '../support/journal/memory-store.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import {
  commitAt,
  createSample,
  eventId,
  idleHead,
  owingHead,
  position,
  readAll,
  samplePackage,
  session,
  singleCommits,
  version,
} from '../support/journal/samples.ts';

const id = session('s');
const other = session('other');

/** The stream: three events as one commit each, then two commits of two events in one append. */
const stream = [...singleCommits(0, 'a', 'b', 'c'), commitAt(3, 'd', 'e'), commitAt(5, 'f', 'g')];

/** Writes this stream and one of one event, damages the stored entries, and reopens the journal. */
async function damaged(damage: (disk: Map<string, Uint8Array>) => void): Promise<Journal> {
  const store = makeMemoryStore();
  const journal = await must(openStoredJournal(store.open));
  await must(createSample(journal, id));
  await must(createSample(journal, other));
  for (const commit of stream.slice(0, 3)) await must(journal.append(id, [commit], owingHead));
  await must(journal.append(id, stream.slice(3), owingHead));
  await must(journal.append(other, [commitAt(0, 'a')], owingHead));
  await journal.close();
  damage(store.disk);
  return must(openStoredJournal(store.open));
}

const key = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
/** The key of the commit that begins at a position. */
const stored = (index: number): string => key(commitKey(id, position(index)));
const garbage = Buffer.from('83010203', 'hex');

async function expectDamaged(
  journal: Journal,
  asked: readonly ('head' | 'read' | 'append' | 'sessions')[],
): Promise<void> {
  const tasks = {
    head: journal.head(id),
    read: journal.read(id, position(0), 10),
    append: journal.append(id, [commitAt(7, 'h')], idleHead),
    sessions: journal.sessions({ limit: 1_000 }),
  };
  for (const name of asked) {
    const { code, message } = await refusal(tasks[name]);
    expect(`${name}: ${code}`).toBe(`${name}: damaged`);
    expect(message).toMatch(name === 'sessions' ? /session/ : /session s\b/);
  }
  // A damaged stream does not affect another one.
  expect(await must(journal.read(other, position(0), 10))).toEqual([commitAt(0, 'a')]);
  expect(await must(journal.append(other, [commitAt(1, 'b')], idleHead))).toBe(2);
}

describe('a damaged stream is reported as such', () => {
  test('when a commit is missing in the middle', async () => {
    const journal = await damaged((disk) => disk.delete(stored(2)));
    await expectDamaged(journal, ['read']);
    expect((await refusal(journal.read(id, position(2), 1))).message).toBe('session s has no event 2');
    // A commit of two events leaves a gap of two.
    const pair = await damaged((disk) => disk.delete(stored(3)));
    await expectDamaged(pair, ['read']);
    for (const from of [3, 4]) {
      expect((await refusal(pair.read(id, position(from), 1))).message).toBe(`session s has no event ${from}`);
    }
    expect(await must(pair.read(id, position(6), 1))).toEqual([stream.at(-1)]);
    expect(await must(journal.read(id, position(0), 2))).toEqual(stream.slice(0, 2));
  });

  test('when the last commit is missing', async () => {
    expect.hasAssertions();
    await expectDamaged(await damaged((disk) => disk.delete(stored(5))), ['head', 'read', 'append']);
  });

  test('when all commits are missing', async () => {
    expect.hasAssertions();
    const journal = await damaged((disk) => [0, 1, 2, 3, 5].map((index) => disk.delete(stored(index))));
    await expectDamaged(journal, ['head', 'read', 'append']);
  });

  test('when there are commits after the version of the head', async () => {
    const journal = await damaged((disk) => disk.set(stored(7), encodeCommit(commitAt(7, 'h'))));
    await expectDamaged(journal, ['head', 'read', 'append']);
    expect((await refusal(journal.head(id))).message).toBe(
      'the head of session s is at version 7, but its commits end at 8',
    );
  });

  test('when the last commit holds one event more or less than was appended', async () => {
    for (const ids of [['f'], ['f', 'g', 'h']]) {
      const journal = await damaged((disk) => disk.set(stored(5), encodeCommit(commitAt(5, ...ids))));
      await expectDamaged(journal, ['head', 'read', 'append']);
      expect((await refusal(journal.head(id))).message).toBe(
        `the head of session s is at version 7, but its commits end at ${5 + ids.length}`,
      );
    }
  });

  test('when a commit in the middle holds one event more or less, so that two overlap or leave a gap', async () => {
    for (const ids of [['d'], ['d', 'e', 'x']]) {
      const journal = await damaged((disk) => disk.set(stored(3), encodeCommit(commitAt(3, ...ids))));
      await expectDamaged(journal, ['read']);
      expect((await refusal(journal.read(id, position(0), 10))).message).toBe(
        `session s has no event ${3 + ids.length}`,
      );
    }
  });

  test('when there is a commit inside another one', async () => {
    const journal = await damaged((disk) => disk.set(stored(4), encodeCommit(commitAt(4, 'x'))));
    await expectDamaged(journal, ['read']);
    expect(await must(journal.read(id, position(0), 3))).toEqual(stream.slice(0, 3));
  });

  test('when there is a commit at an impossible position', async () => {
    expect.hasAssertions();
    const impossible = `ss\0${'\xff'.repeat(8)}`;
    await expectDamaged(await damaged((disk) => disk.set(impossible, garbage)), ['head', 'read', 'append']);
    await expectDamaged(await damaged((disk) => disk.set(`${stored(5)}x`, garbage)), ['head', 'read', 'append']);
  });

  test('when the head is an older one', async () => {
    expect.hasAssertions();
    const older = encodeHead({ version: version(3), ...idleHead });
    await expectDamaged(await damaged((disk) => disk.set(key(headKey(id)), older)), ['head', 'read', 'append']);
  });

  test('when the head is missing', async () => {
    const journal = await damaged((disk) => disk.delete(key(headKey(id))));
    await expectDamaged(journal, ['head', 'read', 'append', 'sessions']);
    expect((await refusal(createSample(journal, id))).code).toBe('damaged');
  });

  test('when only the genesis is left', async () => {
    const journal = await damaged((disk) => {
      for (const name of disk.keys()) if (name === key(headKey(id)) || name.startsWith('ss\0')) disk.delete(name);
    });
    await expectDamaged(journal, ['head', 'read', 'append', 'sessions']);
    expect((await refusal(createSample(journal, id))).code).toBe('damaged');
  });

  test('when the head does not decode', async () => {
    expect.hasAssertions();
    const journal = await damaged((disk) => disk.set(key(headKey(id)), garbage));
    await expectDamaged(journal, ['head', 'read', 'append']);
    // The list names it: it must not hide the others.
    const { sessions } = await must(journal.sessions({ limit: 9 }));
    expect(sessions.map(({ session_id, card }) => `${session_id} ${card.title}`)).toContain(
      `${id} damaged: its head cannot be read`,
    );
    expect(sessions).toHaveLength(2);
  });

  test('when a commit does not decode', async () => {
    const journal = await damaged((disk) => disk.set(stored(3), garbage));
    expect((await refusal(journal.read(id, position(0), 10))).message).toBe(
      'the commit at position 3 of session s does not decode',
    );
    expect((await refusal(journal.read(id, position(4), 1))).message).toContain('position 3 of session s');
    await expectDamaged(journal, ['read']);
  });

  test('when the genesis is missing or does not decode', async () => {
    const missing = await damaged((disk) => disk.delete(key(genesisKey(id))));
    expect(await outcome(missing.genesis(id))).toBe('damaged');
    const wrong = await damaged((disk) => disk.set(key(genesisKey(id)), garbage));
    expect(await outcome(wrong.genesis(id))).toBe('damaged');
  });

  test('when the index leads to an event that is missing', async () => {
    const hole = await damaged((disk) => disk.delete(stored(2)));
    expect(await outcome(hole.find(id, eventId('c')))).toBe('damaged');
  });

  test('when a missing event is appended again, which does not affect another stream', async () => {
    const hole = await damaged((disk) => disk.delete(stored(2)));
    const [again, beside] = await Promise.all([
      outcome(hole.append(id, [commitAt(7, 'c')], idleHead)),
      outcome(hole.append(other, [commitAt(1, 'b')], idleHead)),
    ]);
    expect([again, beside]).toEqual(['version_conflict', 'done']);
  });

  test('when the store is not a journal, or has another layout', async () => {
    const attempts: readonly [(disk: Map<string, Uint8Array>) => void, string][] = [
      [(disk) => disk.delete(key(META_KEY)), 'damaged: '],
      [(disk) => disk.set(key(META_KEY), garbage), 'damaged: '],
      [(disk) => disk.set(key(META_KEY), Buffer.from('820402', 'hex')), 'storage_failed: the journal has layout 4'],
      [(disk) => disk.set('zebra', garbage).delete(key(META_KEY)), 'damaged: '],
    ];
    for (const [damage, message] of attempts) await expect(damaged(damage)).rejects.toThrow(message);
  });
});

describe('a lost tool package', () => {
  const packageAt = key(packageKey(samplePackage.digest));

  test('is refused as damaged with a next step, when it is missing or does not decode', async () => {
    for (const damage of [
      (disk: Map<string, Uint8Array>) => disk.delete(packageAt),
      (disk: Map<string, Uint8Array>) => disk.set(packageAt, garbage),
    ]) {
      const journal = await damaged(damage);
      const { code, message } = await refusal(journal.toolPackage(samplePackage.digest));
      expect(code).toBe('damaged');
      expect(message).toContain(samplePackage.digest);
      // The streams themselves are whole.
      expect(await readAll(journal, id)).toEqual(stream);
    }
    const missing = await damaged((disk) => disk.delete(packageAt));
    expect((await refusal(missing.toolPackage(samplePackage.digest))).message).toContain('restore the data directory');
  });

  test('is stored again with the next session that names it', async () => {
    const journal = await damaged((disk) => disk.delete(packageAt));
    await must(createSample(journal, session('next')));
    expect(await must(journal.toolPackage(samplePackage.digest))).toBe(samplePackage.text);
  });
});

describe('a wrong index entry', () => {
  test('costs time only: stored event ids are found at their position, and others are not found', async () => {
    for (const value of [garbage, encodeNumber(3), encodeNumber(4), encodeNumber(7), new Uint8Array()]) {
      const journal = await damaged((disk) => {
        disk.set(key(eventKey(id, eventId('c'))), value);
        // As if another id had the same hash as an id in the stream.
        disk.set(key(eventKey(id, eventId('other'))), encodeNumber(2));
      });
      expect(await must(journal.find(id, eventId('c')))).toBe(2);
      expect(await must(journal.find(id, eventId('other')))).toBeNull();
      expect(await outcome(journal.append(id, [commitAt(7, 'c')], idleHead))).toBe('version_conflict');
      const later = [commitAt(7, 'h'), commitAt(8, 'i', 'other')];
      expect(await must(journal.append(id, later, idleHead))).toBe(10);
      expect(await must(journal.find(id, eventId('other')))).toBe(9);
    }
  });
});
