// Limits how many calls run at a time: in each session, and over all of them.
import type { SessionId } from '../../schemas/ids.ts';

export interface ConcurrencyLimit {
  /** Counts one more running call; returns false when that would exceed a maximum. */
  acquire(session: SessionId, sessionMax: number): boolean;
  release(session: SessionId): void;
}

export function newConcurrencyLimit(max: number): ConcurrencyLimit {
  const running = new Map<SessionId, number>();
  let total = 0;
  const add = (session: SessionId, change: 1 | -1): void => {
    total += change;
    const count = (running.get(session) ?? 0) + change;
    if (count === 0) running.delete(session);
    else running.set(session, count);
  };
  return {
    acquire(session, sessionMax) {
      if (total >= max || (running.get(session) ?? 0) >= sessionMax) return false;
      add(session, 1);
      return true;
    },
    release: (session) => add(session, -1),
  };
}
