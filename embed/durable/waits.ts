// Waiting for something that the record, or this process, will show: each wait looks again whenever something has changed, and
// one that names what it waits for only when that has. A turn may have a thousand calls, each of which waits.

export interface Waits {
  /**
   * Resolves once `found` gives a value other than undefined. Rejects with what `found` throws, with the error of `fail`, or
   * when the signal aborts. With a key, it looks again only for a change of that key, or of anything.
   */
  readonly until: <A>(found: () => A | undefined, signal?: AbortSignal, key?: string) => Promise<A>;
  /** Something has changed: what these keys name, or, without them, anything. */
  readonly look: (keys?: Iterable<string>) => void;
  /** Ends every wait that finds nothing, later ones too, with the first of these errors. */
  readonly fail: (error: unknown) => void;
}

export function newWaits(): Waits {
  const waits = new Map<string | undefined, Set<() => void>>();
  let fault: { readonly error: unknown } | null = null;

  const lookFor = (key: string | undefined): void => {
    for (const wait of waits.get(key) ?? []) wait();
  };

  const look = (keys: Iterable<string | undefined> = waits.keys()): void => {
    lookFor(undefined);
    // A wait that ends takes its key away.
    for (const key of Array.from(keys)) if (key !== undefined) lookFor(key);
  };

  return {
    until: <A>(found: () => A | undefined, signal?: AbortSignal, key?: string) =>
      new Promise<A>((resolve, reject) => {
        const mine = waits.get(key) ?? new Set();
        waits.set(key, mine);
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
          mine.delete(wait);
          if (mine.size === 0 && waits.get(key) === mine) waits.delete(key);
          signal?.removeEventListener('abort', wait);
        };
        mine.add(wait);
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
