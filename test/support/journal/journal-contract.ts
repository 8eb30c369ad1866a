// The contract of the journal port. Every adapter runs this suite.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CARD_TITLE_CHARS_MAX,
  EVENTS_PER_COMMIT_MAX,
  READ_PAGE_BYTES,
  READ_PAGE_EVENTS,
  SNAPSHOTS_KEPT,
} from '../../../schemas/limits.ts';
import { versionAfter } from '../../../schemas/record.ts';
import { InvariantError } from '../../../schemas/rejection.ts';
import type { HeadFacts } from '../../../schemas/session-head.ts';
import { must } from '../../../src/client/must.ts';
import type { Journal, JournalCommit } from '../../../src/journal/journal.ts';
import { JournalModel, journalCommands } from './journal-model.ts';
import { deletionTests } from './deletion-contract.ts';
import { pageTests } from './pages-contract.ts';
import { outcome, refusal } from './outcomes.ts';
import {
  commitAt,
  commitWith,
  createSample,
  eventId,
  headOf,
  idleHead,
  idsIn,
  lengthOf,
  owingHead,
  position,
  readAll,
  readIds,
  samplePackage,
  session,
  singleCommits,
  snapshotOf,
  storedEvent,
  storedPackage,
  version,
} from './samples.ts';

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
    describe('pages', () => {
      pageTests(withJournal);
    });
    describe('deletion', () => {
      deletionTests(withJournal);
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
            await fc.asyncModelRun(() => ({ model: new JournalModel(), real: subject }), commands);
          } finally {
            await opened.dispose();
          }
        }),
        { numRuns: modelRuns },
      );
    });
  });
}

export type WithJournal = (work: (opened: OpenedJournal) => Promise<void>) => () => Promise<void>;

function streamTests(withJournal: WithJournal): void {
  test(
    'is created once, with its genesis, without events and owing no effects',
    withJournal(async ({ journal }) => {
      const id = session('one');
      await must(createSample(journal, id, '{"genesis":"ä"}'));
      expect((await refusal(createSample(journal, id, 'another'))).code).toBe('session_exists');
      expect(await must(journal.genesis(id))).toBe('{"genesis":"ä"}');
      expect(await must(journal.head(id))).toEqual({ session_id: id, version: 0, ...idleHead });
      expect(await must(journal.read(id, position(0), 10))).toEqual([]);
    }),
  );

  test(
    'is unknown before it is created',
    withJournal(async ({ journal }) => {
      const id = session('none');
      const asked = [
        journal.genesis(id),
        journal.append(id, [commitAt(0, 'e')], idleHead),
        journal.read(id, position(0), 1),
        journal.head(id),
        journal.find(id, eventId('e')),
      ];
      for (const task of asked) expect((await refusal(task)).code).toBe('unknown_session');
      expect((await must(journal.sessions({ limit: 1_000 }))).sessions).toEqual([]);
    }),
  );

  test(
    'is created by exactly one of many concurrent requests',
    withJournal(async ({ journal }) => {
      const id = session('raced');
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => outcome(createSample(journal, id, `by ${n}`))),
      );
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
      const events = texts.map((text, n) => storedEvent(`event-${n}`, text));
      const commits = [
        commitWith(0, events.slice(0, 3)),
        commitWith(3, events.slice(3, 4)),
        commitWith(4, events.slice(4)),
      ];
      await must(createSample(journal, id));
      await must(journal.append(id, commits.slice(0, 1), idleHead));
      await must(journal.append(id, commits.slice(1), owingHead));
      expect(await readAll(journal, id, 2)).toEqual(commits);
      const again = await reopen();
      expect(await readAll(again, id, 3)).toEqual(commits);
      expect(await must(again.head(id))).toEqual({ session_id: id, version: events.length, ...owingHead });
      expect((await must(again.sessions({ limit: 1_000 }))).sessions).toEqual([
        { session_id: id, version: events.length, ...owingHead },
      ]);
      expect(await must(again.find(id, eventId('event-3')))).toBe(3);
      expect(await must(again.genesis(id))).toBe('{}');
    }),
  );

  test(
    'is listed with the facts of its last append, also right after its creation and after a reopening',
    withJournal(async ({ journal, reopen }) => {
      const [one, two] = [session('one'), session('two')];
      await must(journal.create(one, '{}', samplePackage, owingHead));
      await must(createSample(journal, two));
      expect((await must(journal.sessions({ limit: 1_000 }))).sessions).toEqual([
        { session_id: one, version: 0, ...owingHead },
        { session_id: two, version: 0, ...idleHead },
      ]);
      const card = { ...owingHead.card, title: '€'.repeat(CARD_TITLE_CHARS_MAX), parent: null, outcome: null };
      const waiting: HeadFacts = { owing: false, wake_at_ms: 0, card: { ...card, status: 'waiting' } };
      await must(journal.append(one, [commitAt(0, 'a')], idleHead));
      await must(journal.append(two, [commitAt(0, 'a'), commitAt(1, 'b', 'c')], waiting));
      const heads = [
        { session_id: one, version: 1, ...idleHead },
        { session_id: two, version: 3, ...waiting },
      ];
      expect((await must(journal.sessions({ limit: 1_000 }))).sessions).toEqual(heads);
      const again = await reopen();
      expect((await must(again.sessions({ limit: 1_000 }))).sessions).toEqual(heads);
      for (const head of heads) expect(await must(again.head(head.session_id))).toEqual(head);
    }),
  );

  test(
    'shares its tool package with other sessions, also after a reopening',
    withJournal(async ({ journal, reopen }) => {
      const other = storedPackage('{"tools":["ü€𝄞"]}');
      expect((await refusal(journal.toolPackage(other.digest))).code).toBe('damaged');
      await must(createSample(journal, session('one')));
      await must(createSample(journal, session('two')));
      await must(journal.create(session('three'), '{}', other, idleHead));
      // A refused creation stores nothing.
      const unused = storedPackage('{"unused":true}');
      expect(await outcome(journal.create(session('one'), '{}', unused, idleHead))).toBe('session_exists');
      const check = async (subject: Journal): Promise<void> => {
        expect(await must(subject.toolPackage(samplePackage.digest))).toBe(samplePackage.text);
        expect(await must(subject.toolPackage(other.digest))).toBe(other.text);
        expect((await refusal(subject.toolPackage(unused.digest))).code).toBe('damaged');
      };
      await check(journal);
      await check(await reopen());
    }),
  );

  test(
    'is read in whole commits, from the one that contains the first position',
    withJournal(async ({ journal, reopen }) => {
      const id = session('inside');
      const commits = [commitAt(0, 'a', 'b', 'c'), commitAt(3, 'd'), commitAt(4, 'e', 'f'), commitAt(6, 'g', 'h', 'i')];
      await must(createSample(journal, id));
      await must(journal.append(id, commits.slice(0, 3), idleHead));
      await must(journal.append(id, commits.slice(3), idleHead));
      const check = async (subject: Journal): Promise<void> => {
        for (let from = 0; from < 12; from += 1) {
          for (let limit = 1; limit < 12; limit += 1) {
            const page = commits.filter((commit) => commit.position < from + limit && versionAfter(commit) > from);
            expect(await must(subject.read(id, position(from), limit)), `${from} ${limit}`).toEqual(page);
          }
        }
        for (const [at, event] of idsIn(commits).entries()) {
          expect(await must(subject.find(id, eventId(event)))).toBe(at);
        }
      };
      await check(journal);
      await check(await reopen());
    }),
  );

  test(
    'is not mixed with streams whose ids share a prefix',
    withJournal(async ({ journal }) => {
      const ids = ['s', 's-', 's.', 's0', 'S', 's_s', 's.0'].map(session);
      for (const id of ids) await must(createSample(journal, id, `genesis of ${id}`));
      for (const id of ids) await must(journal.append(id, [commitAt(0, `${id}-0`, 'shared', `${id}-2`)], idleHead));
      for (const id of ids) {
        expect(await readIds(journal, id)).toEqual([`${id}-0`, 'shared', `${id}-2`]);
        expect(await must(journal.genesis(id))).toBe(`genesis of ${id}`);
        expect(await must(journal.find(id, eventId('shared')))).toBe(1);
        expect(await must(journal.find(id, eventId('s-0')))).toBe(id === 's' ? 0 : null);
      }
      const listed = (await must(journal.sessions({ limit: 1_000 }))).sessions;
      expect(listed.map(({ session_id }) => session_id)).toEqual([...ids].sort());
    }),
  );

  test(
    'is read in pages of at most READ_PAGE_EVENTS',
    withJournal(async ({ journal }) => {
      const id = session('paged');
      await must(createSample(journal, id));
      const count = READ_PAGE_EVENTS + 24;
      for (let at = 0; at < count; at += EVENTS_PER_COMMIT_MAX) {
        const size = Math.min(EVENTS_PER_COMMIT_MAX, count - at);
        const ids = Array.from({ length: size }, (_, n) => `e${at + n}`);
        expect(await must(journal.append(id, singleCommits(at, ...ids), idleHead))).toBe(at + size);
      }
      expect(await must(journal.read(id, position(0), 10 * count))).toHaveLength(READ_PAGE_EVENTS);
      expect(await must(journal.read(id, position(READ_PAGE_EVENTS), count))).toHaveLength(24);
      expect(await must(journal.read(id, position(count), 1))).toEqual([]);
      expect(await must(journal.read(id, position(count + 5), 1))).toEqual([]);
      expect(await readIds(journal, id)).toEqual(Array.from({ length: count }, (_, n) => `e${n}`));
    }),
  );

  test(
    'is read in pages that end with the commit that reaches READ_PAGE_BYTES',
    withJournal(async ({ journal }) => {
      const id = session('large');
      await must(createSample(journal, id));
      const half = 'h'.repeat(READ_PAGE_BYTES / 2);
      const large = [half, half, half, half + half + half, '', half, half, ''].map((text, at) =>
        commitWith(
          2 * at,
          ['a', 'b'].map((name) => storedEvent(`${name}${at}`, `${text}{"event_id":"${name}${at}"}`)),
        ),
      );
      for (const commit of large) await must(journal.append(id, [commit], idleHead));
      for (const [from, limit, first, end] of [
        [0, 100, 0, 1],
        [1, 100, 0, 1],
        [6, 1, 3, 4],
        [7, 100, 3, 4],
        [8, 100, 4, 6],
        [9, 1, 4, 5],
        [14, 100, 7, 8],
        [16, 100, 8, 8],
      ] as const) {
        const page = await must(journal.read(id, position(from), limit));
        expect(
          page.map((commit) => commit.position),
          `${limit} from ${from}`,
        ).toEqual(large.slice(first, end).map((commit) => commit.position));
      }
      expect(await readAll(journal, id)).toEqual(large);
      expect(await must(journal.find(id, eventId('b7')))).toBe(15);
    }),
  );

  test(
    'refuses every request after closing, and may be closed twice',
    withJournal(async ({ journal }) => {
      const id = session('closed');
      await must(createSample(journal, id));
      await journal.close();
      await journal.close();
      const asked = [
        createSample(journal, session('other')),
        journal.genesis(id),
        journal.toolPackage(samplePackage.digest),
        journal.append(id, [commitAt(0, 'e')], idleHead),
        journal.read(id, position(0), 1),
        journal.head(id),
        journal.find(id, eventId('e')),
        journal.sessions({ limit: 1_000 }),
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
      await must(createSample(journal, id));
      for (let at = 0; at < 5; at += 1) {
        const racers = Array.from({ length: 50 }, (_, n) =>
          outcome(journal.append(id, [commitAt(at, `r${at}-${n}`)], idleHead)),
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
      await must(createSample(journal, id));
      await must(journal.append(id, [commitAt(0, 'a', 'b')], owingHead));
      const repeated = await refusal(journal.append(id, [commitAt(2, 'c', 'b', 'd')], idleHead));
      expect(repeated).toMatchObject({ code: 'version_conflict', message: expect.stringContaining('event id b') });
      const twice = await refusal(journal.append(id, [commitAt(2, 'e', 'f', 'e')], idleHead));
      expect(twice).toMatchObject({ code: 'version_conflict', message: expect.stringContaining('event id e') });
      const again = await reopen();
      expect(await outcome(again.append(id, [commitAt(2, 'a')], idleHead))).toBe('version_conflict');
      expect(await must(again.head(id))).toEqual({ session_id: id, version: 2, ...owingHead });
      for (const none of ['c', 'd', 'e', 'f']) expect(await must(again.find(id, eventId(none)))).toBeNull();
    }),
  );

  test(
    'are recorded completely or not at all, together with the head',
    withJournal(async ({ journal }) => {
      const id = session('whole');
      await must(createSample(journal, id));
      const most = Array.from({ length: EVENTS_PER_COMMIT_MAX }, (_, n) => storedEvent(`m${n}`));
      expect(await must(journal.append(id, [commitWith(0, most)], owingHead))).toBe(EVENTS_PER_COMMIT_MAX);
      const tooMany = Array.from({ length: EVENTS_PER_COMMIT_MAX + 1 }, (_, n) => storedEvent(`t${n}`));
      const refused = await refusal(journal.append(id, [commitWith(EVENTS_PER_COMMIT_MAX, tooMany)], idleHead));
      expect(refused.code).toBe('too_large');
      expect(await must(journal.head(id))).toEqual({
        session_id: id,
        version: EVENTS_PER_COMMIT_MAX,
        ...owingHead,
      });
      expect(await must(journal.append(id, [commitAt(EVENTS_PER_COMMIT_MAX, 'last')], idleHead))).toBe(257);
      expect(await must(journal.head(id))).toEqual({ session_id: id, version: 257, ...idleHead });
    }),
  );

  test(
    'of several commits are admitted together or not at all',
    withJournal(async ({ journal, reopen }) => {
      const id = session('several');
      await must(createSample(journal, id));
      await must(journal.append(id, [commitAt(0, 'a', 'b')], owingHead));
      const most = Array.from({ length: EVENTS_PER_COMMIT_MAX + 1 }, (_, n) => `m${n}`);
      const refused: readonly [readonly JournalCommit[], string][] = [
        [[commitAt(2, 'c'), commitAt(3, 'd', 'a')], 'version_conflict'],
        [[commitAt(2, 'c'), commitAt(3, 'd', 'c')], 'version_conflict'],
        [[commitAt(1, 'c'), commitAt(2, 'd')], 'version_conflict'],
        [[commitAt(3, 'c'), commitAt(4, 'd')], 'version_conflict'],
        [[commitAt(2, 'c'), commitAt(3, ...most)], 'too_large'],
      ];
      for (const [commits, code] of refused) expect(await outcome(journal.append(id, commits, idleHead))).toBe(code);
      const again = await reopen();
      expect(await readAll(again, id)).toEqual([commitAt(0, 'a', 'b')]);
      expect(await must(again.head(id))).toEqual({ session_id: id, version: 2, ...owingHead });
      for (const none of ['c', 'd', 'm0']) expect(await must(again.find(id, eventId(none)))).toBeNull();
      const added = [commitAt(2, 'c'), commitAt(3, ...most.slice(1)), commitAt(2 + most.length, 'd', 'e')];
      expect(await must(again.append(id, added, idleHead))).toBe(4 + most.length);
      expect(await readAll(await reopen(), id, 7)).toEqual([commitAt(0, 'a', 'b'), ...added]);
    }),
  );

  test(
    'without commits or events, or with a gap, violate an invariant, and do not affect other appends',
    withJournal(async ({ journal }) => {
      const id = session('empty');
      await must(createSample(journal, id));
      const wrong = [
        [],
        [commitAt(0)],
        [commitAt(0, 'a'), commitAt(1)],
        [commitAt(0, 'a'), commitAt(2, 'b')],
        [commitAt(0, 'a', 'b'), commitAt(1, 'c')],
      ].map((commits) => journal.append(id, commits, idleHead)());
      const good = outcome(journal.append(id, [commitAt(0, 'good')], idleHead));
      for (const one of wrong) await expect(one).rejects.toThrow(InvariantError);
      expect(await good).toBe('done');
      expect(await readIds(journal, id)).toEqual(['good']);
    }),
  );

  test(
    'are never seen in part by concurrent readers',
    withJournal(async ({ journal }) => {
      const id = session('beside');
      await must(createSample(journal, id));
      const lengths: number[] = [];
      const writer = { writing: true };
      const reader = (async () => {
        while (writer.writing)
          lengths.push(lengthOf(await readAll(journal, id)), (await must(journal.head(id))).version);
      })();
      for (let at = 0; at < 60; at += 3) {
        await must(journal.append(id, [commitAt(at, `${at}a`), commitAt(at + 1, `${at}b`, `${at}c`)], idleHead));
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
      await must(createSample(journal, a));
      const large = snapshotOf('a', 7, `"${'ä€𝄞'.repeat(50_000)}"`);
      await must(journal.snapshots.put(large));
      expect(await must(journal.snapshots.get(a, version(7)))).toEqual(large);
      const again = await reopen();
      expect(await must(again.snapshots.versions(a))).toEqual([7]);
      expect(await must(again.snapshots.get(a, version(7)))).toEqual(large);
      // A snapshot does not affect the stream.
      expect(await must(again.head(a))).toEqual({ session_id: a, version: 0, ...idleHead });
      expect((await must(again.sessions({ limit: 1_000 }))).sessions).toHaveLength(1);
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
      await Promise.all(ids.map((id) => must(createSample(journal, id, `genesis ${id}`))));
      const write = async (id: (typeof ids)[number]): Promise<void> => {
        for (let at = 0; at < 10; at += 1) {
          await must(journal.append(id, [commitAt(at, `${id}-${at}`)], headOf(at % 2 === 0)));
        }
      };
      await Promise.all(ids.map(write));
      const again = await reopen();
      for (const id of ids) {
        expect(await readIds(again, id)).toEqual(Array.from({ length: 10 }, (_, at) => `${id}-${at}`));
      }
      expect((await must(again.sessions({ limit: 1_000 }))).sessions).toHaveLength(100);
    }),
  );
}
