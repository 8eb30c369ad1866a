// How many calls may run at a time: in each session, and over all of them.
import type { SessionId } from '../../schemas/ids.ts';

export interface Concurrency {
  /** False when one more call would be too many. */
  take(session: SessionId, sessionMax: number): boolean;
  free(session: SessionId): void;
}

export function newConcurrency(max: number): Concurrency {
  const running = new Map<SessionId, number>();
  let total = 0;
  const add = (session: SessionId, change: 1 | -1): void => {
    total += change;
    const count = (running.get(session) ?? 0) + change;
    if (count === 0) running.delete(session);
    else running.set(session, count);
  };
  return {
    take(session, sessionMax) {
      if (total >= max || (running.get(session) ?? 0) >= sessionMax) return false;
      add(session, 1);
      return true;
    },
    free: (session) => add(session, -1),
  };
}
