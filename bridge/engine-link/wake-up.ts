// Callers wait until they are woken, all at once, or until their signal aborts.

export interface WakeUp {
  wake(): void;
  wait(signal: AbortSignal): Promise<void>;
}

export function newWakeUp(): WakeUp {
  let wakers: (() => void)[] = [];
  return {
    wake() {
      const waiting = wakers;
      wakers = [];
      for (const wake of waiting) wake();
    },
    wait: (signal) =>
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
