// The bridge asks the engine about other bridges' calls only while a call waits for them.
import { right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import type { CallSchedule } from '../../../bridge/calls/call-schedule.ts';
import { newLink } from '../../../bridge/engine-link/link.ts';
import { newOtherBridgesWatch } from '../../../bridge/calls/watch-other-bridges.ts';
import { brand } from '../../../schemas/ids.ts';
import { WATCH_EVERY_MS } from '../../../schemas/limits.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { defaultGenesis, initialState } from '../../../src/core/index.ts';
import { countTimers, newVirtualClock } from '../../support/bridge/virtual-clock.ts';

test('polls the engine while a call waits for one of another bridge, and sets no timer otherwise', async () => {
  const clock = newVirtualClock();
  const start = clock.now();
  const counted = countTimers(clock);
  const asked: number[] = [];
  const session: EngineClient['session'] = () => async () => {
    asked.push(clock.now() - start);
    return right({ state: initialState(defaultGenesis()) } as never);
  };
  const client = { session } as Partial<EngineClient> as EngineClient;
  const { signal } = new AbortController();
  const link = newLink({ clock: counted.clock, random: () => 0, log: () => undefined, signal });
  let waits = false;
  const known = {
    isWaiting: () => waits,
    blockedElsewhere: () => [brand<'SessionId'>('s-1')],
    observe: () => undefined,
  };
  const schedule = known as Partial<CallSchedule> as CallSchedule;
  const watch = newOtherBridgesWatch({
    client,
    clock: counted.clock,
    link,
    schedule,
    startReady: () => watch.checkLater(),
    signal,
  });

  watch.checkLater();
  await clock.settle();
  expect(counted.timers()).toBe(0);
  waits = true;
  watch.checkLater();
  watch.checkLater();
  await clock.until(() => asked.length === 3);
  expect(asked).toEqual([WATCH_EVERY_MS, 2 * WATCH_EVERY_MS, 3 * WATCH_EVERY_MS]);
  waits = false;
  await clock.until(() => asked.length === 4);
  await clock.settle();
  expect(counted.timers()).toBe(4);
});
