// The steady clock: it never goes back, is never slower than time, and leads by no more than the machine's clock once did.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newElapsed, newSteadyNow } from '../../src/clock.ts';

/** A machine whose clocks the test moves. */
function machine() {
  let wall = 1_700_000_000_000;
  let awake = 5_000;
  let up = 90_000;
  const elapsed = newElapsed({ wall: () => wall, awake: () => awake, up: () => Math.round(up / 10) * 10 });
  return {
    elapsed,
    now: newSteadyNow(() => wall, elapsed),
    pass: (ms: number): void => {
      wall += ms;
      awake += ms;
      up += ms;
    },
    sleep: (ms: number): void => {
      wall += ms;
      up += ms;
    },
    set: (ms: number): void => {
      wall += ms;
    },
  };
}

describe('the steady clock', () => {
  test('starts at the time of the machine, and advances with it', () => {
    const { now, pass } = machine();
    expect(now()).toBe(1_700_000_000_000);
    pass(1_234);
    expect(now()).toBe(1_700_000_001_234);
  });

  test('advances when the clock of the machine is set back', () => {
    const { now, pass, set } = machine();
    set(-3_600_000);
    expect(now()).toBe(1_700_000_000_000);
    pass(2_000);
    expect(now()).toBe(1_700_000_002_000);
  });

  test('counts the time that the machine has slept, also after it was set back', () => {
    const { now, elapsed, set, sleep } = machine();
    const began = elapsed();
    sleep(60_000);
    expect(now()).toBe(1_700_000_060_000);
    set(-3_600_000);
    expect(now()).toBe(1_700_000_060_000);
    sleep(30_000);
    expect(now()).toBe(1_700_000_090_000);
    expect(elapsed() - began).toBe(90_000);
  });

  test('counts no time when it is set', () => {
    const { elapsed, set } = machine();
    for (const ms of [3_600_000, -7_200_000, 3_600_000]) {
      set(ms);
      expect(elapsed()).toBe(5_000);
    }
  });

  test('never goes back, is never slower than time, and never leads more than the clock once did, whatever happens', () => {
    const step = fc.record({
      pass: fc.nat({ max: 5_000 }),
      sleep: fc.constantFrom(0, 0, 2_000, 100_000),
      set: fc.integer({ min: -10_000_000, max: 10_000_000 }),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { now, pass, set, sleep } = machine();
        let time = 1_700_000_000_000;
        let aheadMs = 0;
        let mostMs = 0;
        for (const { pass: ms, set: by, sleep: slept } of steps) {
          const before = now();
          set(by);
          aheadMs += by;
          mostMs = Math.max(mostMs, aheadMs);
          now();
          pass(ms);
          sleep(slept);
          time += ms + slept;
          // Less than a second of sleep cannot be told from a clock that runs unevenly.
          expect(now() - before).toBeGreaterThanOrEqual(ms + slept - 20);
          expect(now() - time).toBeLessThanOrEqual(mostMs + 20);
        }
      }),
    );
  });
});
