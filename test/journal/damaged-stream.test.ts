// Each way in which head, records, index and genesis of a stream can disagree.
import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { META_KEY, eventKey, genesisKey, headKey, stretchKey } from '../../src/journal/keys.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { encodeNumber } from '../../src/journal/stored-numbers.ts';
import { encodeHead, encodeStretch } from '../../src/journal/stored-values.ts';
import { makeMemoryStore } from '../support/journal/memory-store.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import { eventId, position, recordOf, recordsOf, session, version } from '../support/journal/samples.ts';

const id = session('s');
const other = session('other');

/** Writes a stream of five events and one of one, damages the stored entries, and reopens the journal. */
async function damaged(damage: (disk: Map<string, Uint8Array>) => void): Promise<Journal> {
  const store = makeMemoryStore();
  const journal = await must(openStoredJournal(store.open));
  await must(journal.create(id, '{}'));
  await must(journal.create(other, '{}'));
  for (const [at, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    await must(journal.append(id, version(at), recordsOf(name), true));
  }
  await must(journal.append(other, version(0), recordsOf('a'), true));
  await journal.close();
  damage(store.disk);
  return must(openStoredJournal(store.open));
}

const key = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const record = (index: number): string => key(stretchKey(id, position(index)));
const garbage = Buffer.from('83010203', 'hex');

async function expectDamaged(
  journal: Journal,
  asked: readonly ('head' | 'read' | 'append' | 'sessions')[],
): Promise<void> {
  const tasks = {
    head: journal.head(id),
    read: journal.read(id, position(0), 10),
    append: journal.append(id, version(5), recordsOf('f'), false),
    sessions: journal.sessions(),
  };
  for (const name of asked) {
    const { code, message } = await refusal(tasks[name]);
    expect(`${name}: ${code}`).toBe(`${name}: damaged`);
    expect(message).toMatch(name === 'sessions' ? /session/ : /session s\b/);
  }
  // A damaged stream does not affect another one.
  expect(await must(journal.read(other, position(0), 10))).toEqual(recordsOf('a'));
  expect(await must(journal.append(other, version(1), recordsOf('b'), false))).toBe(2);
}

describe('a damaged stream is reported as such', () => {
  test('when a record is missing in the middle', async () => {
    const journal = await damaged((disk) => disk.delete(record(2)));
    await expectDamaged(journal, ['read']);
    expect((await refusal(journal.read(id, position(2), 1))).message).toBe('session s has no record 2');
    expect(await must(journal.read(id, position(0), 2))).toEqual(recordsOf('a', 'b'));
  });

  test('when the last record is missing', async () => {
    expect.hasAssertions();
    await expectDamaged(await damaged((disk) => disk.delete(record(4))), ['head', 'read', 'append']);
  });

  test('when all records are missing', async () => {
    expect.hasAssertions();
    const journal = await damaged((disk) => [0, 1, 2, 3, 4].map((index) => disk.delete(record(index))));
    await expectDamaged(journal, ['head', 'read', 'append']);
  });

  test('when there are records after the version of the head', async () => {
    const journal = await damaged((disk) => disk.set(record(5), encodeStretch([recordOf('f')])));
    await expectDamaged(journal, ['head', 'read', 'append']);
    expect((await refusal(journal.head(id))).message).toBe(
      'the head of session s is at version 5, but its records end at 6',
    );
  });

  test('when there is a record at an impossible position', async () => {
    expect.hasAssertions();
    const impossible = `ss\0${'\xff'.repeat(8)}`;
    await expectDamaged(await damaged((disk) => disk.set(impossible, garbage)), ['head', 'read', 'append']);
    await expectDamaged(await damaged((disk) => disk.set(`${record(4)}x`, garbage)), ['head', 'read', 'append']);
  });

  test('when the head is an older one', async () => {
    expect.hasAssertions();
    const older = encodeHead({ version: version(3), owing: false });
    await expectDamaged(await damaged((disk) => disk.set(key(headKey(id)), older)), ['head', 'read', 'append']);
  });

  test('when the head is missing', async () => {
    const journal = await damaged((disk) => disk.delete(key(headKey(id))));
    await expectDamaged(journal, ['head', 'read', 'append', 'sessions']);
    expect((await refusal(journal.create(id, '{}'))).code).toBe('damaged');
  });

  test('when only the genesis is left', async () => {
    const journal = await damaged((disk) => {
      for (const name of disk.keys()) if (name === key(headKey(id)) || name.startsWith('ss\0')) disk.delete(name);
    });
    await expectDamaged(journal, ['head', 'read', 'append', 'sessions']);
    expect((await refusal(journal.create(id, '{}'))).code).toBe('damaged');
  });

  test('when the head does not decode', async () => {
    expect.hasAssertions();
    const journal = await damaged((disk) => disk.set(key(headKey(id)), garbage));
    await expectDamaged(journal, ['head', 'read', 'append', 'sessions']);
  });

  test('when a record does not decode', async () => {
    const journal = await damaged((disk) => disk.set(record(3), garbage));
    expect((await refusal(journal.read(id, position(0), 10))).message).toBe('record 3 of session s does not decode');
    await expectDamaged(journal, ['read']);
  });

  test('when the genesis is missing or does not decode', async () => {
    const missing = await damaged((disk) => disk.delete(key(genesisKey(id))));
    expect(await outcome(missing.genesis(id))).toBe('damaged');
    const wrong = await damaged((disk) => disk.set(key(genesisKey(id)), garbage));
    expect(await outcome(wrong.genesis(id))).toBe('damaged');
  });

  test('when the index leads to an event that is missing', async () => {
    const hole = await damaged((disk) => disk.delete(record(2)));
    expect(await outcome(hole.find(id, eventId('c')))).toBe('damaged');
  });

  test('when a missing event is appended again, which does not affect another stream', async () => {
    const hole = await damaged((disk) => disk.delete(record(2)));
    const [again, beside] = await Promise.all([
      outcome(hole.append(id, version(5), recordsOf('c'), false)),
      outcome(hole.append(other, version(1), recordsOf('b'), false)),
    ]);
    expect([again, beside]).toEqual(['version_conflict', 'done']);
  });

  test('when the store is not a journal, or has another layout', async () => {
    const attempts: readonly [(disk: Map<string, Uint8Array>) => void, string][] = [
      [(disk) => disk.delete(key(META_KEY)), 'damaged: '],
      [(disk) => disk.set(key(META_KEY), garbage), 'damaged: '],
      [(disk) => disk.set(key(META_KEY), Buffer.from('820302', 'hex')), 'storage_failed: the journal has layout 3'],
      [(disk) => disk.set('zebra', garbage).delete(key(META_KEY)), 'damaged: '],
    ];
    for (const [damage, message] of attempts) await expect(damaged(damage)).rejects.toThrow(message);
  });
});

describe('a wrong index entry', () => {
  test('costs time only: stored event ids are found at their position, and others are not found', async () => {
    for (const value of [garbage, encodeNumber(3), encodeNumber(5), new Uint8Array()]) {
      const journal = await damaged((disk) => {
        disk.set(key(eventKey(id, eventId('c'))), value);
        // As if another id had the same hash as an id in the stream.
        disk.set(key(eventKey(id, eventId('other'))), encodeNumber(2));
      });
      expect(await must(journal.find(id, eventId('c')))).toBe(2);
      expect(await must(journal.find(id, eventId('other')))).toBeNull();
      expect(await outcome(journal.append(id, version(5), recordsOf('c'), false))).toBe('version_conflict');
      expect(await must(journal.append(id, version(5), recordsOf('other'), false))).toBe(6);
      expect(await must(journal.find(id, eventId('other')))).toBe(5);
    }
  });
});
