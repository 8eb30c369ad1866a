// How the calls of a host end: their results, read while the session is folded. A call whose arguments a person has changed ends
// with the call that was made in its place.
import { callStateOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import type { Attachments } from '../../schemas/content.ts';
import type { CallId, SessionId } from '../../schemas/ids.ts';
import type { EngineClient } from '../client/client.ts';
import { foldStored } from '../client/watch/stored-stream.ts';
import { batchAfter } from '../core/batch-steps.ts';
import type { FoldedEvent } from '../core/folded-event.ts';
import { type CallResult, newRunResults } from '../core/run-results.ts';
import { pause } from '../turns.ts';
import { isPending } from './call-standing.ts';

/** A call that has ended, with what the host gets of it. */
export interface EndedCall extends CallResult {
  readonly attachments: Attachments;
  /** The id under which the host made it; `call` is another one when a person has changed the arguments. */
  readonly handle: CallId;
  readonly made_at_ms: number;
  readonly ended_at_ms: number;
}

export interface CallEnds {
  /** Returns the calls that these events ended. */
  add(events: readonly FoldedEvent[]): readonly EndedCall[];
  /** The id under which the host made the call that runs now under this one. */
  handleOf(id: CallId): CallId;
  /** The call that is made in place of this one since a person changed its arguments; else the call itself. */
  currentOf(handle: CallId): CallId;
  /** When an open call was made; null when these events do not say it. */
  madeAt(handle: CallId): number | null;
}

export const newCallEnds = (): CallEnds => new Ends();

class Ends implements CallEnds {
  // The results of one batch: the reader of all results would keep those of every batch before.
  #results = newRunResults();
  readonly #told = new Set<CallId>();
  readonly #made = new Map<CallId, number>();
  readonly #handles = new Map<CallId, CallId>();
  readonly #current = new Map<CallId, CallId>();
  /** The denials of calls that others are made in place of: the end, if these are not made after all. */
  readonly #denied = new Map<CallId, EndedCall>();

  add(events: readonly FoldedEvent[]): readonly EndedCall[] {
    return events.flatMap((folded) => this.#addOne(folded));
  }

  handleOf(id: CallId): CallId {
    return this.#handles.get(id) ?? id;
  }

  currentOf(handle: CallId): CallId {
    return this.#current.get(handle) ?? handle;
  }

  madeAt(handle: CallId): number | null {
    return this.#made.get(handle) ?? null;
  }

  #addOne(folded: FoldedEvent): readonly EndedCall[] {
    this.#noteChange(folded);
    const ended: EndedCall[] = [];
    for (const result of this.#results.add(folded)) {
      const end = this.#endOf(folded, result);
      if (end === null) continue;
      if (this.currentOf(end.handle) === result.call.call_id) ended.push(this.#forget(end));
      else this.#denied.set(end.handle, end);
    }
    for (const denial of this.#denied.values()) {
      if (!isPending(folded.after, this.currentOf(denial.handle))) ended.push(this.#forget(denial));
    }
    if (folded.after.active_tool_batch === null && this.#told.size > 0) {
      this.#results = newRunResults();
      this.#told.clear();
    }
    return ended;
  }

  #noteChange({ event }: FoldedEvent): void {
    if (event.kind !== 'user.tool_confirmation' || event.instead === undefined) return;
    const handle = this.handleOf(event.call_id);
    this.#handles.set(event.instead.call_id, handle);
    this.#current.set(handle, event.instead.call_id);
  }

  #endOf(folded: FoldedEvent, result: CallResult): EndedCall | null {
    const { call, status } = result;
    const handle = this.handleOf(call.call_id);
    const { at_ms } = folded.event;
    const made_at_ms = this.#made.get(handle) ?? at_ms;
    this.#made.set(handle, made_at_ms);
    if (!isTerminal(status) || this.#told.has(call.call_id)) return null;
    this.#told.add(call.call_id);
    return { ...result, attachments: attachmentsOf(folded, call.call_id), handle, made_at_ms, ended_at_ms: at_ms };
  }

  #forget(end: EndedCall): EndedCall {
    this.#handles.delete(this.currentOf(end.handle));
    this.#current.delete(end.handle);
    this.#denied.delete(end.handle);
    this.#made.delete(end.handle);
    return end;
  }
}

function attachmentsOf(folded: FoldedEvent, id: CallId): Attachments {
  const batch = batchAfter(folded);
  return (batch === null ? undefined : callStateOf(batch, id)?.attachments) ?? [];
}

/** A call as its session has it. */
export interface LoggedCall {
  readonly made_at_ms: number;
  /** The call that is made in its place since a person changed its arguments; else the call itself. */
  readonly current: CallId;
  /** Null while the call is open. */
  readonly ended: EndedCall | null;
}

/** The call in the record of its session; null when there is none of this id. */
export async function findLogged(client: EngineClient, session: SessionId, id: CallId): Promise<LoggedCall | null> {
  const ends = newCallEnds();
  let found: LoggedCall | null = null;
  for await (const { events } of foldStored(client, session, pause)) {
    const ended = ends.add(events).find(({ handle, call }) => handle === id || call.call_id === id);
    const made = ends.madeAt(ends.handleOf(id));
    if (ended !== undefined) found = { made_at_ms: ended.made_at_ms, current: ended.call.call_id, ended };
    else if (made !== null) found = { made_at_ms: made, current: ends.currentOf(ends.handleOf(id)), ended: null };
  }
  return found;
}
