// The time from the first generate of any session to the one after the last turn of all of them.

export interface Stopwatch {
  /** `atMs`: milliseconds, by any clock that all marks share. */
  mark(session: string, which: 'first' | 'last', atMs: number): void;
  /** Starts anew, and gives the milliseconds once so many sessions are through. */
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
