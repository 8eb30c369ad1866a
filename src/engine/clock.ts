// Time as a port: the engine's only clock. Tests and the simulator bring their own.
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. May jump; nothing relies on it going forward. */
  now(): number;
  /** Calls `then` once after `ms` milliseconds; the answer cancels it. */
  after(ms: number, then: () => void): () => void;
}

/** The longest time a timer of the platform takes, in milliseconds; later deadlines are set again when it rings. */
const TIMER_MS_MAX = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, then) => {
    const timer = setTimeout(then, Math.min(Math.max(0, ms), TIMER_MS_MAX));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
