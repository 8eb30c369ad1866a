// Time is a port: tests run the loop against a clock of their own.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `fn` once, after `ms`; the function it returns calls it off. */
  after(ms: number, fn: () => void): () => void;
  /** Calls `fn` once what is ready by now has been dealt with. */
  soon(fn: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
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
