// What waits to be sent, one lane for each session, in order. What is said while something of a lane is under way
// travels together in the next group, and so does whatever else the same tick has to say.
import type { SessionId } from '../../schemas/ids.ts';
import { REPORT_CHARS_MAX, REPORT_EVENTS_MAX } from '../../schemas/limits.ts';
import { jsonSizeAtMost } from './json-size.ts';

export interface SessionQueues<T> {
  add(session: SessionId, entry: T): void;
}

/** `send`: one group at a time in each session; the next one waits until it is done. `soon`: after what is ready by now. */
export function newSessionQueues<T extends { readonly event: unknown }>(
  send: (session: SessionId, group: readonly T[]) => Promise<void>,
  soon: (fn: () => void) => void,
): SessionQueues<T> {
  const queues = new Map<SessionId, T[]>();
  /** Sessions that have something to say since this tick. */
  let fresh: SessionId[] = [];

  function drainFresh(): void {
    const sessions = fresh;
    fresh = [];
    for (const session of sessions) void drain(session, queues.get(session) ?? []);
  }

  async function drain(session: SessionId, waiting: T[]): Promise<void> {
    while (waiting.length > 0) await send(session, takeGroup(waiting));
    queues.delete(session);
  }

  return {
    add(session, entry) {
      const waiting = queues.get(session);
      if (waiting !== undefined) {
        waiting.push(entry);
        return;
      }
      queues.set(session, [entry]);
      if (fresh.length === 0) soon(drainFresh);
      fresh.push(session);
    },
  };
}

function takeGroup<T extends { readonly event: unknown }>(waiting: T[]): readonly T[] {
  // One goes in any case, and is mostly alone.
  let count = 1;
  let chars = waiting.length > 1 ? charsOf(waiting[0]?.event) : 0;
  while (count < waiting.length && count < REPORT_EVENTS_MAX) {
    chars += charsOf(waiting[count]?.event);
    if (chars > REPORT_CHARS_MAX) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

/** What an event may take if all events of a full group are like it: then it need not be known exactly. */
const SMALL_CHARS = Math.floor(REPORT_CHARS_MAX / REPORT_EVENTS_MAX);

function charsOf(event: unknown): number {
  const atMost = jsonSizeAtMost(event, SMALL_CHARS);
  return atMost <= SMALL_CHARS ? atMost : JSON.stringify(event).length;
}
