// One queue of reports for each session, sent in order and in groups. Reports added in the same tick, or while a group is
// being sent, form the next group.
import type { SessionId } from '../../schemas/ids.ts';
import { countMarks } from '../../schemas/json/json-scan.ts';
import { BODY_VALUES_MAX, REPORT_CHARS_MAX, REPORT_EVENTS_MAX } from '../../schemas/limits.ts';
import { jsonSizeAtMost } from './json-size.ts';

export interface SessionQueues<T> {
  add(session: SessionId, entry: T): void;
}

/** `send`: sends one group; each session sends one at a time. `soon`: runs `fn` after the events that are ready now. */
export function newSessionQueues<T extends { readonly event: unknown }>(
  send: (session: SessionId, group: readonly T[]) => Promise<void>,
  soon: (fn: () => void) => void,
): SessionQueues<T> {
  const queues = new Map<SessionId, T[]>();
  /** Sessions whose queue is new in this tick. */
  let started: SessionId[] = [];

  function drainStarted(): void {
    const sessions = started;
    started = [];
    for (const session of sessions) void drain(session, queues.get(session) ?? []);
  }

  async function drain(session: SessionId, waiting: T[]): Promise<void> {
    while (waiting.length > 0) await send(session, removeGroup(waiting));
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
      if (started.length === 0) soon(drainStarted);
      started.push(session);
    },
  };
}

function removeGroup<T extends { readonly event: unknown }>(waiting: T[]): readonly T[] {
  // The first event is sent regardless of its size. Usually it is the only one, and is not measured.
  let count = 1;
  let chars = waiting.length > 1 ? charsOf(waiting[0]?.event) : 0;
  while (count < waiting.length && count < REPORT_EVENTS_MAX) {
    chars += charsOf(waiting[count]?.event);
    if (chars > REPORT_CHARS_MAX) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

/** A full group of events of this size fits into one report, so smaller events need not be measured exactly. */
const SMALL_CHARS = Math.floor(REPORT_CHARS_MAX / REPORT_EVENTS_MAX);

/** A comma or bracket counts as this many characters, so that a report has no more of them than one body. */
const MARK_CHARS = REPORT_CHARS_MAX / BODY_VALUES_MAX;

function charsOf(event: unknown): number {
  const atMost = jsonSizeAtMost(event, SMALL_CHARS);
  if (atMost <= SMALL_CHARS) return atMost;
  const text = JSON.stringify(event);
  return Math.max(text.length, MARK_CHARS * countMarks(text));
}
