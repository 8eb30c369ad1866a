// The idle sessions in memory, in order of use: the ones that may be evicted to make room. Active sessions are not among
// them, so their number does not slow eviction down.
import type { SessionId } from '../../../schemas/ids.ts';

export interface IdleOptions {
  /** How many idle sessions stay in memory. */
  readonly sessionsMax: number;
  /** How many sessions one eviction checks at most. */
  readonly checksMax: number;
  /** False for a session that has a request under way, or of which a bridge holds a lease. */
  readonly mayEvict: (id: SessionId) => boolean;
}

export interface IdleSessions {
  /** The session is idle, and was used just now. */
  add(id: SessionId): void;
  /** The session was used; no change when it is not idle. */
  touch(id: SessionId): void;
  /** The session became active, or left memory. */
  delete(id: SessionId): void;
  /** Removes and returns the least recently used sessions beyond the maximum that may be evicted. */
  removeExcess(): readonly SessionId[];
}

export function newIdleSessions({ sessionsMax, checksMax, mayEvict }: IdleOptions): IdleSessions {
  // A set keeps the order of insertion: the first one is the least recently used.
  const order = new Set<SessionId>();

  const add = (id: SessionId): void => {
    order.delete(id);
    order.add(id);
  };

  return {
    add,
    touch(id) {
      if (order.has(id)) add(id);
    },
    delete(id) {
      order.delete(id);
    },
    removeExcess() {
      const removed: SessionId[] = [];
      for (let checks = 0; checks < checksMax && order.size > sessionsMax; checks += 1) {
        const [oldest] = order as Iterable<SessionId, undefined>;
        if (oldest === undefined) break;
        order.delete(oldest);
        if (mayEvict(oldest)) removed.push(oldest);
        // It counts as used, so that the next check examines another session.
        else order.add(oldest);
      }
      return removed;
    },
  };
}
