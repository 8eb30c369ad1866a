// Rows that were changed by hand: the session is refused as damaged, with the position, and other sessions go on.
import { isLeft } from 'fp-ts/lib/Either.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionId } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { Talk } from '../support/engine/world.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import { commitAt, createSample, eventId, idleHead, position, readIds, session } from '../support/journal/samples.ts';
import {
  type Database,
  type Server,
  createDatabase,
  describePostgres,
  openServer,
} from '../support/postgres/database.ts';
import { closeStores, openStores } from '../support/postgres/stores.ts';
import { testPackage } from '../support/tools.ts';

describePostgres('rows that were changed by hand', () => {
  let server: Server;
  let database: Database;
  beforeAll(async () => {
    server = await openServer();
    database = await createDatabase(server);
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await server.stop();
  });

  const [hit, whole] = [session('hit'), session('whole')];
  const OF_HIT = `stream = (SELECT id FROM refold.stream WHERE session = 'hit')`;

  test.each<[string, string]>([
    [`DELETE FROM refold.commit WHERE ${OF_HIT} AND position = 2`, 'no event 2'],
    [`DELETE FROM refold.commit WHERE ${OF_HIT} AND position = 0`, 'no event 0'],
    [`DELETE FROM refold.commit WHERE ${OF_HIT} AND position = 3`, 'no event 3'],
    [`UPDATE refold.commit SET count = 5 WHERE ${OF_HIT} AND position = 2`, 'the commit at position 2'],
    [`UPDATE refold.commit SET chain = '\\x00' WHERE ${OF_HIT} AND position = 2`, 'the commit at position 2'],
    [`UPDATE refold.commit SET events = '{}' WHERE ${OF_HIT} AND position = 2`, 'the commit at position 2'],
    [`UPDATE refold.commit SET position = 9 WHERE ${OF_HIT} AND position = 3`, 'no event 3'],
    [`UPDATE refold.stream SET version = 3 WHERE session = 'hit'`, 'at version 3'],
    [`UPDATE refold.stream SET version = 7 WHERE session = 'hit'`, 'no event 5'],
  ])('%s', async (damage, message) => {
    await database.empty();
    const stores = await openStores(database.url);
    for (const id of [hit, whole]) {
      await must(createSample(stores.journal, id));
      for (const commit of [commitAt(0, 'a', 'b'), commitAt(2, 'c'), commitAt(3, 'd', 'e')]) {
        await must(stores.journal.append(id, [commit], idleHead));
      }
    }
    await database.query(damage);
    const refused = await refusal(stores.journal.read(hit, position(0), 10));
    expect(refused).toMatchObject({ code: 'damaged', message: expect.stringContaining(message) });
    expect(await readIds(stores.journal, whole)).toEqual(['a', 'b', 'c', 'd', 'e']);
    await closeStores(stores);
  });

  test('an event id that leads elsewhere, a head and a genesis that are gone', async () => {
    await database.empty();
    const stores = await openStores(database.url);
    await must(createSample(stores.journal, hit));
    await must(stores.journal.append(hit, [commitAt(0, 'a', 'b')], idleHead));
    await database.query('UPDATE refold.event_id SET position = 1 - position');
    expect(await outcome(stores.journal.find(hit, eventId('a')))).toBe('damaged');
    await database.query('DELETE FROM refold.genesis');
    expect(await outcome(stores.journal.genesis(hit))).toBe('damaged');
    await database.query(`UPDATE refold.stream SET card = '{}'`);
    expect(await outcome(stores.journal.head(hit))).toBe('damaged');
    const { sessions } = await must(stores.journal.sessions({ limit: 9 }));
    expect(sessions.map(({ session_id, owing }) => [session_id, owing])).toEqual([['hit', true]]);
    await must(stores.journal.deleteDamaged(hit, 5));
    expect(await must(stores.journal.tombstones(null, 9))).toMatchObject([{ session_id: hit, version: 2 }]);
    await closeStores(stores);
  });

  test('a text that still is one event is found by the chain when the session is loaded', async () => {
    await database.empty();
    const drive = async (work: (talk: (id: SessionId) => Talk) => Promise<void>): Promise<void> => {
      const ports = { ...(await openStores(database.url)), clock: newVirtualClock() };
      const engine = await must(startEngine(ports));
      await work((id) => new Talk(engine.client, id));
      await engine.close();
    };
    await drive(async (talk) => {
      for (const id of [hit, whole]) {
        await talk(id).create(testPackage(), CONSENT_PRESETS.allow_all);
        await talk(id).run();
      }
    });
    await database.query(`UPDATE refold.commit SET events = replace(events, '"go"', '"no"') WHERE ${OF_HIT}`);
    await drive(async (talk) => {
      const answer = await talk(hit).client.session(hit)();
      expect(isLeft(answer) && answer.left.code).toBe('damaged');
      expect(isLeft(answer) && answer.left.message).toMatch(/\b0\b/);
      expect((await talk(whole).state()).version).toBe(1);
    });
  });
});
