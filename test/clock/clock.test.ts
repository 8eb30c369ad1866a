// The steady clock: it never goes back, and is never slower than time.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newSteadyNow } from '../../src/clock.ts';

/** A machine whose clocks the test moves. */
function machine() {
  let wall = 1_700_000_000_000;
  let passed = 5_000;
  return {
    now: newSteadyNow(
      () => wall,
      () => passed,
    ),
    pass: (ms: number): void => {
      wall += ms;
      passed += ms;
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
    const { now, set } = machine();
    set(60_000);
    expect(now()).toBe(1_700_000_060_000);
    set(-3_600_000);
    expect(now()).toBe(1_700_000_060_000);
    set(30_000);
    expect(now()).toBe(1_700_000_090_000);
  });

  test('never goes back and is never slower than time, in any sequence of changes', () => {
    const step = fc.record({ pass: fc.nat({ max: 5_000 }), set: fc.integer({ min: -10_000_000, max: 10_000_000 }) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { now, pass, set } = machine();
        for (const { pass: ms, set: by } of steps) {
          const before = now();
          set(by);
          pass(ms);
          expect(now() - before).toBeGreaterThanOrEqual(ms);
          expect(now() - before).toBeLessThanOrEqual(ms + Math.max(0, by) + 1_000);
        }
      }),
    );
  });
});
