// A clock whose time passes only while nothing else happens.
import type { BridgeClock } from '../../../src/clock.ts';

export interface VirtualClock extends BridgeClock {
  /** Reports activity: time must not pass yet. */
  touch(): void;
  /** Lets time pass until the condition holds; throws when `maxMs` have passed without it. */
  until(condition: () => boolean, maxMs?: number): Promise<void>;
  /** Waits until nothing more happens, without letting time pass. */
  settle(): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly fn: () => void;
}

/** After so many turns of the event loop without activity, nothing more is expected to happen. */
const QUIET_TURNS = 3;

export function newVirtualClock(start = 1_000_000): VirtualClock {
  const timers = new Set<Timer>();
  let now = start;
  let changes = 0;

  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
      const before = changes;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      if (changes !== before) quiet = -1;
    }
  }

  return {
    now: () => now,
    elapsed: () => now,
    after(ms, fn) {
      changes += 1;
      const timer = { at: now + Math.max(0, ms), fn };
      timers.add(timer);
      return () => {
        changes += 1;
        timers.delete(timer);
      };
    },
    soon: (fn) => void setImmediate(fn),
    touch() {
      changes += 1;
    },
    settle,
    async until(condition, maxMs = 3_600_000) {
      const end = now + maxMs;
      for (;;) {
        await settle();
        if (condition()) return;
        const next = Math.min(...[...timers].map(({ at }) => at));
        if (next > end)
          throw new Error(`the condition was not met, and nothing more happens (${now - start} ms after the start)`);
        now = Math.max(now, next);
        // Timers due at the same time fire in the same turn, as real timers do.
        for (const timer of timers) if (timer.at <= now && timers.delete(timer)) timer.fn();
      }
    },
  };
}

/** The same clock, and how many timers were set with it. */
export function countTimers(clock: BridgeClock): { readonly clock: BridgeClock; readonly timers: () => number } {
  let timers = 0;
  const after: BridgeClock['after'] = (ms, fn) => {
    timers += 1;
    return clock.after(ms, fn);
  };
  return { clock: { ...clock, after }, timers: () => timers };
}
