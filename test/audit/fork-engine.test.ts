// Forks of a stored session, through an engine in process and over HTTP, and what a crash during a fork leaves behind.
import { afterEach, describe, expect, test } from 'vitest';
import { type SessionId, type StreamRecord, type Version, brand } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { newLineageCheck, replay } from '../../src/core/index.ts';
import { type Served, serveClient } from '../support/engine/serving.ts';
import { A, SESSION, type World, newWorld } from '../support/engine/world.ts';
import { commitsIn } from './records.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';

const FORK = brand<'SessionId'>('fork');
const at = (version: number): Version => version as Version;

let served: Served | null = null;
afterEach(async () => {
  await served?.close();
  served = null;
});

const through: readonly (readonly [string, (world: World) => Promise<EngineClient>])[] = [
  ['in process', (world) => Promise.resolve(world.engine.client)],
  [
    'over HTTP',
    async (world) => {
      served = await serveClient(world.engine.client);
      return served.client;
    },
  ],
];

const recordsOf = (client: EngineClient, id: SessionId): Promise<readonly StreamRecord[]> => must(client.records(id));

/** A run with a running call that must not run twice, and a queued call. */
async function busy(): Promise<World> {
  const world = await newWorld();
  await world.talk.create();
  const state = await world.talk.calls(['a', 'once'], ['b', 'once']);
  const { batch_id, plan } = state.active_tool_batch ?? { batch_id: '', plan: { plan_hash: '' } };
  const started = { kind: 'ToolCallStarted', batch_id, call_id: 'a', attempt: 1, plan_hash: plan.plan_hash } as const;
  await world.talk.lease(A);
  await world.talk.submit([{ ...started, owner: A }], A);
  return world;
}

describe.each(through)('%s', (_, connectTo) => {
  test('a fork is stored, verifies against its source, and replays', async () => {
    const world = await busy();
    const client = await connectTo(world);
    const made = await must(client.fork(SESSION, { session_id: FORK, at: at(3) }));
    const [source, fork] = [await recordsOf(client, SESSION), await recordsOf(client, FORK)];
    // Its calls are settled, so its batch may be closed, also in a pause.
    const card = { status: 'paused', parent: SESSION, title: 'go' };
    expect(made).toMatchObject({ session_id: FORK, version: 6, owing: true, wake_at_ms: null, card });
    expect(replay(fork).divergence).toBeNull();
    const [, genesis] = fork;
    if (genesis?.kind !== 'genesis') throw new Error('no genesis record');
    const check = newLineageCheck(genesis.genesis);
    for (let index = 0; check.add(source[index] ?? null, fork[index] ?? null);) index += 1;
    expect(check.fault()).toBeNull();
    const kinds = commitsIn(fork).flatMap(({ events }) => events.map(({ kind }) => kind));
    expect(kinds.slice(3)).toEqual(['RunPaused', 'LeaseExpired', 'ToolCallSettled']);
  });

  test('a fork leases out no effect before it is resumed, and never a call of its source', async () => {
    const world = await busy();
    const client = await connectTo(world);
    await must(client.fork(SESSION, { session_id: FORK }));
    const ask = {
      owner: brand<'OwnerId'>('bridge-c'),
      kinds: ['tool.call' as const],
      tools: ['*'],
      max: 9,
      wait_ms: 0,
    };
    expect((await must(client.lease({ ...ask, sessions: [FORK] }))).effects).toEqual([]);
    await must(client.submit(FORK, { events: [{ kind: 'RunResumed', run_id: brand('run-1') }] }));
    const kinds = [...ask.kinds, 'batch.settle' as const];
    const { effects } = await must(client.lease({ ...ask, kinds, sessions: [FORK] }));
    expect(effects.map(({ kind }) => kind)).toEqual(['batch.settle']);
  });

  test('a fork does not change its source', async () => {
    const world = await busy();
    const client = await connectTo(world);
    const before = await recordsOf(client, SESSION);
    await must(client.fork(SESSION, { session_id: FORK, run: 'go' }));
    expect(await recordsOf(client, SESSION)).toEqual(before);
    const state = await world.talk.state();
    expect(state.active_tool_batch).toMatchObject({ queued: 1, running: 1 });
  });

  test('an impossible fork is refused and leaves nothing behind', async () => {
    const world = await busy();
    const client = await connectTo(world);
    expect(await refusal(client.fork(SESSION, { at: at(4) }))).toMatchObject({ code: 'position_unknown', path: '/at' });
    expect(await outcome(client.fork(brand('absent')))).toBe('unknown_session');
    expect(await outcome(client.fork(SESSION, { session_id: SESSION }))).toBe('session_exists');
    expect(await outcome(client.fork(SESSION, { run: 'wait' } as never))).toBe('invalid_shape');
    expect((await must(client.sessions())).sessions).toHaveLength(1);
  });
});

describe('a long session', () => {
  const LONG = 700;

  test('is forked completely, at every boundary of an append', async () => {
    const world = await newWorld();
    await world.talk.create();
    for (let done = 0; done < LONG; done += 100) {
      const events = Array.from({ length: 100 }, (_, n) => ({
        kind: 'SessionConfigured' as const,
        config: { turns_max: 1 + n },
      }));
      await world.talk.submit(events);
    }
    for (const position of [0, 1, 127, 128, 129, 255, 256, 257, LONG]) {
      const id = brand<'SessionId'>(`at-${position}`);
      expect(await must(world.engine.client.fork(SESSION, { session_id: id, at: at(position) }))).toMatchObject({
        version: position,
      });
      expect(replay(await recordsOf(world.engine.client, id)).divergence).toBeNull();
    }
  });

  test('an incomplete fork is refused as damaged, and another fork succeeds', async () => {
    const world = await newWorld();
    await world.talk.create();
    const events = Array.from({ length: 200 }, () => ({
      kind: 'SessionConfigured' as const,
      config: { turns_max: 7 },
    }));
    await world.talk.submit(events);
    await world.talk.submit(events);
    await world.talk.run();
    let appends = 0;
    world.disk.fault = (io) => (io.name === 'append' && (appends += 1) === 2 ? 'refused' : null);
    const { client } = world.engine;
    expect(await outcome(client.fork(SESSION, { session_id: FORK }))).toBe('storage_failed');
    world.disk.fault = () => null;
    const rejection = await refusal(client.session(FORK));
    expect(rejection).toMatchObject({
      code: 'damaged',
      message: expect.stringContaining('cut off before it was stored completely'),
    });
    expect(await outcome(client.fork(SESSION, { session_id: FORK }))).toBe('session_exists');
    expect(await outcome(client.fork(SESSION, { session_id: brand('again') }))).toBe('done');
    await world.restart();
    expect(world.engine.faults).toEqual([]);
  });
});
