// A clock that a test moves. Timers follow the time that passes; `jump` changes only what the clock shows, as when an
// operator sets the machine's clock.
import type { Clock } from '../../../src/clock.ts';

export interface VirtualClock extends Clock {
  /** Lets time pass: due timers fire in order, and what one causes happens before the next one fires. */
  advance(ms: number): Promise<void>;
  /** Changes what the clock shows, without time passing. */
  jump(ms: number): void;
  /** Timers that wait. */
  pending(): number;
}

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

export function newVirtualClock(startMs = 1_000_000): VirtualClock {
  const timers = new Set<Timer>();
  let passed = 0;
  let offset = startMs;

  const next = (untilMs: number): Timer | undefined =>
    [...timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];

  return {
    now: () => offset + Math.floor(passed),
    elapsed: () => passed,
    after(ms, fire) {
      const timer = { atMs: passed + Math.max(0, ms), fire };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const end = passed + ms;
      await rest();
      for (let timer = next(end); timer !== undefined; timer = next(end)) {
        timers.delete(timer);
        passed = Math.max(passed, timer.atMs);
        timer.fire();
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

/** Resolves when everything caused so far has happened, over stores in memory. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
