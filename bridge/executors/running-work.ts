// The work in progress of one bridge: what it waits for when it stops, and the fault that ends it.

export interface RunningWork {
  /** Follows work until it ends, then calls `onEnd`. A rejection is a fault of the bridge. */
  track(work: Promise<void>, onEnd?: () => void): void;
  count(): number;
  /** Resolves when the work that runs now has ended. */
  ended(): Promise<unknown>;
  /** Rejects with the first fault; never resolves. */
  readonly failed: Promise<never>;
}

export function newRunningWork(): RunningWork {
  const running = new Set<Promise<void>>();
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);

  async function follow(work: Promise<void>, onEnd?: () => void): Promise<void> {
    try {
      await work;
    } catch (error) {
      fail(error);
    }
    onEnd?.();
    running.delete(work);
  }

  return {
    track(work, onEnd) {
      running.add(work);
      void follow(work, onEnd);
    },
    count: () => running.size,
    ended: () => Promise.allSettled(running),
    failed,
  };
}
