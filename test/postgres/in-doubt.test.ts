// A write whose connection is lost: the answer says what was recorded, and what the answer says stays true.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SessionId } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import type { Journal } from '../../src/journal/journal.ts';
import type { PostgresStores } from '../../src/postgres/postgres-stores.ts';
import { outcome } from '../support/journal/outcomes.ts';
import {
  commitAt,
  createSample,
  eventId,
  idleHead,
  owingHead,
  readIds,
  session,
  storedPackage,
  tombstoneOf,
  version,
} from '../support/journal/samples.ts';
import {
  type Database,
  type Server,
  createDatabase,
  describePostgres,
  openServer,
} from '../support/postgres/database.ts';
import { type Cut, type Proxy, openProxy } from '../support/postgres/proxy.ts';
import { closeStores, openStores } from '../support/postgres/stores.ts';
import { randomFrom, roundsOf } from '../support/random.ts';

describePostgres('a write whose connection is lost', () => {
  let server: Server;
  let database: Database;
  let proxy: Proxy;
  let stores: PostgresStores;
  let journal: Journal;
  beforeAll(async () => {
    server = await openServer();
    database = await createDatabase(server);
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await server.stop();
  });
  beforeEach(async () => {
    await database.empty();
    const { port } = new URL(database.url);
    proxy = await openProxy(Number(port === '' ? 5_432 : port));
    stores = await openStores(
      Object.assign(new URL(database.url), { port: String(proxy.port), hostname: '127.0.0.1' }).href,
    );
    ({ journal } = stores);
  });
  afterEach(async () => {
    await closeStores(stores);
    await proxy.close();
  });

  const append = (id: SessionId, at: number, ...ids: string[]) => journal.append(id, [commitAt(at, ...ids)], owingHead);

  test.each<[Cut, string, readonly string[]]>([
    ['before_sending', 'storage_failed', ['a']],
    ['after_commit', 'done', ['a', 'b', 'c']],
  ])('that is cut %s is answered with %s', async (cut, code, ids) => {
    const id = session('cut');
    await must(createSample(journal, id));
    await must(append(id, 0, 'a'));
    proxy.cutNext('refold.append', cut);
    expect(await outcome(append(id, 1, 'b', 'c'))).toBe(code);
    expect(proxy.hasCut()).toBe(true);
    expect(await readIds(journal, id)).toEqual(ids);
    expect(await must(append(id, ids.length, 'next'))).toBe(ids.length + 1);
  });

  /** Holds the row of a session, so that an append to it waits in the server. */
  async function held(id: SessionId, work: () => Promise<void>): Promise<void> {
    await database.query('BEGIN');
    await database.query('SELECT FROM refold.stream WHERE session = $1 FOR UPDATE', [id]);
    try {
      await work();
    } finally {
      await database.query('COMMIT');
    }
  }

  const waiting = async (text: string): Promise<readonly number[]> => {
    for (const end = Date.now() + 20_000; Date.now() < end;) {
      // A transaction sees the activity of the moment at which it first looked.
      await database.query('SELECT pg_stat_clear_snapshot()');
      const rows = await database.query(
        `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1 AND pid <> pg_backend_pid()
            AND datname = current_database()`,
        [`%${text}%`],
      );
      if (rows.length > 0) return rows.map(({ pid }) => Number(pid));
    }
    throw new Error(`no statement with ${text} waits for a lock`);
  };

  test.each([true, false])('before it commits waits until that is decided: commits %s', async (commits) => {
    const id = session('late');
    await must(createSample(journal, id));
    await must(append(id, 0, 'a'));
    let answer: Promise<string> = Promise.resolve('');
    await held(id, async () => {
      proxy.cutNext('refold.append', 'when_told');
      answer = outcome(append(id, 1, 'b'));
      // Cut off before the server has begun, it would be shut out by the epoch that is raised.
      const [pid] = await waiting('refold.append');
      proxy.cutNow();
      // Raising the epoch waits for the append, so nothing was looked up and nothing answered yet.
      await waiting('SET epoch = p.epoch + 1');
      if (!commits) await database.query('SELECT pg_terminate_backend($1)', [pid]);
    });
    expect(await answer).toBe(commits ? 'done' : 'storage_failed');
    expect(await must(journal.find(id, eventId('b')))).toBe(commits ? 1 : null);
    expect(await readIds(journal, id)).toEqual(commits ? ['a', 'b'] : ['a']);
  });

  test('is not looked up by its version: another write may have brought the stream there', async () => {
    const id = session('others');
    await must(createSample(journal, id));
    proxy.cutNext('refold.append', 'before_sending');
    const answer = outcome(append(id, 0, 'mine'));
    // Another owner appends before the look-up; here by hand.
    await database.query(
      `WITH s AS (UPDATE refold.stream SET version = 1 WHERE session = 'others' RETURNING id)
       INSERT INTO refold.commit SELECT id, 0, 1, sha256(''), sha256(''), 'theirs', '{}' FROM s`,
    );
    expect(await answer).toBe('storage_failed');
    expect(await readIds(journal, id)).toEqual(['theirs']);
  });

  test('creates, restates and deletes with the same certainty', async () => {
    const [made, restated, deleted] = [session('made'), session('restated'), session('deleted')];
    const create = (id: SessionId) => journal.create(id, `{"of":"${id}"}`, storedPackage('{}'), idleHead);
    for (const id of [restated, deleted]) await must(create(id));
    for (const [cut, code] of [
      ['before_sending', 'storage_failed'],
      ['after_commit', 'done'],
    ] as const) {
      proxy.cutNext('refold.create_streams', cut);
      expect(await outcome(create(made))).toBe(code);
      proxy.cutNext('refold.append', cut);
      expect(await outcome(journal.restate(restated, version(0), owingHead))).toBe(code);
      proxy.cutNext('refold.delete_stream', cut);
      expect(await outcome(journal.delete(tombstoneOf(deleted, 0)))).toBe(code);
    }
    expect(await must(journal.genesis(made))).toBe('{"of":"made"}');
    expect((await must(journal.head(restated))).owing).toBe(true);
    expect(await must(journal.tombstones(null, 9))).toEqual([tombstoneOf(deleted, 0)]);
  });

  test('over random cuts: what was acknowledged stays, and what was refused never appears', async () => {
    const random = randomFrom(22);
    const ids = Array.from({ length: 12 }, (_, n) => session(`s${n}`));
    await Promise.all(ids.map((id) => must(createSample(journal, id))));
    const kept = new Map(ids.map((id): [SessionId, string[]] => [id, []]));
    const cuts: readonly (Cut | null)[] = [null, 'before_sending', 'before_commit', 'after_commit'];
    for (let round = 0; round < roundsOf(25, 400); round += 1) {
      const cut = cuts[random.below(cuts.length)] ?? null;
      if (cut !== null) proxy.cutNext('refold.append', cut);
      await Promise.all(
        ids.map(async (id) => {
          const acknowledged = kept.get(id) ?? [];
          const event = `${id}-${round}`;
          const answer = await outcome(append(id, acknowledged.length, event));
          if (answer === 'done') acknowledged.push(event);
          else expect(answer).toBe('storage_failed');
        }),
      );
    }
    await closeStores(stores);
    stores = await openStores(database.url);
    for (const id of ids) expect(await readIds(stores.journal, id)).toEqual(kept.get(id));
  });

  describe('or that is made after its tenure ended', () => {
    const claimAnew = (id: SessionId): Promise<unknown> =>
      database.query(
        `UPDATE refold.partition p SET epoch = epoch + 1, engine = 'other' FROM refold.stream s
          WHERE s.session = $1 AND p.partition = s.partition`,
        [id],
      );

    test('is refused as not_owner, also when it began before, and other sessions go on', async () => {
      const [lost, kept] = [session('lost'), session('kept')];
      for (const id of [lost, kept]) await must(createSample(journal, id));
      await claimAnew(lost);
      expect(await Promise.all([outcome(append(lost, 0, 'a')), outcome(append(kept, 0, 'a'))])).toEqual([
        'not_owner',
        'done',
      ]);
      for (const request of [
        journal.restate(lost, version(0), owingHead),
        journal.delete(tombstoneOf(lost, 0)),
        append(lost, 0, 'b'),
      ]) {
        expect(await outcome(request)).toBe('not_owner');
      }
      expect(await readIds(journal, lost)).toEqual([]);
    });

    test('waits for a claim that is under way, and is then refused', async () => {
      const id = session('raced');
      await must(createSample(journal, id));
      await database.query('BEGIN');
      await claimAnew(id);
      const answer = outcome(append(id, 0, 'a'));
      await waiting('refold.append');
      await database.query('COMMIT');
      expect(await answer).toBe('not_owner');
      expect(await readIds(journal, id)).toEqual([]);
    });

    test('is waited for by the claim when it came first', async () => {
      const id = session('first');
      await must(createSample(journal, id));
      let answer: Promise<string> = Promise.resolve('');
      await held(id, async () => {
        answer = outcome(append(id, 0, 'a'));
        await waiting('refold.append');
        // Not one of this partition: its row is locked by the append.
        const free = await database.query(
          `SELECT partition FROM refold.partition p WHERE partition = (SELECT partition FROM refold.stream WHERE session = $1)
              FOR UPDATE SKIP LOCKED`,
          [id],
        );
        expect(free).toEqual([]);
      });
      expect(await answer).toBe('done');
    });
  });
});
