// Orders and bounds asynchronous work: one piece at a time for each key, and a bounded number at a time in total.

export interface KeyedWork {
  /** Runs `work` after all earlier work of the same key, as soon as a slot is free. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Resolves when all work started so far has ended. */
  settled(): Promise<void>;
}

export function openKeyedWork(slots: number): KeyedWork {
  /** The last work of each key that has work. */
  const tails = new Map<string, Promise<void>>();
  const queue: (() => void)[] = [];
  let free = slots;

  async function inSlot<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      // The slot passes to the next work in the queue without becoming free.
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    }
  }

  async function inOrder<T>(before: Promise<void> | undefined, work: () => Promise<T>): Promise<T> {
    if (before !== undefined) await before;
    return inSlot(work);
  }

  return {
    run: async (key, work) => {
      const result = inOrder(tails.get(key), work);
      const tail = ended(result);
      tails.set(key, tail);
      try {
        return await result;
      } finally {
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
    settled: async () => {
      await Promise.all(tails.values());
    },
  };
}

/** Resolves when the work has succeeded or failed. */
async function ended(work: Promise<unknown>): Promise<void> {
  await Promise.allSettled([work]);
}
