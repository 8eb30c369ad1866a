// Leases granted with the answer to a submit: a bridge continues with the effects of its own report, under the rules of
// all leases.
import { describe, expect, test } from 'vitest';
import { type OwnerId, brand } from '../../schemas/ids.ts';
import type { SubmitReceipt, Wanted } from '../../schemas/wire.ts';
import {
  A,
  B,
  type LooseIngress,
  SESSION,
  TTL_MS,
  type World,
  callsIn,
  ingress,
  newWorld,
  settled,
  started,
} from '../support/engine/world.ts';
import { must, mustBe } from '../../src/client/must.ts';

const ALL: Wanted = { kinds: ['llm.generate', 'tool.call', 'tool.cancel', 'batch.settle'], tools: ['*'], max: 16 };

const observed = (...calls: readonly (readonly [id: string, tool: string])[]): LooseIngress => ({
  kind: 'ToolCallsObserved',
  event_id: 'observed',
  run_id: 'run-1',
  turn: 1,
  calls: calls.map(([call_id, tool_name]) => ({ call_id, tool_name, arguments: { n: call_id } })),
});

/** A session whose generate A has leased. */
async function withGenerate(): Promise<World> {
  const world = await newWorld();
  await world.talk.create();
  await world.talk.run();
  await world.talk.lease(A);
  return world;
}

const submit = ({ talk }: World, events: readonly LooseIngress[], owner: OwnerId, lease: Wanted = ALL) =>
  talk.client.submit(SESSION, { events: events.map(ingress), owner, lease })();

async function submitAndLease(world: World, events: readonly LooseIngress[], lease?: Wanted): Promise<SubmitReceipt> {
  return mustBe(await submit(world, events, A, lease));
}

const idsOf = ({ granted }: SubmitReceipt): readonly string[] =>
  granted?.effects.map(({ effect_id }) => effect_id) ?? [];

describe('a submit that also requests leases', () => {
  test('is granted effects, epochs and plan with its answer, before any waiting request', async () => {
    const world = await withGenerate();
    const waiting = world.talk.leased(B, { wait_ms: 20_000 });
    const receipt = await submitAndLease(world, [observed(['a', 'free'], ['b', 'free'])]);
    expect(idsOf(receipt)).toEqual(['batch-1/a/1', 'batch-1/b/1']);
    expect(receipt.granted?.plans).toHaveLength(1);
    expect(new Set(receipt.granted?.epochs).size).toBe(2);
    expect(await world.talk.lost(A, 'batch-1/a/1', 'batch-1/b/1')).toEqual([]);
    await world.clock.advance(500);
    await world.talk.release(A, 'batch-1/b/1');
    expect(await waiting).toEqual(['batch-1/b/1']);
  });

  test('is granted only what it requests; the rest goes to a waiting request', async () => {
    const world = await withGenerate();
    const waiting = world.talk.leased(B, { wait_ms: 20_000 });
    const receipt = await submitAndLease(world, [observed(['a', 'free'], ['b', 'free'])], { ...ALL, max: 1 });
    expect(idsOf(receipt)).toEqual(['batch-1/a/1']);
    expect(await waiting).toEqual(['batch-1/b/1']);
    const other = await withGenerate();
    expect(await submitAndLease(other, [observed(['a', 'free'])], { ...ALL, tools: ['other.*'] })).not.toHaveProperty(
      'granted',
    );
    expect(await other.talk.leased(B)).toEqual(['batch-1/a/1']);
  });

  test('is granted nothing when it is refused, and delays no waiting request', async () => {
    const world = await withGenerate();
    await world.talk.submit([observed(['a', 'free'])]);
    const waiting = world.talk.leased(B, { wait_ms: 20_000, kinds: ['tool.call'] });
    expect(await waiting).toEqual(['batch-1/a/1']);
    const refused = await submit(world, [{ ...observed(['x', 'free']), event_id: 'late' }], A);
    expect(refused).toMatchObject({ left: { code: 'batch_open' } });
    await world.talk.release(B, 'batch-1/a/1');
    expect(await world.talk.leased(A)).toEqual(['batch-1/a/1']);
  });

  test('is granted nothing when it did not become durable', async () => {
    const world = await withGenerate();
    world.disk.fault = ({ name }) => (name === 'append' ? 'refused' : null);
    expect(await submit(world, [observed(['a', 'free'])], A)).toMatchObject({ left: { code: 'storage_failed' } });
    world.disk.fault = () => null;
    expect(await world.talk.leased(B)).toEqual([]);
    expect(idsOf(await submitAndLease(world, [observed(['a', 'free'])]))).toEqual(['batch-1/a/1']);
  });

  test('without an owner is granted nothing', async () => {
    const world = await newWorld();
    await world.talk.create();
    const event = ingress({ kind: 'RunRequested', input: { text: 'go' } });
    const receipt = await must(world.talk.client.submit(SESSION, { events: [event], lease: ALL }));
    expect(receipt).not.toHaveProperty('granted');
  });

  test('delays effects of other submits only until its own answer', async () => {
    const world = await withGenerate();
    const waiting = world.talk.leased(B, { wait_ms: 20_000 });
    const receipts = await Promise.all([
      world.talk.submit([observed(['a', 'free'])]),
      submit(world, [{ kind: 'RunSteered', event_id: 'steer', run_id: 'run-1', input: { text: 'and' } }], A, {
        ...ALL,
        kinds: ['llm.generate'],
      }),
    ]);
    expect(receipts[1]).not.toHaveProperty('right.granted');
    expect(await waiting).toEqual(['batch-1/a/1']);
  });
});

describe('a submit whose answer was lost', () => {
  test('and that is sent again is granted the same effects under the same epochs, for another ttl', async () => {
    const world = await withGenerate();
    const event = observed(['a', 'read'], ['b', 'once']);
    const first = await submitAndLease(world, [event]);
    await world.clock.advance(TTL_MS / 2);
    const again = await submitAndLease(world, [event]);
    expect(again.events[0]).toMatchObject({ repeated: true });
    expect(again.granted).toEqual(first.granted);
    await world.clock.advance(TTL_MS * 0.9);
    expect(await world.talk.leased(B)).toEqual([]);
    const [a] = callsIn(again.granted ?? { effects: [] });
    expect(a === undefined ? 'none' : await world.talk.outcome(settled(a), A)).toBe('done');
  });

  test('is not granted effects of others, started calls, or new effects', async () => {
    const world = await withGenerate();
    const event = observed(['a', 'once'], ['b', 'free'], ['c', 'free']);
    const { granted = { effects: [] } } = await submitAndLease(world, [event]);
    const [a] = callsIn(granted);
    if (a !== undefined) await world.talk.submit([started(a, A)], A);
    await world.talk.release(A, 'batch-1/b/1', 'batch-1/c/1');
    expect(await world.talk.leased(B, { max: 1 })).toEqual(['batch-1/b/1']);
    expect(await submitAndLease(world, [event])).not.toHaveProperty('granted');
    expect(await world.talk.leased(B)).toEqual(['batch-1/c/1']);
  });

  test('and that is not sent again in time loses its leases', async () => {
    const world = await withGenerate();
    await submitAndLease(world, [observed(['a', 'free'])]);
    await world.clock.advance(2 * TTL_MS);
    expect(await world.talk.leased(B)).toEqual(['batch-1/a/1']);
    const again = await submitAndLease(world, [observed(['a', 'free'])]);
    expect(again).not.toHaveProperty('granted');
  });

  test('in a restart of the engine is granted nothing: any bridge may lease what is owed', async () => {
    const world = await withGenerate();
    await submitAndLease(world, [observed(['a', 'free'])]);
    await world.restart();
    expect(await submitAndLease(world, [observed(['a', 'free'])])).not.toHaveProperty('granted');
    expect(await world.talk.leased(A)).toEqual(['batch-1/a/1']);
  });
});

test('a report that names leases without their owner is refused', async () => {
  const { talk } = await withGenerate();
  const leases = [{ effect_id: brand<'EffectId'>('run-1/1/generate'), epoch: 1 }];
  const answer = await talk.client.submit(SESSION, { events: [ingress(observed())], leases })();
  expect(answer).toMatchObject({ _tag: 'Left', left: { code: 'invalid_shape', path: '/owner' } });
});
