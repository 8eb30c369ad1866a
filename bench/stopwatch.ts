// Measures from the first generate of any session to the generate after the last turn of the last session.

export interface Stopwatch {
  /** `atMs` is in milliseconds, by one clock for all marks. */
  mark(session: string, which: 'first' | 'last', atMs: number): void;
  /** Restarts. Resolves with the milliseconds when so many sessions have finished. */
  time(sessions: number): Promise<number>;
}

export function newStopwatch(): Stopwatch {
  let first = Infinity;
  let last = -Infinity;
  let left = 0;
  let done: (ms: number) => void = () => undefined;
  return {
    mark(_session, which, atMs) {
      if (which === 'first') {
        first = Math.min(first, atMs);
        return;
      }
      last = Math.max(last, atMs);
      left -= 1;
      if (left === 0) done(last - first);
    },
    time(sessions) {
      first = Infinity;
      last = -Infinity;
      left = sessions;
      return new Promise((resolve) => {
        done = resolve;
      });
    },
  };
}
