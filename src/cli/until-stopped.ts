/** Resolves at SIGINT or SIGTERM; `withParent`: also when standard input ends. */
export function untilStopped(withParent: boolean): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
    if (withParent) process.stdin.resume().once('end', () => resolve());
  });
}
