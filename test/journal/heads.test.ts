// Heads and their indexes, in every adapter; and what damage to the indexes leads to.
import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SESSIONS_EXAMINED_MAX } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { headKey, owingKey } from '../../src/journal/keys.ts';
import { verifyLevelFiles } from '../../src/journal/level/verify-files.ts';
import { sessionsWritten } from '../../src/journal/level/write-batch.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { openMemorySnapshots } from '../../src/journal/memory-snapshots.ts';
import { readSessions } from '../../src/journal/session-pages.ts';
import type { StoreView } from '../../src/journal/store.ts';
import { encodeHead } from '../../src/journal/stored-values.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { appendFacts, headWith, headsContract, wakesOf } from '../support/journal/heads-contract.ts';
import { flipBit, liveTables } from '../support/journal/many-tables.ts';
import { makeMemoryStore } from '../support/journal/memory-store.ts';
import { createSample, idleHead, session, version } from '../support/journal/samples.ts';
import { inTemporaryDirectory, temporaryDirectory } from '../support/journal/temporary-directory.ts';
import { randomFrom } from '../support/random.ts';

headsContract('the journal in memory', async () => {
  const journal = openMemoryJournal();
  return { journal, reopen: async () => journal, dispose: () => journal.close() };
});

headsContract('the stored journal on a store in memory', async () => {
  const { open } = makeMemoryStore();
  const snapshots = openMemorySnapshots();
  let journal = await must(openStoredJournal(open, snapshots));
  const reopen = async (): Promise<typeof journal> => {
    await journal.close();
    journal = await must(openStoredJournal(open, snapshots));
    return journal;
  };
  return { journal, reopen, dispose: () => journal.close() };
});

headsContract('the journal on LevelDB', async () => {
  const { directory, remove } = await temporaryDirectory();
  let journal = await must(openLevelJournal(directory));
  const reopen = async (): Promise<typeof journal> => {
    await journal.close();
    journal = await must(openLevelJournal(directory));
    return journal;
  };
  const dispose = async (): Promise<void> => {
    await journal.close();
    await remove();
  };
  return { journal, reopen, dispose };
});

const unused = (): never => {
  throw new Error('not asked');
};
const UNUSED: StoreView = { get: unused, getMany: unused, scan: unused };

describe('a page of sessions', () => {
  test('examines a bounded number of heads, and says where to continue', async () => {
    const value = encodeHead({ ...idleHead, version: version(0) });
    const idAt = (index: number) => session(`s${String(index).padStart(6, '0')}`);
    const all = Array.from({ length: SESSIONS_EXAMINED_MAX + 5 }, (_, index) => ({ key: headKey(idAt(index)), value }));
    let read = 0;
    const view: StoreView = {
      ...UNUSED,
      scan: async ({ gte }, { limit }) => {
        const from = all.findIndex(({ key }) => Buffer.compare(key, gte) >= 0);
        const found = from === -1 ? [] : all.slice(from, from + (limit ?? all.length));
        read += found.length;
        return found;
      },
    };
    const first = await readSessions(view, { limit: 10, owing: false, status: 'paused' });
    expect(first).toEqual({ sessions: [], next: idAt(SESSIONS_EXAMINED_MAX - 1) });
    expect(read).toBe(SESSIONS_EXAMINED_MAX);
    const after = first.next ?? undefined;
    if (after === undefined) throw new Error('no next page');
    expect(await readSessions(view, { limit: 10, status: 'paused', after })).toEqual({ sessions: [], next: null });
  });

  test('of those that owe reads no other head', async () => {
    const read: string[] = [];
    const { open, disk } = makeMemoryStore();
    const journal = await must(openStoredJournal(open));
    for (const id of ['a', 'b', 'c']) await must(createSample(journal, session(id)));
    await appendFacts(journal, session('b'), 0, { owing: true, wake_at_ms: null, status: 'running' });
    const view: StoreView = {
      ...UNUSED,
      scan: async ({ gte, lt }) => {
        const keys = [...disk.keys()].filter(
          (key) => key >= Buffer.from(gte).toString('latin1') && key < Buffer.from(lt).toString('latin1'),
        );
        read.push(...keys);
        return keys.map((key) => ({ key: Buffer.from(key, 'latin1'), value: new Uint8Array() }));
      },
      getMany: async (keys) => {
        const names = keys.map((key) => Buffer.from(key).toString('latin1'));
        read.push(...names);
        return names.map((name) => disk.get(name));
      },
    };
    const { sessions } = await readSessions(view, { limit: 10, owing: true });
    expect(sessions.map(({ session_id }) => session_id)).toEqual(['b']);
    expect(read).toEqual(['ob', 'vb']);
  });
});

describe('an index that is damaged', () => {
  const SESSIONS = 300;

  test.each(['o', 'w'])('(letter %s) is rebuilt from the heads', async (letter) => {
    await inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'journal');
      const random = randomFrom(3);
      // Long random ids, so that the index fills blocks of its own.
      const noise = (): string => Array.from({ length: 50 }, () => 'abcdefghijklmnop'[random.below(16)]).join('');
      const ids = Array.from({ length: SESSIONS }, (_, index) => session(`${noise()}-${index}`));
      const journal = await must(openLevelJournal(directory));
      await Promise.all(ids.map((id) => createSample(journal, id)().then(() => undefined)));
      await Promise.all(
        ids.map((id, index) =>
          appendFacts(journal, id, 0, { owing: index % 2 === 0, wake_at_ms: index, status: 'running' }),
        ),
      );
      const truth = await must(journal.sessions({ limit: 1_000 }));
      await journal.close();
      // The next opening writes the log to a table.
      await (await must(openLevelJournal(directory))).close();
      await damageOnly(directory, letter);
      const rebuilt = await must(openLevelJournal(directory));
      expect(rebuilt.notices.join()).toContain('every session is whole');
      expect(await must(rebuilt.sessions({ limit: 1_000 }))).toEqual(truth);
      const owing = (await must(rebuilt.sessions({ limit: 1_000, owing: true }))).sessions;
      expect(owing).toEqual(truth.sessions.filter((one) => one.owing));
      expect(await wakesOf(rebuilt, SESSIONS, 1_000)).toEqual(ids.map((id, index) => `${id} ${index}`));
      await rebuilt.close();
    });
  });

  /** Damages a block of a table in which all keys begin with this letter. */
  async function damageOnly(directory: string, letter: string): Promise<void> {
    for (const { name, size } of await liveTables(directory)) {
      for (let offset = 0; offset < size; offset += 1_024) {
        const path = join(directory, name);
        await flipBit(path, offset);
        const { lost } = await verifyLevelFiles(directory);
        const isIndex = (key: Buffer): boolean => key.toString('latin1', 0, 1) === letter;
        if (lost.length > 0 && lost.every(({ first, last }) => isIndex(first) && isIndex(last))) return;
        await flipBit(path, offset);
      }
    }
    throw new Error(`no block has only keys of ${letter}`);
  }
});

test('the sessions of a torn batch are found behind a deletion', () => {
  const sized = (key: Uint8Array): Buffer => Buffer.concat([Buffer.of(key.length), key]);
  const put = (key: Uint8Array): Buffer => Buffer.concat([Buffer.of(1), sized(key), sized(Buffer.of(7))]);
  const removal = (key: Uint8Array): Buffer => Buffer.concat([Buffer.of(0), sized(key)]);
  const torn = Buffer.concat([
    Buffer.alloc(12),
    put(headKey(session('a'))),
    removal(owingKey(session('a'))),
    put(headKey(session('b'))),
    Buffer.of(1, 9),
  ]);
  expect(sessionsWritten(torn)).toEqual(['a', 'b']);
});

test('the facts of a head survive their stored form', async () => {
  const { open } = makeMemoryStore();
  const journal = await must(openStoredJournal(open));
  const id = session('s');
  await must(createSample(journal, id));
  const facts = headWith({ owing: true, wake_at_ms: 8_640_000_000_000_000, status: 'requires_action' });
  await must(journal.restate(id, version(0), facts));
  expect(await must(journal.head(id))).toEqual({ session_id: id, version: 0, ...facts });
  expect(await wakesOf(journal, 8_640_000_000_000_000)).toEqual(['s 8640000000000000']);
});
