// Waits for a condition that no event reports: checks it on every turn of the event loop, and throws after a limit.
import { setImmediate as nextTurn } from 'node:timers/promises';

export async function until(what: string, holds: () => boolean, limitMs = 15_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`after ${limitMs} ms, still not true: ${what}`);
    await nextTurn();
  }
}
