// The contract of the journal port. Every adapter runs this suite.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EVENTS_PER_APPEND_MAX, READ_PAGE_RECORDS, SNAPSHOTS_KEPT } from '../../../schemas/limits.ts';
import { InvariantError } from '../../../schemas/rejection.ts';
import { must } from '../../../src/client/must.ts';
import type { Journal } from '../../../src/journal/journal.ts';
import { journalCommands } from './journal-model.ts';
import { outcome, refusal } from './outcomes.ts';
import { eventId, position, readAll, readIds, recordOf, recordsOf, session, snapshotOf, version } from './samples.ts';

export interface OpenedJournal {
  readonly journal: Journal;
  /** Closes the journal and opens it again; a journal in memory returns itself. */
  readonly reopen: () => Promise<Journal>;
  readonly dispose: () => Promise<void>;
}

interface ContractOptions {
  /** How many random command sequences are compared with the model. */
  readonly modelRuns: number;
}

type Open = () => Promise<OpenedJournal>;

export function journalContract(name: string, open: Open, { modelRuns }: ContractOptions): void {
  const withJournal = (work: (opened: OpenedJournal) => Promise<void>) => async (): Promise<void> => {
    const opened = await open();
    try {
      await work(opened);
    } finally {
      await opened.dispose();
    }
  };

  describe(`${name} keeps the journal contract`, () => {
    describe('one stream', () => {
      streamTests(withJournal);
    });
    describe('appends', () => {
      appendTests(withJournal);
    });
    describe('snapshots', () => {
      snapshotTests(withJournal);
    });
    describe('at scale', () => {
      scaleTests(withJournal);
    });

    test('answers like the model, for random sequences of requests', async () => {
      expect.hasAssertions();
      await fc.assert(
        fc.asyncProperty(journalCommands, async (commands) => {
          const opened = await open();
          try {
            const subject = { journal: opened.journal, reopen: opened.reopen };
            await fc.asyncModelRun(() => ({ model: new Map(), real: subject }), commands);
          } finally {
            await opened.dispose();
          }
        }),
        { numRuns: modelRuns },
      );
    });
  });
}

type WithJournal = (work: (opened: OpenedJournal) => Promise<void>) => () => Promise<void>;

function streamTests(withJournal: WithJournal): void {
  test(
    'is created once, with its genesis, without events and owing no effects',
    withJournal(async ({ journal }) => {
      const id = session('one');
      await must(journal.create(id, '{"genesis":"ä"}'));
      expect((await refusal(journal.create(id, 'another'))).code).toBe('session_exists');
      expect(await must(journal.genesis(id))).toBe('{"genesis":"ä"}');
      expect(await must(journal.head(id))).toEqual({ session_id: id, version: 0, owing: false });
      expect(await must(journal.read(id, position(0), 10))).toEqual([]);
    }),
  );

  test(
    'is unknown before it is created',
    withJournal(async ({ journal }) => {
      const id = session('none');
      const asked = [
        journal.genesis(id),
        journal.append(id, version(0), recordsOf('e'), false),
        journal.read(id, position(0), 1),
        journal.head(id),
        journal.find(id, eventId('e')),
      ];
      for (const task of asked) expect((await refusal(task)).code).toBe('unknown_session');
      expect(await must(journal.sessions())).toEqual([]);
    }),
  );

  test(
    'is created by exactly one of many concurrent requests',
    withJournal(async ({ journal }) => {
      const id = session('raced');
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => outcome(journal.create(id, `by ${n}`))));
      expect(answers.filter((answer) => answer === 'done')).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'session_exists')).toHaveLength(19);
      expect(await must(journal.genesis(id))).toBe(`by ${answers.indexOf('done')}`);
    }),
  );

  test(
    'returns exactly what was appended, also after a reopening',
    withJournal(async ({ journal, reopen }) => {
      const id = session('kept');
      const texts = ['', '{}', '"\\u0000"', 'ü€𝄞', ' ', 'x'.repeat(70_000), '€'.repeat(70_000)];
      const records = texts.map((text, n) => recordOf(`event-${n}`, text));
      await must(journal.create(id, '{}'));
      await must(journal.append(id, version(0), records, true));
      expect(await readAll(journal, id, 2)).toEqual(records);
      const again = await reopen();
      expect(await readAll(again, id, 3)).toEqual(records);
      expect(await must(again.head(id))).toEqual({ session_id: id, version: records.length, owing: true });
      expect(await must(again.sessions())).toEqual([{ session_id: id, version: records.length, owing: true }]);
      expect(await must(again.find(id, eventId('event-3')))).toBe(3);
      expect(await must(again.genesis(id))).toBe('{}');
    }),
  );

  test(
    'is not mixed with streams whose ids share a prefix',
    withJournal(async ({ journal }) => {
      const ids = ['s', 's-', 's.', 's0', 'S', 's_s', 's.0'].map(session);
      for (const id of ids) await must(journal.create(id, `genesis of ${id}`));
      for (const id of ids)
        await must(journal.append(id, version(0), recordsOf(`${id}-0`, 'shared', `${id}-2`), false));
      for (const id of ids) {
        expect(await readIds(journal, id)).toEqual([`${id}-0`, 'shared', `${id}-2`]);
        expect(await must(journal.genesis(id))).toBe(`genesis of ${id}`);
        expect(await must(journal.find(id, eventId('shared')))).toBe(1);
        expect(await must(journal.find(id, eventId('s-0')))).toBe(id === 's' ? 0 : null);
      }
      const listed = await must(journal.sessions());
      expect(listed.map(({ session_id }) => session_id)).toEqual([...ids].sort());
    }),
  );

  test(
    'is read in pages of at most READ_PAGE_RECORDS',
    withJournal(async ({ journal }) => {
      const id = session('paged');
      await must(journal.create(id, '{}'));
      const count = READ_PAGE_RECORDS + 24;
      for (let at = 0; at < count; at += EVENTS_PER_APPEND_MAX) {
        const size = Math.min(EVENTS_PER_APPEND_MAX, count - at);
        const records = Array.from({ length: size }, (_, n) => recordOf(`e${at + n}`));
        expect(await must(journal.append(id, version(at), records, false))).toBe(at + size);
      }
      expect(await must(journal.read(id, position(0), 10 * count))).toHaveLength(READ_PAGE_RECORDS);
      expect(await must(journal.read(id, position(READ_PAGE_RECORDS), count))).toHaveLength(24);
      expect(await must(journal.read(id, position(count), 1))).toEqual([]);
      expect(await must(journal.read(id, position(count + 5), 1))).toEqual([]);
      expect(await readIds(journal, id)).toEqual(Array.from({ length: count }, (_, n) => `e${n}`));
    }),
  );

  test(
    'refuses every request after closing, and may be closed twice',
    withJournal(async ({ journal }) => {
      const id = session('closed');
      await must(journal.create(id, '{}'));
      await journal.close();
      await journal.close();
      const asked = [
        journal.create(session('other'), '{}'),
        journal.genesis(id),
        journal.append(id, version(0), recordsOf('e'), false),
        journal.read(id, position(0), 1),
        journal.head(id),
        journal.find(id, eventId('e')),
        journal.sessions(),
        journal.snapshots.put(snapshotOf('closed', 1)),
        journal.snapshots.versions(id),
        journal.snapshots.get(id, version(1)),
        journal.snapshots.drop(id, version(1)),
      ];
      for (const task of asked) expect((await refusal(task)).code).toBe('closing');
    }),
  );
}

function appendTests(withJournal: WithJournal): void {
  test(
    'admit exactly one of fifty requests at the same version',
    withJournal(async ({ journal, reopen }) => {
      const id = session('raced');
      await must(journal.create(id, '{}'));
      for (let at = 0; at < 5; at += 1) {
        const racers = Array.from({ length: 50 }, (_, n) =>
          outcome(journal.append(id, version(at), recordsOf(`r${at}-${n}`), false)),
        );
        const answers = await Promise.all(racers);
        expect(answers.filter((answer) => answer === 'done')).toHaveLength(1);
        expect(answers.filter((answer) => answer === 'version_conflict')).toHaveLength(49);
        const ids = await readIds(journal, id);
        expect(ids).toHaveLength(at + 1);
        expect(ids[at]).toBe(`r${at}-${answers.indexOf('done')}`);
      }
      expect(await readIds(await reopen(), id)).toHaveLength(5);
    }),
  );

  test(
    'admit an event id once in a stream, and name it when it is repeated',
    withJournal(async ({ journal, reopen }) => {
      const id = session('ids');
      await must(journal.create(id, '{}'));
      await must(journal.append(id, version(0), recordsOf('a', 'b'), true));
      const repeated = await refusal(journal.append(id, version(2), recordsOf('c', 'b', 'd'), false));
      expect(repeated).toMatchObject({ code: 'version_conflict', message: expect.stringContaining('event id b') });
      const twice = await refusal(journal.append(id, version(2), recordsOf('e', 'f', 'e'), false));
      expect(twice).toMatchObject({ code: 'version_conflict', message: expect.stringContaining('event id e') });
      const again = await reopen();
      expect(await outcome(again.append(id, version(2), recordsOf('a'), false))).toBe('version_conflict');
      expect(await must(again.head(id))).toEqual({ session_id: id, version: 2, owing: true });
      for (const none of ['c', 'd', 'e', 'f']) expect(await must(again.find(id, eventId(none)))).toBeNull();
    }),
  );

  test(
    'are recorded completely or not at all, together with the owing mark',
    withJournal(async ({ journal }) => {
      const id = session('whole');
      await must(journal.create(id, '{}'));
      const most = Array.from({ length: EVENTS_PER_APPEND_MAX }, (_, n) => recordOf(`m${n}`));
      expect(await must(journal.append(id, version(0), most, true))).toBe(EVENTS_PER_APPEND_MAX);
      const tooMany = Array.from({ length: EVENTS_PER_APPEND_MAX + 1 }, (_, n) => recordOf(`t${n}`));
      const refused = await refusal(journal.append(id, version(EVENTS_PER_APPEND_MAX), tooMany, false));
      expect(refused.code).toBe('too_large');
      expect(await must(journal.head(id))).toEqual({ session_id: id, version: EVENTS_PER_APPEND_MAX, owing: true });
      expect(await must(journal.append(id, version(EVENTS_PER_APPEND_MAX), recordsOf('last'), false))).toBe(257);
      expect((await must(journal.head(id))).owing).toBe(false);
    }),
  );

  test(
    'without records violate an invariant, and do not affect other appends',
    withJournal(async ({ journal }) => {
      const id = session('empty');
      await must(journal.create(id, '{}'));
      const empty = journal.append(id, version(0), [], false)();
      const good = outcome(journal.append(id, version(0), recordsOf('good'), false));
      await expect(empty).rejects.toThrow(InvariantError);
      expect(await good).toBe('done');
    }),
  );

  test(
    'are never seen in part by concurrent readers',
    withJournal(async ({ journal }) => {
      const id = session('beside');
      await must(journal.create(id, '{}'));
      const lengths: number[] = [];
      const writer = { writing: true };
      const reader = (async () => {
        while (writer.writing)
          lengths.push((await readAll(journal, id)).length, (await must(journal.head(id))).version);
      })();
      for (let at = 0; at < 60; at += 3) {
        await must(journal.append(id, version(at), recordsOf(`${at}a`, `${at}b`, `${at}c`), false));
      }
      writer.writing = false;
      await reader;
      expect(lengths.every((length, n) => length % 3 === 0 && length >= (lengths[n - 1] ?? 0))).toBe(true);
    }),
  );
}

function snapshotTests(withJournal: WithJournal): void {
  const a = session('a');

  test(
    'are returned as they were put, also after a reopening',
    withJournal(async ({ journal, reopen }) => {
      await must(journal.create(a, '{}'));
      const large = snapshotOf('a', 7, `"${'ä€𝄞'.repeat(50_000)}"`);
      await must(journal.snapshots.put(large));
      expect(await must(journal.snapshots.get(a, version(7)))).toEqual(large);
      const again = await reopen();
      expect(await must(again.snapshots.versions(a))).toEqual([7]);
      expect(await must(again.snapshots.get(a, version(7)))).toEqual(large);
      // A snapshot does not affect the stream.
      expect(await must(again.head(a))).toEqual({ session_id: a, version: 0, owing: false });
      expect(await must(again.sessions())).toHaveLength(1);
    }),
  );

  test(
    'are null when there is none of the version',
    withJournal(async ({ journal }) => {
      expect(await must(journal.snapshots.versions(a))).toEqual([]);
      expect(await must(journal.snapshots.get(a, version(1)))).toBeNull();
      await must(journal.snapshots.drop(a, version(1)));
      await must(journal.snapshots.put(snapshotOf('a', 2)));
      expect(await must(journal.snapshots.get(a, version(1)))).toBeNull();
      expect(await must(journal.snapshots.versions(session('a.b')))).toEqual([]);
    }),
  );

  test(
    'are kept up to a maximum number, the newest ones',
    withJournal(async ({ journal }) => {
      const put = Array.from({ length: SNAPSHOTS_KEPT + 10 }, (_, n) => n + 5);
      for (const at of put) await must(journal.snapshots.put(snapshotOf('a', at)));
      await must(journal.snapshots.put(snapshotOf('b', 1)));
      expect(await must(journal.snapshots.versions(a))).toEqual(put.slice(-SNAPSHOTS_KEPT).reverse());
      expect(await must(journal.snapshots.get(a, version(5)))).toBeNull();
      expect(await must(journal.snapshots.versions(session('b')))).toEqual([1]);
    }),
  );

  test(
    'are dropped when an older one is put, because the stream ends there',
    withJournal(async ({ journal }) => {
      for (const at of [3, 900, 9_000]) await must(journal.snapshots.put(snapshotOf('a', at)));
      await must(journal.snapshots.put(snapshotOf('a', 5)));
      expect(await must(journal.snapshots.versions(a))).toEqual([5]);
    }),
  );

  test(
    'are replaced and dropped individually',
    withJournal(async ({ journal, reopen }) => {
      await must(journal.snapshots.put(snapshotOf('a', 3, '"old"')));
      await must(journal.snapshots.put(snapshotOf('a', 3, '"new"')));
      await must(journal.snapshots.put(snapshotOf('a', 4)));
      expect((await must(journal.snapshots.get(a, version(3))))?.state).toBe('"new"');
      await must(journal.snapshots.drop(a, version(4)));
      expect(await must((await reopen()).snapshots.versions(a))).toEqual([3]);
    }),
  );
}

function scaleTests(withJournal: WithJournal): void {
  test(
    'keeps every append of a hundred concurrent sessions',
    withJournal(async ({ journal, reopen }) => {
      const ids = Array.from({ length: 100 }, (_, n) => session(`s${n}`));
      await Promise.all(ids.map((id) => must(journal.create(id, `genesis ${id}`))));
      const write = async (id: (typeof ids)[number]): Promise<void> => {
        for (let at = 0; at < 10; at += 1) {
          await must(journal.append(id, version(at), recordsOf(`${id}-${at}`), at % 2 === 0));
        }
      };
      await Promise.all(ids.map(write));
      const again = await reopen();
      for (const id of ids) {
        expect(await readIds(again, id)).toEqual(Array.from({ length: 10 }, (_, at) => `${id}-${at}`));
      }
      expect(await must(again.sessions())).toHaveLength(100);
    }),
  );
}
