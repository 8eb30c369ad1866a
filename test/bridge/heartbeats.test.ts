// Found by the simulator: an engine with leases shorter than the bridge's first beat took its calls away from it.
import { right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { newLeases } from '../../bridge/leases.ts';
import { brand } from '../../schemas/ids.ts';
import type { Effect } from '../../schemas/effect.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { newVirtualClock } from '../support/bridge/virtual-clock.ts';

test('a bridge beats within a third of the life that the first grant names, however long it thought before', async () => {
  const clock = newVirtualClock();
  const start = clock.now();
  const beats: number[] = [];
  const heartbeat: EngineClient['heartbeat'] = () => async () => {
    beats.push(clock.now() - start);
    clock.touch();
    return right({ lost: [] });
  };
  const client = { heartbeat } as Partial<EngineClient> as EngineClient;
  const leases = newLeases({ client, owner: brand<'OwnerId'>('bridge-a'), clock, log: () => undefined });
  const stop = new AbortController();
  const beating = leases.beat(stop.signal);
  const effect = { session_id: 's-1', effect_id: 'batch-1/a/1' } as Partial<Effect> as Effect;
  leases.hold({ effect, epoch: 1, askedAtMs: start }, () => undefined);
  await clock.settle();
  leases.setTtl(900);
  await clock.until(() => beats.length === 3);
  expect(beats).toEqual([300, 600, 900]);
  stop.abort();
  await beating;
});
