// A clock that a test moves. Timers follow the time that passes; `jump` moves what the clock says and nothing else, as
// when somebody sets the machine's clock.
import type { Clock } from '../../../src/clock.ts';

export interface VirtualClock extends Clock {
  /** Lets time pass: every timer that falls due rings in order, and what it causes happens before the next one. */
  advance(ms: number): Promise<void>;
  /** Changes what the clock says, without time passing. */
  jump(ms: number): void;
  /** Timers that wait. */
  pending(): number;
}

interface Timer {
  readonly atMs: number;
  readonly ring: () => void;
}

export function newVirtualClock(startMs = 1_000_000): VirtualClock {
  const timers = new Set<Timer>();
  let passed = 0;
  let offset = startMs;

  const next = (untilMs: number): Timer | undefined =>
    [...timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];

  return {
    now: () => offset + Math.floor(passed),
    after(ms, ring) {
      const timer = { atMs: passed + Math.max(0, ms), ring };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const end = passed + ms;
      await rest();
      for (let timer = next(end); timer !== undefined; timer = next(end)) {
        timers.delete(timer);
        passed = Math.max(passed, timer.atMs);
        timer.ring();
        await rest();
      }
      passed = end;
    },
    jump(ms) {
      offset += ms;
    },
    pending: () => timers.size,
  };
}

/** Everything that follows from what was done so far, over stores in memory, has happened. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
