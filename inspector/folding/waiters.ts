// Those who wait until a stream is folded up to a position.

export interface Waiters {
  /** Resolves when so many events are folded; rejects when the fold ends before. */
  wait(at: number): Promise<void>;
  /** Looks at all that wait. */
  look(): void;
}

export interface WaitedFor {
  readonly isAt: (at: number) => boolean;
  readonly hasEnded: () => boolean;
  readonly why: (at: number) => Error;
}

export function newWaiters({ isAt, hasEnded, why }: WaitedFor): Waiters {
  const waiting = new Set<{
    readonly at: number;
    readonly resolve: () => void;
    readonly reject: (why: Error) => void;
  }>();
  return {
    async wait(at) {
      if (isAt(at)) return;
      if (hasEnded()) throw why(at);
      await new Promise<void>((resolve, reject) => void waiting.add({ at, resolve, reject }));
    },
    look() {
      for (const waiter of waiting) {
        if (!isAt(waiter.at) && !hasEnded()) continue;
        waiting.delete(waiter);
        if (isAt(waiter.at)) waiter.resolve();
        else waiter.reject(why(waiter.at));
      }
    },
  };
}
