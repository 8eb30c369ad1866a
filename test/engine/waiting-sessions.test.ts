// Sessions that wait for a person or only for a time: they need not be in memory, and count against no limit.
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { IDLE_SESSIONS_MAX, RETRY_MS, WAKES_TOGETHER } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { policyOf } from '../support/consent.ts';
import { newDisk } from '../support/engine/disk.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { A, Talk, type World, newWorld, packageOf } from '../support/engine/world.ts';
import { position } from '../support/journal/samples.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { ASKS, FREE } from '../support/tools.ts';

const SMALL = packageOf([FREE, ASKS]);
const MINUTE_MS = 60_000;

const loads = ({ disk }: World): number => disk.calls.filter((name) => name === 'genesis').length;

/** A session that waits only for its host session to expire, in `inMs` milliseconds. */
async function sleeper({ engine, clock }: World, name: string, inMs: number): Promise<Talk> {
  const talk = await new Talk(engine.client, brand(name)).create(SMALL);
  const host_session = {
    host_session_id: 'h',
    host_session_status: 'ready' as const,
    expires_at_ms: clock.now() + inMs,
  };
  await talk.submit([{ kind: 'HostSessionUpdated', host_session }]);
  return talk;
}

/** A session whose only call waits for a person. */
async function asking({ engine }: World, name: string): Promise<Talk> {
  const talk = await new Talk(engine.client, brand(name)).create(SMALL, policyOf({}));
  await talk.calls(['q', ASKS.tool_name]);
  return talk;
}

async function allow(talk: Talk): Promise<string> {
  const batch = (await talk.state()).active_tool_batch;
  const [planned] = batch?.plan.planned_calls ?? [];
  return await talk.outcome({
    kind: 'user.tool_confirmation',
    batch_id: batch?.batch_id ?? '',
    call_id: 'q',
    arguments_digest: planned?.arguments_digest ?? '',
    result: 'allow',
  });
}

/** The kinds of the stored events of a session, read without an engine. */
const kindsOf = async ({ disk }: World, name: string): Promise<readonly string[]> =>
  (await must(disk.journal.read(brand(name), position(0), 100))).flatMap(({ events }) =>
    events.map(({ text }) => (JSON.parse(text) as { readonly kind: string }).kind),
  );

describe('a session that only waits', () => {
  test('is not loaded when an engine opens, and wakes when its time comes', async () => {
    const world = await newWorld();
    await sleeper(world, 'sleeps', MINUTE_MS);
    await asking(world, 'asks');
    const busy = await new Talk(world.engine.client, brand('busy')).create(SMALL);
    await busy.run();
    const before = loads(world);
    await world.restart();
    expect(loads(world)).toBe(before + 1);
    await world.clock.advance(MINUTE_MS - 1);
    expect(await kindsOf(world, 'sleeps')).toEqual(['HostSessionUpdated']);
    await world.clock.advance(1);
    expect(await kindsOf(world, 'sleeps')).toEqual(['HostSessionUpdated', 'TimeReached']);
    expect(loads(world)).toBe(before + 2);
  });

  test('leaves memory when others are used, and wakes all the same', async () => {
    const world = await newWorld();
    await sleeper(world, 'sleeps', MINUTE_MS);
    const asks = await asking(world, 'asks');
    for (let index = 0; index < IDLE_SESSIONS_MAX; index += 1) {
      await new Talk(world.engine.client, brand(`x-${index}`)).create(SMALL).then((talk) => talk.state());
    }
    const before = loads(world);
    await world.clock.advance(MINUTE_MS);
    expect(await kindsOf(world, 'sleeps')).toEqual(['HostSessionUpdated', 'TimeReached']);
    expect(loads(world)).toBe(before + 1);
    // Its answer brings the other one back, and a bridge gets the call.
    expect(await asks.leased(A)).toEqual([]);
    expect(await allow(asks)).toBe('done');
    expect(loads(world)).toBe(before + 2);
    expect(await asks.leased(A)).toEqual(['batch-1/q/1']);
  });

  test('is answered after a restart, without having been loaded before', async () => {
    const world = await newWorld();
    const { id } = await asking(world, 'asks');
    await world.restart();
    const talk = new Talk(world.engine.client, id);
    const { sessions } = await must(world.engine.client.sessions({ waiting: true }));
    expect(sessions).toMatchObject([{ session_id: id, owing: false, card: { status: 'requires_action' } }]);
    expect(await allow(talk)).toBe('done');
    expect(await talk.leased(A)).toEqual(['batch-1/q/1']);
  });

  test('does not count as active, and is refused work when too many others are', async () => {
    const world = await newWorld(newDisk(), newVirtualClock(), { activeSessionsMax: 1 });
    const asks = await asking(world, 'asks');
    await sleeper(world, 'sleeps', MINUTE_MS);
    const busy = await new Talk(world.engine.client, brand('busy')).create(SMALL);
    await busy.run();
    expect(await allow(asks)).toBe('too_many_active_sessions');
    await busy.submit([{ kind: 'user.interrupt', run_id: 'run-1' }]);
    expect(await allow(asks)).toBe('done');
  });

  test('wakes later when too many others are active at its time', async () => {
    const world = await newWorld(newDisk(), newVirtualClock(), { activeSessionsMax: 1 });
    const retries = await new Talk(world.engine.client, brand('retries')).create(SMALL);
    await retries.run();
    await retries.submit([
      {
        kind: 'GenerateFailed',
        run_id: 'run-1',
        turn: 1,
        code: 'overloaded',
        message: 'later',
        retryable: true,
        retry_after_ms: 30_000,
      },
    ]);
    const { sessions } = await must(world.engine.client.sessions({ status: 'waiting' }));
    expect(sessions.map(({ session_id }) => session_id)).toEqual([retries.id]);
    const busy = await new Talk(world.engine.client, brand('busy')).create(SMALL);
    await busy.run();
    await world.clock.advance(MINUTE_MS);
    expect(await kindsOf(world, 'retries')).not.toContain('TimeReached');
    await busy.submit([{ kind: 'user.interrupt', run_id: 'run-1' }]);
    await world.clock.advance(2 * RETRY_MS);
    expect(await kindsOf(world, 'retries')).toContain('TimeReached');
  });
});

describe('times that come together', () => {
  test('are all reported, page by page, once each', async () => {
    const world = await newWorld();
    const sessions = WAKES_TOGETHER + 44;
    for (let index = 0; index < sessions; index += 1) await sleeper(world, `s-${index}`, MINUTE_MS);
    await world.restart();
    await world.clock.advance(MINUTE_MS + 2 * RETRY_MS);
    for (let index = 0; index < sessions; index += 1) {
      expect(await kindsOf(world, `s-${index}`)).toEqual(['HostSessionUpdated', 'TimeReached']);
    }
    expect(world.clock.pending()).toBe(0);
  });

  test('are reported when the index can be read again', async () => {
    const world = await newWorld();
    await sleeper(world, 'sleeps', MINUTE_MS);
    let faults = 4;
    world.disk.fault = ({ name }) => {
      if (name !== 'due' || faults === 0) return null;
      faults -= 1;
      return faults % 2 === 0 ? 'throws' : 'refused';
    };
    await world.restart();
    await world.clock.advance(MINUTE_MS + 5 * RETRY_MS);
    expect(faults).toBe(0);
    expect(await kindsOf(world, 'sleeps')).toEqual(['HostSessionUpdated', 'TimeReached']);
  });

  test('a session that cannot be loaded does not delay the others, and is tried once', async () => {
    const disk = newDisk();
    const world = await newWorld(disk);
    const bad = await sleeper(world, 'bad', MINUTE_MS);
    await sleeper(world, 'good', MINUTE_MS);
    await sleeper(world, 'later', 2 * MINUTE_MS);
    await world.engine.close();
    const stored = await must(disk.journal.head(bad.id));
    const [commit] = await must(disk.journal.read(bad.id, position(0), 1));
    if (commit === undefined) throw new Error('no commit');
    // Its chain does not continue.
    await must(disk.journal.append(bad.id, [{ ...commit, position: position(1), events: forged }], stored));
    await world.restart();
    const before = loads(world);
    await world.clock.advance(MINUTE_MS);
    expect(await kindsOf(world, 'good')).toContain('TimeReached');
    expect(loads(world)).toBe(before + 2);
    await world.clock.advance(MINUTE_MS);
    expect(await kindsOf(world, 'later')).toContain('TimeReached');
    expect(loads(world)).toBe(before + 3);
    expect(await outcome(world.engine.client.session(bad.id))).toBe('damaged');
  });

  const forged = [{ text: '{"event_id":"forged","kind":"RunRequested"}', event_id: brand<'EventId'>('forged') }];
});

test('a head that a rebuilt journal could only guess is written anew when its session is loaded', async () => {
  const world = await newWorld();
  const { id } = await sleeper(world, 'sleeps', MINUTE_MS);
  await world.engine.close();
  const { version, ...facts } = await must(world.disk.journal.head(id));
  const guessed = { ...facts, owing: true, wake_at_ms: null };
  await must(world.disk.journal.restate(id, version, { ...guessed, card: { ...facts.card, title: 'guessed' } }));
  await world.restart();
  expect(await must(world.disk.journal.head(id))).toEqual({ version, ...facts });
  await world.clock.advance(MINUTE_MS);
  expect(await kindsOf(world, 'sleeps')).toEqual(['HostSessionUpdated', 'TimeReached']);
});
