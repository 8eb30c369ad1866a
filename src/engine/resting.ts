// The sessions in memory to which nothing is owed, in order of use: what room is made among. Of those at work there may
// be any number, and none of them is looked at for it.
import type { SessionId } from '../../schemas/ids.ts';

export interface RestingOptions {
  /** How many may rest in memory. */
  readonly sessionsMax: number;
  /** How many are looked at for one that may go, each time. */
  readonly looksMax: number;
  /** False of a session that somebody is at, or waits for. */
  readonly mayGo: (id: SessionId) => boolean;
}

export interface Resting {
  /** The session rests, and was used just now. */
  add(id: SessionId): void;
  /** The session was used, if it rests. */
  touch(id: SessionId): void;
  /** The session is at work, or is not in memory any more. */
  delete(id: SessionId): void;
  /** Takes out those that rested longest, as far as there are too many and they may go. */
  takeExcess(): readonly SessionId[];
}

export function newResting({ sessionsMax, looksMax, mayGo }: RestingOptions): Resting {
  // A set keeps the order of insertion: the first one was not used for the longest time.
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
    takeExcess() {
      const taken: SessionId[] = [];
      for (let looks = 0; looks < looksMax && order.size > sessionsMax; looks += 1) {
        const [oldest] = order as Iterable<SessionId, undefined>;
        if (oldest === undefined) break;
        order.delete(oldest);
        if (mayGo(oldest)) taken.push(oldest);
        // It counts as used, so that the next look meets another one.
        else order.add(oldest);
      }
      return taken;
    },
  };
}
