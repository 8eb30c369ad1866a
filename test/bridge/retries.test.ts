// A call that failed with a transient error is owed again as a new attempt; calls that depend on it in the plan wait.
import { expect, test } from 'vitest';
import type { Executor } from '../../bridge/executors/executors.ts';
import { call, newWorld, resultsOf, statusOf, textOfEntry } from '../support/bridge/harness.ts';

/** Runs `a`, which fails `failures` times, and `b`, which waits for it; returns what ran, and the results. */
async function runWith(failures: number, attempts_max: number): Promise<readonly unknown[]> {
  const ran: string[] = [];
  const flaky: Executor = {
    tools: ['test.*'],
    run: ({ call_id }) => {
      ran.push(call_id);
      const fails = call_id === 'a' && ran.length <= failures;
      return Promise.resolve(
        fails ? { success: false, code: 'busy', text: 'busy', retryable: true } : { success: true, text: call_id },
      );
    },
  };
  const retry = { attempts_max, base_ms: 100, cap_ms: 150 };
  const turn = [call('a', 'read', { path: 'x' }), call('b', 'write', { path: 'x' })];
  const world = newWorld({ turns: [turn, [call('c', 'read')]], config: { retry } });
  const bridge = world.start({ executors: [flaky] });
  world.request();
  await world.finish();
  expect(statusOf(world)).toBe('completed');
  await bridge.stop();
  expect(world.engine.leases.size).toBe(0);
  return [ran.join(' '), resultsOf(world).map(textOfEntry).join(' ')];
}

test('a call that failed with a transient error is run again, and calls that depend on it wait for that', async () => {
  expect(await runWith(2, 3)).toEqual(['a a a b c', 'a b c']);
});

test('after its last attempt has failed, calls that depend on it run', async () => {
  expect(await runWith(9, 2)).toEqual(['a a b c', 'busy b c']);
  expect(await runWith(9, 1)).toEqual(['a b c', 'busy b c']);
});
