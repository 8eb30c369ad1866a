// The bridge's own clock: never back, and not slower than time.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newSteadyNow } from '../../src/clock.ts';

/** A machine whose clocks are moved by hand. */
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

describe('the clock of a bridge', () => {
  test('begins as the clock of the machine, and goes on with it', () => {
    const { now, pass } = machine();
    expect(now()).toBe(1_700_000_000_000);
    pass(1_234);
    expect(now()).toBe(1_700_000_001_234);
  });

  test('goes on when the clock of the machine is set back', () => {
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

  test('whatever happens, never goes back and is never slower than time', () => {
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
