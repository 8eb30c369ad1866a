// A bridge that stops during a lease request, before it starts, or with work whose lease is lost.
import { left, right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { combineExecutors, runBridge } from '../../bridge/index.ts';
import { noBridgeLedger } from '../../bridge/ledger/bridge-ledger.ts';
import { newHeldLeases } from '../../bridge/engine-link/held-leases.ts';
import type { Effect } from '../../schemas/effect.ts';
import { brand } from '../../schemas/ids.ts';
import { reject } from '../../schemas/rejection.ts';
import type { Release } from '../../schemas/wire.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { newVirtualClock } from '../support/bridge/virtual-clock.ts';

const owner = brand<'OwnerId'>('bridge-a');
const effect = { kind: 'batch.settle', session_id: 's-1', effect_id: 'batch-1/settle' } as Partial<Effect> as Effect;

function bridgeOf(client: Partial<EngineClient>, signal: AbortSignal, more: Partial<Parameters<typeof runBridge>[0]>) {
  const clock = newVirtualClock();
  let ended = false;
  const served = runBridge({
    client: client as EngineClient,
    owner,
    executors: combineExecutors([]),
    provider: { generate: () => Promise.reject(new Error('unused')) },
    clock,
    random: () => 0.5,
    log: () => undefined,
    signal,
    ...more,
  }).finally(() => {
    ended = true;
  });
  return { clock, served, ended: () => clock.until(() => ended, 10_000) };
}

test('a grant that arrives while the bridge stops is given back', async () => {
  const stop = new AbortController();
  const released: Release[] = [];
  const stopped = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve());
  });
  let asked = (): void => undefined;
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const lease: EngineClient['lease'] = () => async () => {
    asked();
    await stopped;
    return right({ effects: [effect], epochs: [1], plans: [], ttl_ms: 15_000 });
  };
  const release: EngineClient['release'] = (request) => () => {
    released.push(request);
    return Promise.resolve(right({ lost: [] }));
  };
  const bridge = bridgeOf({ lease, release }, stop.signal, {});
  await isAsked;
  stop.abort();
  await bridge.ended();
  await bridge.served;
  expect(released).toEqual([{ owner, leases: [], all: true }]);
});

test('a bridge that is stopped before it starts does not wait for an engine that is away', async () => {
  const away = () => () => Promise.resolve(left(reject('closing', '', 'the engine is away')));
  const predecessors = [{ owner: brand<'OwnerId'>('bridge-0'), entries: [], file: 'f' }];
  const client = { lease: away, release: away, submit: away };
  const bridge = bridgeOf(client, AbortSignal.abort(), { ledger: { ...noBridgeLedger, predecessors } });
  await bridge.ended();
  await expect(bridge.served).resolves.toBeUndefined();
});

test('the epoch of a lost lease is kept until its work has ended', async () => {
  const clock = newVirtualClock();
  const { session_id, effect_id } = effect;
  const lost = [{ session_id, effect_id, epoch: 1 }];
  const heartbeat: EngineClient['heartbeat'] = () => () => Promise.resolve(right({ lost }));
  const client = { heartbeat } as Partial<EngineClient> as EngineClient;
  const leases = newHeldLeases({ client, owner, clock, log: () => undefined });
  const stop = new AbortController();
  const beating = leases.heartbeat(stop.signal);
  let losses = 0;
  leases.hold({ effect, epoch: 1, askedAtMs: clock.now() }, () => {
    losses += 1;
  });
  await clock.until(() => losses === 1);
  expect([leases.isFresh(effect), leases.epochOf(effect)]).toEqual([false, 1]);
  // Granted again before the work under the lost lease had ended.
  leases.hold({ effect, epoch: 2, askedAtMs: clock.now() }, () => undefined);
  leases.forgetLost(effect);
  expect(leases.epochOf(effect)).toBe(2);
  leases.end(effect);
  expect(leases.epochOf(effect)).toBeUndefined();
  stop.abort();
  await beating;
});
