// The clock port of engine and bridge. Tests and the simulator pass their own clocks.

export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. May jump; no caller relies on it going forward. */
  now(): number;
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

/**
 * The machine's time at the start plus the time passed since. `wall` is the machine's clock, which may be set; when it is
 * set back, the result does not go back. `passed` is monotonic and stops while the machine sleeps, which `wall` shows.
 * Both return milliseconds.
 */
export function newSteadyNow(wall: () => number, passed: () => number): () => number {
  let ahead = wall() - passed();
  let base = ahead;
  return () => {
    const now = passed();
    const change = wall() - now - ahead;
    if (Math.abs(change) > SET_MS) {
      ahead += change;
      base += Math.max(0, change);
    }
    return Math.floor(base + now);
  };
}

const now = newSteadyNow(
  () => Date.now(),
  () => performance.now(),
);

const startTimer = (ms: number, then: () => void): NodeJS.Timeout =>
  setTimeout(then, Math.min(Math.max(0, ms), TIMER_MS_MAX));

/** The machine's clock. A pending timer keeps the process alive. */
export const systemClock: BridgeClock = {
  now,
  after(ms, then) {
    const timer = startTimer(ms, then);
    return () => clearTimeout(timer);
  },
  soon: (then) => void setImmediate(then),
};

/** The machine's clock for background work: its timers do not keep the process alive. */
export const backgroundClock: Clock = {
  now,
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
