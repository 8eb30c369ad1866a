// Callers wait until `wake` is called, which wakes all of them, or until their signal aborts.

export function newWakeUp() {
  let wakers: (() => void)[] = [];
  return {
    wake(): void {
      const waiting = wakers;
      wakers = [];
      for (const wake of waiting) wake();
    },
    wait: (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const done = (): void => {
          signal.removeEventListener('abort', done);
          resolve();
        };
        if (signal.aborted) resolve();
        signal.addEventListener('abort', done);
        wakers.push(done);
      }),
  };
}
