/** How a process is asked to stop. */
export interface StopRequest {
  /** Resolves at the first SIGINT or SIGTERM, or when the parent has gone. The second signal ends the process at once. */
  readonly asked: Promise<void>;
  /** Aborts when the parent process has ended. */
  readonly hurry: AbortSignal;
}

/** `withParent`: also when standard input ends. */
export function stopRequest(withParent: boolean): StopRequest {
  const hurry = new AbortController();
  let signals = 0;
  const asked = new Promise<void>((resolve) => {
    const onSignal = (signal: 'SIGINT' | 'SIGTERM'): void => {
      signals += 1;
      if (signals > 1) process.exit(EXIT_OF[signal]);
      resolve();
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
    if (!withParent) return;
    process.stdin.resume().once('end', () => {
      hurry.abort();
      resolve();
    });
  });
  return { asked, hurry: hurry.signal };
}

/** The exit code of a process that a signal ended: 128 and its number. */
const EXIT_OF = { SIGINT: 130, SIGTERM: 143 } as const;

/** Resolves at SIGINT or SIGTERM; `withParent`: also when standard input ends. */
export function untilStopped(withParent: boolean): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
    if (withParent) process.stdin.resume().once('end', () => resolve());
  });
}
