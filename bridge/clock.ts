// Time is a port: tests run the loop against a clock of their own.

export interface Clock {
  /** Milliseconds since 1970. One that goes back makes a lease look younger than it is. */
  now(): number;
  /** Calls `fn` once, after `ms`; the function it returns calls it off. */
  after(ms: number, fn: () => void): () => void;
  /** Calls `fn` once what is ready by now has been dealt with. */
  soon(fn: () => void): void;
}

/** By how many milliseconds the machine's clock must differ from the time that has passed to have been set, or slept. */
const SET_MS = 1_000;

/**
 * The time of the machine when this begins, and from then on what has passed: `wall` may be set, and when it is set back
 * nothing gets younger; `passed` stands still while the machine sleeps, which `wall` then tells. Both in milliseconds.
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

export const systemClock: Clock = {
  now: newSteadyNow(
    () => Date.now(),
    () => performance.now(),
  ),
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
  soon: (fn) => void setImmediate(fn),
};

/** Waits so many milliseconds; returns early, without an error, when one of the signals aborts. */
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

/** Doubles with each attempt (0, 1, …) up to `maxMs`, and takes between half and all of that. */
export function backoffMs(
  attempt: number,
  random: () => number,
  bounds: { readonly baseMs: number; readonly maxMs: number },
): number {
  const full = Math.min(bounds.maxMs, bounds.baseMs * 2 ** Math.min(attempt, 30));
  return Math.round(full * (0.5 + random() / 2));
}
