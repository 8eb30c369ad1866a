// Shares the event loop: long work asks between its parts whether its turn has lasted too long, and then waits for the next
// one, so that other requests are read and answered in between.
import { TURN_MS_MAX } from '../schemas/limits.ts';
import type { Steps } from './core/steps.ts';

/** Null when the work may go on in this turn of the event loop, else a promise of a later one. */
export type Pause = () => Promise<void> | null;

/** Work that never pauses: in a world whose time is simulated, a turn lasts no time. */
export const neverPause: Pause = () => null;

/**
 * One for a process: all its work has the same event loop. A turn begins with the first work that asks. What waits for a
 * later turn goes on in the order in which it began to wait, so that nothing waits for ever.
 */
export function newPause(now: () => number): Pause {
  let began: number | null = null;
  const endTurn = (): void => {
    began = null;
  };
  const isLong = (): boolean => {
    if (began !== null) return now() - began > TURN_MS_MAX;
    began = now();
    setImmediate(endTurn);
    return false;
  };
  const waiting: (() => void)[] = [];
  // At least one goes on in each turn, also in one that other work has used up.
  function resumeFirst(): void {
    isLong();
    waiting.shift()?.();
    if (waiting.length > 0) queueMicrotask(resumeNext);
  }
  // After the work that was just resumed, as far as it went without waiting.
  function resumeNext(): void {
    if (isLong()) setImmediate(resumeFirst);
    else resumeFirst();
  }
  function later(): Promise<void> {
    if (waiting.length === 0) setImmediate(resumeFirst);
    return new Promise((resume) => waiting.push(resume));
  }
  return () => (isLong() ? later() : null);
}

export const pause: Pause = newPause(() => performance.now());

/** The result of all steps; between two of them, other work goes on when this turn has lasted too long. */
export async function inTurns<T>(steps: Steps<T>, rest: Pause): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await rest();
  }
}
