// Regression, found by the simulator: leases shorter than the delay of the first heartbeat were lost.
import { right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { newHeldLeases } from '../../../bridge/engine-link/held-leases.ts';
import { brand } from '../../../schemas/ids.ts';
import type { Effect } from '../../../schemas/effect.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { countTimers, newVirtualClock } from '../../support/bridge/virtual-clock.ts';

test('sends heartbeats every third of the lease duration that the first grant states, even if it planned a later one', async () => {
  const clock = newVirtualClock();
  const start = clock.now();
  const beats: number[] = [];
  const heartbeat: EngineClient['heartbeat'] = () => async () => {
    beats.push(clock.now() - start);
    clock.touch();
    return right({ lost: [] });
  };
  const client = { heartbeat } as Partial<EngineClient> as EngineClient;
  const leases = newHeldLeases({ client, owner: brand<'OwnerId'>('bridge-a'), clock, log: () => undefined });
  const stop = new AbortController();
  const beating = leases.heartbeat(stop.signal);
  const effect = { session_id: 's-1', effect_id: 'batch-1/a/1' } as Partial<Effect> as Effect;
  leases.hold({ effect, epoch: 1, askedAtMs: start }, () => undefined);
  await clock.settle();
  leases.setTtl(900);
  await clock.until(() => beats.length === 3);
  expect(beats).toEqual([300, 600, 900]);
  stop.abort();
  await beating;
});

test('a heartbeat without an answer does not delay the next one', async () => {
  const clock = newVirtualClock();
  const never = new Promise<never>(() => undefined);
  let beats = 0;
  const heartbeat: EngineClient['heartbeat'] = () => () => {
    beats += 1;
    clock.touch();
    return beats === 1 ? never : Promise.resolve(right({ lost: [] }));
  };
  const client = { heartbeat } as Partial<EngineClient> as EngineClient;
  const leases = newHeldLeases({ client, owner: brand<'OwnerId'>('bridge-a'), clock, log: () => undefined });
  leases.setTtl(900);
  const stop = new AbortController();
  const beating = leases.heartbeat(stop.signal);
  const effect = { session_id: 's-1', effect_id: 'batch-1/a/1' } as Partial<Effect> as Effect;
  const heldAt = clock.now();
  leases.hold({ effect, epoch: 1, askedAtMs: heldAt }, () => undefined);
  await clock.until(() => beats === 3);
  expect([clock.now() - heldAt, leases.isFresh(effect)]).toEqual([900, true]);
  stop.abort();
  await beating;
});

test('sets no timer while no lease is held, and sends heartbeats on time once one is', async () => {
  const clock = newVirtualClock();
  const counted = countTimers(clock);
  const beats: number[] = [];
  const heartbeat: EngineClient['heartbeat'] = () => async () => {
    beats.push(clock.now());
    return right({ lost: [] });
  };
  const client = { heartbeat } as Partial<EngineClient> as EngineClient;
  const leases = newHeldLeases({
    client,
    owner: brand<'OwnerId'>('bridge-a'),
    clock: counted.clock,
    log: () => undefined,
  });
  leases.setTtl(900);
  const stop = new AbortController();
  const beating = leases.heartbeat(stop.signal);
  await clock.settle();
  expect(counted.timers()).toBe(0);
  const effect = { session_id: 's-1', effect_id: 'batch-1/a/1' } as Partial<Effect> as Effect;
  const heldAt = clock.now();
  leases.hold({ effect, epoch: 1, askedAtMs: heldAt }, () => undefined);
  await clock.until(() => beats.length === 2);
  expect(beats).toEqual([heldAt + 300, heldAt + 600]);
  leases.end(effect);
  // The planned timer still fires, sends nothing, and is the last one.
  let passed = false;
  clock.after(10_000, () => {
    passed = true;
  });
  await clock.until(() => passed);
  expect([beats.length, counted.timers()]).toEqual([2, 3]);
  stop.abort();
  await beating;
});

test('a lease is fresh for its duration, counted from the last request that the engine confirmed', async () => {
  const clock = newVirtualClock();
  const at = clock.now();
  const client = {} as Partial<EngineClient> as EngineClient;
  const leases = newHeldLeases({ client, owner: brand<'OwnerId'>('bridge-a'), clock, log: () => undefined });
  const effect = { session_id: 's-1', effect_id: 'batch-1/a/1' } as Partial<Effect> as Effect;
  leases.hold({ effect, epoch: 1, askedAtMs: at }, () => undefined);
  leases.setTtl(900);
  const advance = async (ms: number): Promise<void> => {
    let over = false;
    clock.after(ms, () => {
      over = true;
    });
    await clock.until(() => over);
  };
  await advance(899);
  expect(leases.isFresh(effect)).toBe(true);
  await advance(1);
  expect(leases.isFresh(effect)).toBe(false);
  // A report on it was accepted meanwhile; a confirmation of an older request changes nothing.
  leases.confirm(effect, at + 500);
  leases.confirm(effect, at + 100);
  expect(leases.isFresh(effect)).toBe(true);
  await advance(500);
  expect(leases.isFresh(effect)).toBe(false);
  leases.end(effect);
  expect(leases.isFresh(effect)).toBe(false);
});
