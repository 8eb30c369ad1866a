// Waiting for something that has no event: asks again each turn, and gives up loudly.
import { setImmediate as nextTurn } from 'node:timers/promises';

export async function until(what: string, holds: () => boolean, limitMs = 15_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`never came true: ${what}`);
    await nextTurn();
  }
}
