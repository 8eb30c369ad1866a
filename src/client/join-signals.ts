// Joins several signals into one, for the duration of one request.
import { platform } from '#client-platform';

export interface JoinedSignal {
  readonly signal: AbortSignal;
  /** Removes its listeners from the joined signals; call it when the request is over. */
  readonly release: () => void;
}

/**
 * A signal that aborts with the first of these. Not `AbortSignal.any`: on Node 20 a long-lived signal keeps 1 kB for
 * each signal ever derived from it (measured over 200,000).
 */
export function joinSignals(...signals: readonly (AbortSignal | undefined)[]): JoinedSignal {
  const joined = new AbortController();
  const sources = signals.filter((signal) => signal !== undefined);
  const release = (): void => {
    for (const source of sources) source.removeEventListener('abort', abort);
  };
  function abort(): void {
    release();
    joined.abort();
  }
  // Many requests may listen at a time, which is not a leak.
  platform.allowManyListeners(sources);
  for (const source of sources) source.addEventListener('abort', abort, { once: true });
  if (sources.some((source) => source.aborted)) abort();
  return { signal: joined.signal, release };
}
