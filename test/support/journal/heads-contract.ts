// The contract of the journal port for heads: pages of sessions, times that come, and heads that are written anew.
import { describe, expect, test } from 'vitest';
import type { SessionId } from '../../../schemas/ids.ts';
import { type HeadFacts, INCOMPLETE } from '../../../schemas/session-head.ts';
import { must } from '../../../src/client/must.ts';
import type { Journal, SessionsRequest, Wake } from '../../../src/journal/journal.ts';
import { randomFrom } from '../random.ts';
import type { OpenedJournal } from './journal-contract.ts';
import { outcome } from './outcomes.ts';
import { commitAt, createSample, idleHead, samplePackage, session, version } from './samples.ts';

type Facts = Pick<HeadFacts, 'owing' | 'wake_at_ms'> & { readonly status: HeadFacts['card']['status'] };

export const headWith = ({ owing, wake_at_ms, status }: Facts): HeadFacts => ({
  owing,
  wake_at_ms,
  card: { ...idleHead.card, status },
});

const RUNNING: Facts = { owing: true, wake_at_ms: null, status: 'running' };
const ASKING: Facts = { owing: false, wake_at_ms: null, status: 'requires_action' };
const SLEEPING: Facts = { owing: false, wake_at_ms: 5_000, status: 'waiting' };
const PAUSED: Facts = { owing: false, wake_at_ms: null, status: 'paused' };

/** Appends one commit to a session, with these facts; returns the next version. */
export async function appendFacts(journal: Journal, id: SessionId, at: number, facts: Facts): Promise<number> {
  return await must(journal.append(id, [commitAt(at, `${id}-${at}`)], headWith(facts)));
}

const idsOf = async (journal: Journal, request: Partial<SessionsRequest> = {}): Promise<readonly string[]> =>
  (await must(journal.sessions({ limit: 100, ...request }))).sessions.map(({ session_id }) => session_id);

export const wakesOf = async (
  journal: Journal,
  untilMs: number,
  limit = 100,
  after?: Wake,
): Promise<readonly string[]> =>
  (await must(journal.due(untilMs, limit, after))).map(({ session_id, at_ms }) => `${session_id} ${at_ms}`);

export function headsContract(name: string, open: () => Promise<OpenedJournal>): void {
  const withJournal = (work: (opened: OpenedJournal) => Promise<void>) => async (): Promise<void> => {
    const opened = await open();
    try {
      await work(opened);
    } finally {
      await opened.dispose();
    }
  };

  /** `a` runs, `b` asks, `b.x` sleeps, `c` is paused, `d` is idle. */
  async function fill(journal: Journal): Promise<void> {
    for (const id of ['d', 'b', 'a', 'c', 'b.x']) await must(createSample(journal, session(id)));
    await appendFacts(journal, session('a'), 0, RUNNING);
    await appendFacts(journal, session('b'), 0, ASKING);
    await appendFacts(journal, session('b.x'), 0, SLEEPING);
    await appendFacts(journal, session('c'), 0, PAUSED);
  }

  describe(`${name} keeps the contract of heads`, () => {
    test(
      'keeps a copy incomplete until a head of another status is stored',
      withJournal(async ({ journal, reopen }) => {
        const [copy, empty, whole] = [session('copy'), session('empty'), session('whole')];
        for (const id of [copy, empty]) await must(journal.create(id, `{"of":"${id}"}`, samplePackage, INCOMPLETE));
        await must(createSample(journal, whole));
        await must(journal.append(copy, [commitAt(0, 'a')], INCOMPLETE));
        const again = await reopen();
        for (const id of [copy, empty]) {
          expect(await outcome(again.genesis(id))).toBe('damaged');
          expect(await must(again.genesisOfCopy(id))).toBe(`{"of":"${id}"}`);
        }
        expect(await outcome(again.genesisOfCopy(whole))).toBe('session_exists');
        expect(await outcome(again.genesisOfCopy(session('none')))).toBe('unknown_session');
        const { sessions } = await must(again.sessions({ limit: 9, status: 'incomplete' }));
        expect(sessions.map(({ session_id, version: at }) => `${session_id} ${at}`)).toEqual(['copy 1', 'empty 0']);
        await must(again.append(copy, [commitAt(1, 'b')], headWith(RUNNING)));
        await must(again.restate(empty, version(0), headWith(PAUSED)));
        const last = await reopen();
        for (const id of [copy, empty]) {
          expect(await must(last.genesis(id))).toBe(`{"of":"${id}"}`);
          expect(await outcome(last.genesisOfCopy(id))).toBe('session_exists');
          const { version: at } = await must(last.head(id));
          expect(await outcome(last.append(id, [commitAt(at, 'c')], INCOMPLETE))).toBe('internal');
          expect(await outcome(last.restate(id, at, INCOMPLETE))).toBe('internal');
        }
        expect(await idsOf(last, { owing: true })).toEqual(['copy']);
      }),
    );

    test(
      'completes a copy in the group of its creation',
      withJournal(async ({ journal }) => {
        const id = session('copy');
        const answers = await Promise.all([
          outcome(journal.create(id, '{}', samplePackage, INCOMPLETE)),
          outcome(journal.append(id, [commitAt(0, 'a')], headWith(RUNNING))),
        ]);
        expect(answers).toEqual(['done', 'done']);
        expect(await must(journal.genesis(id))).toBe('{}');
      }),
    );

    test(
      'lists sessions by id, page by page, and says where to continue',
      withJournal(async ({ journal }) => {
        await fill(journal);
        expect(await idsOf(journal)).toEqual(['a', 'b', 'b.x', 'c', 'd']);
        const seen: string[] = [];
        for (let after: SessionId | null | undefined, pages = 0; after !== null && pages < 9; pages += 1) {
          const page = await must(journal.sessions({ limit: 2, ...(after === undefined ? {} : { after }) }));
          expect(page.sessions.length).toBeLessThanOrEqual(2);
          seen.push(...page.sessions.map(({ session_id }) => session_id));
          after = page.next;
        }
        expect(seen).toEqual(['a', 'b', 'b.x', 'c', 'd']);
        // An id need not exist to continue after it, and one may be the beginning of another.
        expect(await idsOf(journal, { after: session('b') })).toEqual(['b.x', 'c', 'd']);
        expect(await idsOf(journal, { after: session('b.a') })).toEqual(['b.x', 'c', 'd']);
        expect(await must(journal.sessions({ limit: 9, after: session('d') }))).toEqual({ sessions: [], next: null });
      }),
    );

    test.each<[Partial<SessionsRequest>, readonly string[]]>([
      [{ owing: true }, ['a']],
      [{ owing: false }, ['b', 'b.x', 'c', 'd']],
      [{ waiting: true }, ['b', 'b.x']],
      [{ waiting: false }, ['a', 'c', 'd']],
      [{ status: 'paused' }, ['c']],
      [{ status: 'waiting', waiting: true, owing: false }, ['b.x']],
      [{ owing: true, status: 'idle' }, []],
    ])('lists those that every filter lets through: %j', async (filters, expected) => {
      await withJournal(async ({ journal, reopen }) => {
        await fill(journal);
        expect(await idsOf(journal, filters)).toEqual(expected);
        expect(await idsOf(await reopen(), filters)).toEqual(expected);
      })();
    });

    test(
      'returns the times that have come, in order of time and id',
      withJournal(async ({ journal }) => {
        for (const [id, at] of [
          ['z', 300],
          ['b', 200],
          ['a', 300],
          ['b.x', 200],
          ['late', 1_700_000_000_000],
        ] as const) {
          await must(createSample(journal, session(id)));
          await appendFacts(journal, session(id), 0, { ...SLEEPING, wake_at_ms: at });
        }
        expect(await wakesOf(journal, 199)).toEqual([]);
        expect(await wakesOf(journal, 200)).toEqual(['b 200', 'b.x 200']);
        expect(await wakesOf(journal, 300)).toEqual(['b 200', 'b.x 200', 'a 300', 'z 300']);
        expect(await wakesOf(journal, 300, 1)).toEqual(['b 200']);
        expect(await wakesOf(journal, 300, 9, { session_id: session('b.x'), at_ms: 200 })).toEqual(['a 300', 'z 300']);
        expect(await wakesOf(journal, Number.MAX_SAFE_INTEGER, 9, { session_id: session('z'), at_ms: 300 })).toEqual([
          'late 1700000000000',
        ]);
      }),
    );

    test(
      'follows each append, also of appends that are written together',
      withJournal(async ({ journal, reopen }) => {
        const id = session('s');
        await must(createSample(journal, id));
        const facts = [
          RUNNING,
          SLEEPING,
          { ...SLEEPING, wake_at_ms: 9 },
          ASKING,
          RUNNING,
          { ...RUNNING, wake_at_ms: 7 },
        ];
        await Promise.all(facts.map((one, at) => appendFacts(journal, id, at, one)));
        expect([await idsOf(journal, { owing: true }), await wakesOf(journal, 9_999)]).toEqual([['s'], ['s 7']]);
        await appendFacts(journal, id, facts.length, PAUSED);
        const again = await reopen();
        expect([await idsOf(again, { owing: true }), await wakesOf(again, 9_999)]).toEqual([[], []]);
      }),
    );

    test(
      'writes the facts of a head anew at its version, and refuses any other version',
      withJournal(async ({ journal, reopen }) => {
        const id = session('s');
        await must(createSample(journal, id));
        await appendFacts(journal, id, 0, RUNNING);
        await must(journal.restate(id, version(1), headWith(SLEEPING)));
        expect(await must(journal.head(id))).toEqual({ session_id: id, version: 1, ...headWith(SLEEPING) });
        expect([await idsOf(journal, { owing: true }), await wakesOf(journal, 5_000)]).toEqual([[], ['s 5000']]);
        for (const at of [0, 2]) {
          expect(await outcome(journal.restate(id, version(at), headWith(RUNNING)))).toBe('version_conflict');
        }
        expect(await outcome(journal.restate(session('none'), version(0), idleHead))).toBe('unknown_session');
        const again = await reopen();
        expect(await appendFacts(again, id, 1, ASKING)).toBe(2);
        expect(await wakesOf(again, 5_000)).toEqual([]);
      }),
    );

    test(
      'agrees with its heads after random appends, restatements and openings',
      withJournal(async (opened) => {
        let { journal } = opened;
        const random = randomFrom(7);
        const ids = Array.from({ length: 12 }, (_, index) => session(`s${index}`));
        for (const id of ids) await must(createSample(journal, id));
        for (let step = 0; step < 300; step += 1) {
          const id = ids[random.below(ids.length)] as SessionId;
          const { version: at } = await must(journal.head(id));
          const wake_at_ms = random.below(2) === 0 ? null : random.below(6) * 100;
          const facts: Facts = { ...ASKING, owing: random.below(2) === 0, wake_at_ms };
          if (random.below(8) === 0) await must(journal.restate(id, at, headWith(facts)));
          else await appendFacts(journal, id, at, facts);
          if (random.below(50) === 0) journal = await opened.reopen();
        }
        const { sessions } = await must(journal.sessions({ limit: 100 }));
        const owing = sessions.filter((one) => one.owing).map(({ session_id }) => session_id);
        expect(await idsOf(journal, { owing: true })).toEqual(owing);
        const wakes = sessions.flatMap(({ session_id, wake_at_ms }) =>
          wake_at_ms === null ? [] : [`${session_id} ${wake_at_ms}`],
        );
        expect([...(await wakesOf(journal, 9_999))].sort()).toEqual(wakes.sort());
      }),
    );
  });
}
