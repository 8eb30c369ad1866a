// The bytes of bodies that a server holds at a time, of all requests and responses together: each may hold a whole blob for as
// long as its sender or its reader takes. Part of the room is kept for operators, and viewers take only a part.
import type { ServerResponse } from 'node:http';
import type { Scope } from '../../schemas/access.ts';
import {
  BODIES_BYTES_FOR_OPERATORS,
  BODIES_BYTES_MAX,
  BODIES_BYTES_OF_VIEWERS_MAX,
  BODY_READS_MAX,
} from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';

/** What one request holds, until it is handled and its response has ended. */
export interface RequestRoom {
  /** Takes room for so many bytes more; `queue_full` when there is none. */
  take(bytes: number): Rejection | null;
  /** Reads bytes whose number shows only then; few such reads run at a time, in order. */
  read<T>(work: () => Promise<T>): Promise<T>;
  /** The request is handled. */
  done(): void;
}

export interface BodyRoom {
  /** `response`: on the connection of the request; undefined when there is none, as in a test without a server. */
  enter(scope: Scope, response: Pick<ServerResponse, 'once' | 'closed'> | undefined): RequestRoom;
  /** The bytes that are held now. */
  held(): number;
}

const MOST: Readonly<Record<Scope, number>> = {
  operator: BODIES_BYTES_MAX,
  bridge: BODIES_BYTES_MAX - BODIES_BYTES_FOR_OPERATORS,
  viewer: BODIES_BYTES_OF_VIEWERS_MAX,
};

export function newBodyRoom(): BodyRoom {
  const held: Record<Scope, number> = { operator: 0, bridge: 0, viewer: 0 };
  const heldByAll = (): number => held.operator + held.bridge + held.viewer;
  const waiting: (() => void)[] = [];
  let reads = 0;

  async function read<T>(work: () => Promise<T>): Promise<T> {
    if (reads >= BODY_READS_MAX) await new Promise<void>((resume) => waiting.push(resume));
    else reads += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) reads -= 1;
      else next();
    }
  }

  return {
    held: heldByAll,
    enter(scope, response) {
      let own = 0;
      let isDone = false;
      const free = (): void => {
        if (!isDone || response?.closed === false) return;
        held[scope] -= own;
        own = 0;
      };
      return {
        read,
        take(bytes) {
          const used = scope === 'viewer' ? held.viewer : heldByAll();
          if (used + bytes > MOST[scope] || heldByAll() + bytes > BODIES_BYTES_MAX) return NO_ROOM;
          if (own === 0) response?.once('close', free);
          held[scope] += bytes;
          own += bytes;
          return null;
        },
        done() {
          isDone = true;
          free();
        },
      };
    },
  };
}

const NO_ROOM = reject(
  'queue_full',
  '',
  'other requests hold all the memory for bodies that a token of this scope may use; send this one again later',
);
