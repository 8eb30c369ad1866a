// The clock port of engine and bridge. Tests and the simulator pass their own clocks.
import { uptime } from 'node:os';

export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. May jump; no caller relies on it going forward. */
  now(): number;
  /** Milliseconds since some moment, with fractions: waits are counted with it, because no one can set it. */
  elapsed(): number;
  /** Calls `then` once, after `ms` milliseconds; the returned function cancels the call. */
  after(ms: number, then: () => void): () => void;
}

/** The clock of a bridge, which also groups the reports of one turn of the event loop. */
export interface BridgeClock extends Clock {
  /** Calls `then` after the events that are ready now have been handled. */
  soon(then: () => void): void;
}

/** The longest delay of a platform timer, in milliseconds; a timer for a later deadline fires early and is set again. */
const TIMER_MS_MAX = 2_147_483_647;

/** A difference of this many ms between the machine's clock and the time passed means that it was set or has slept. */
const SET_MS = 1_000;

/** What a machine shows of time, in milliseconds. */
export interface MachineTime {
  /** Since 1970; may be set. */
  readonly wall: () => number;
  /** Monotonic; stops while the machine sleeps. */
  readonly awake: () => number;
  /** Monotonic; counts sleep, but is coarse and slow to read. */
  readonly up: () => number;
}

/** The time that has passed, with the time that the machine slept. `up` is read only when the other two disagree. */
export function newElapsed({ wall, awake, up }: MachineTime): () => number {
  let ahead = wall() - awake();
  const before = up() - awake();
  let slept = 0;
  return () => {
    const passed = awake();
    const change = wall() - passed - ahead;
    if (Math.abs(change) > SET_MS) {
      ahead += change;
      const more = up() - awake() - before - slept;
      if (more > SET_MS) slept += more;
    }
    return passed + slept;
  };
}

/**
 * The time of `wall`, never less than the time before and what has passed since: when `wall` is set back, the result goes
 * on from where it was until `wall` has caught up. So it leads by no more than what `wall` itself once showed.
 */
export function newSteadyNow(wall: () => number, elapsed: () => number): () => number {
  let base = wall() - elapsed();
  return () => {
    const passed = elapsed();
    base = Math.max(base, wall() - passed);
    return Math.floor(base + passed);
  };
}

/** The same clock, which no one can set back. */
export const steadyClock = (clock: Clock): Clock => ({
  now: newSteadyNow(
    () => clock.now(),
    () => clock.elapsed(),
  ),
  elapsed: () => clock.elapsed(),
  after: (ms, then) => clock.after(ms, then),
});

const elapsed = newElapsed({
  wall: () => Date.now(),
  awake: () => performance.now(),
  up: () => uptime() * 1_000,
});
const now = newSteadyNow(() => Date.now(), elapsed);

const startTimer = (ms: number, then: () => void): NodeJS.Timeout =>
  setTimeout(then, Math.min(Math.max(0, ms), TIMER_MS_MAX));

/** The machine's clock. A pending timer keeps the process alive. */
export const systemClock: BridgeClock = {
  now,
  elapsed,
  after(ms, then) {
    const timer = startTimer(ms, then);
    return () => clearTimeout(timer);
  },
  soon: (then) => void setImmediate(then),
};

/** The machine's clock for background work: its timers do not keep the process alive. */
export const backgroundClock: Clock = {
  now,
  elapsed,
  after(ms, then) {
    const timer = startTimer(ms, then).unref();
    return () => clearTimeout(timer);
  },
};

/** Waits `ms` milliseconds; returns early, without an error, when one of the signals aborts. */
export function sleep(clock: Clock, ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some((signal) => signal.aborted)) {
      resolve();
      return;
    }
    const done = (): void => {
      for (const signal of signals) signal.removeEventListener('abort', done);
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, done);
    for (const signal of signals) signal.addEventListener('abort', done);
  });
}
