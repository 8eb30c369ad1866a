// Waiting for something that the record, or this process, will show: each wait looks again whenever something has changed.

export interface Waits {
  /**
   * Resolves once `found` gives a value other than undefined. Rejects with what `found` throws, with the error of `fail`, or
   * when the signal aborts.
   */
  readonly until: <A>(found: () => A | undefined, signal?: AbortSignal) => Promise<A>;
  /** Something has changed: every wait looks again. */
  readonly look: () => void;
  /** Ends every wait that finds nothing, later ones too, with the first of these errors. */
  readonly fail: (error: unknown) => void;
}

export function newWaits(): Waits {
  const waits = new Set<() => void>();
  let fault: { readonly error: unknown } | null = null;

  const look = (): void => {
    for (const wait of waits) wait();
  };

  return {
    until: <A>(found: () => A | undefined, signal?: AbortSignal) =>
      new Promise<A>((resolve, reject) => {
        const wait = (): void => {
          try {
            signal?.throwIfAborted();
            const value = found();
            if (value !== undefined) resolve(value);
            else if (fault !== null) reject(fault.error);
            else return;
          } catch (error) {
            // The error is of this wait alone: it must not reach what has changed, nor the other waits.
            reject(error);
          }
          waits.delete(wait);
          signal?.removeEventListener('abort', wait);
        };
        waits.add(wait);
        signal?.addEventListener('abort', wait, { once: true });
        wait();
      }),
    look,
    fail(error) {
      fault ??= { error };
      look();
    },
  };
}
