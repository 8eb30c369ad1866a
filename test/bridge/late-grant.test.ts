// The answer to a lease request may arrive after the leases have expired. Another bridge may hold the effects by then, so
// the bridge must not begin work on them.
import { right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { combineExecutors, runBridge } from '../../bridge/index.ts';
import type { Effect } from '../../schemas/effect.ts';
import { brand } from '../../schemas/ids.ts';
import type { LeaseGrant, LeaseRequest } from '../../schemas/wire.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { newVirtualClock } from '../support/bridge/virtual-clock.ts';

const TTL_MS = 15_000;

const generate: Effect = {
  kind: 'llm.generate',
  effect_id: brand('run-1/turn-1'),
  session_id: brand('s-1'),
  run_id: brand('run-1'),
  turn: 1,
  provider: 'p',
  model: 'm',
  instructions: null,
  output_tokens_max: null,
  tools: [],
  transcript: { count: 0, sealed: [], open: [] },
  tool_concurrency_max: 1,
};

/** Delays the answer to the first lease request by `ms`; returns how many generates were begun, and all requests. */
async function grantedAfter(ms: number): Promise<{ begun: number; asked: readonly LeaseRequest[] }> {
  const clock = newVirtualClock();
  const stop = new AbortController();
  const asked: LeaseRequest[] = [];
  let begun = 0;
  const grant: LeaseGrant = { effects: [generate], epochs: [1], plans: [], ttl_ms: TTL_MS };
  const nothing: LeaseGrant = { ...grant, effects: [], epochs: [] };
  const stopped = new Promise<LeaseGrant>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(nothing));
  });
  const lease: EngineClient['lease'] = (request) => async () => {
    asked.push(request);
    if (asked.length > 1) return right(await stopped);
    return await new Promise((resolve) => {
      clock.after(ms, () => resolve(right(grant)));
    });
  };
  const heartbeat: EngineClient['heartbeat'] = () => () => Promise.resolve(right({ lost: [] }));
  const release: EngineClient['release'] = () => () => Promise.resolve(right({ lost: [] }));
  const served = runBridge({
    client: { lease, heartbeat, release } as Partial<EngineClient> as EngineClient,
    owner: brand('bridge-a'),
    executors: combineExecutors([]),
    provider: {
      generate: async () => {
        begun += 1;
        await stopped;
        throw new Error('stopped');
      },
    },
    clock,
    random: () => 0.5,
    log: () => undefined,
    signal: stop.signal,
  });
  await clock.until(() => asked.length === 2);
  await clock.settle();
  stop.abort();
  // The generate is stopped, and the bridge waits for its grace period.
  let ended = false;
  void served.finally(() => {
    ended = true;
  });
  await clock.until(() => ended);
  return { begun, asked };
}

test('an effect is begun only if its grant arrives before the lease may have expired', async () => {
  expect((await grantedAfter(TTL_MS - 1)).begun).toBe(1);
  expect((await grantedAfter(TTL_MS)).begun).toBe(0);
});

test('a lease request waits for half the duration of a lease, and not at all while that is unknown', async () => {
  const { asked } = await grantedAfter(1);
  expect(asked.map(({ wait_ms }) => wait_ms)).toEqual([0, TTL_MS / 2]);
});
