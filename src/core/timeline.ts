// The timeline of the turns of a session, made while its stream is folded: how long the model took, and how long each call
// waited and ran. Times are when the edge received each fact, in milliseconds since 1970. A call without a recorded start
// began `duration_ms` before its report.
import { callStateAt, changedBetween, plannedOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import { owesCompaction } from '../../reducers/compaction.ts';
import type { RunId } from '../../schemas/ids.ts';
import type { CallState, CallStatus, SessionState } from '../../schemas/state.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import type { RecordedEvent } from '../../schemas/upcast.ts';
import { type MadeCalls, batchAfter, callsMade, refusedTurn } from './batch-steps.ts';
import type { FoldedEvent } from './folded-event.ts';

/** A span in the life of a call: it waited for a person, waited in the queue, or ran. */
export interface CallSpan {
  readonly what: 'person' | 'queue' | 'run';
  readonly from_ms: number;
  /** Null while it is not over. */
  readonly to_ms: number | null;
}

export interface CallTimeline {
  readonly call: ToolCallObserved;
  /** Its group in the plan; null when the call was rejected. */
  readonly group: number | null;
  readonly status: CallStatus;
  readonly code: string | null;
  /** In order of time. */
  readonly spans: readonly CallSpan[];
}

export interface TurnTimeline {
  readonly run_id: RunId;
  readonly turn: number;
  /** When the model was asked; null for calls that a person approved with changed arguments. */
  readonly asked_ms: number | null;
  readonly observed_ms: number;
  /** The compaction before it; absent without one. */
  readonly compacted?: Compacted;
  /** When its results went to the model, or its run ended; null while it is open. */
  readonly over_ms: number | null;
  readonly calls: readonly CallTimeline[];
}

/** From when a compaction was owed to its answer. */
interface Compacted {
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Measures the turns of a stream while it is folded. It keeps the open turn only. */
export interface Timeline {
  /** Returns the turn that this event ended; null when it ended none. */
  add(folded: FoldedEvent): TurnTimeline | null;
  /** The turn that is still open after the last event; null when there is none. */
  open(): TurnTimeline | null;
}

export function newTimeline(): Timeline {
  let asked: number | null = null;
  let open: OpenTurn | null = null;
  let compacted: Compacted | null = null;
  return {
    add(folded) {
      const { event, before, after } = folded;
      const { at_ms } = event;
      let over = open === null ? null : advance(open, folded);
      if (over !== null) open = null;
      const made = callsMade(folded);
      if (made !== null) {
        const isTurn = event.kind === 'ToolCallsObserved';
        open = begin(made, folded, isTurn ? asked : null);
        if (isTurn && compacted !== null) [open, compacted] = [{ ...open, compacted }, null];
        if (after.active_tool_batch === null) [over, open] = [turnOf(open, at_ms), null];
      }
      compacted = compactionAfter(compacted, folded);
      if (isAsked(after) && !(isAsked(before) && isSameTurn(before, after))) asked = at_ms;
      return over;
    },
    open: () => (open === null ? null : turnOf(open, null)),
  };
}

interface OpenTurn extends Omit<TurnTimeline, 'over_ms' | 'calls'> {
  readonly calls: readonly OpenCall[];
}

interface OpenCall {
  readonly call: ToolCallObserved;
  readonly group: number | null;
  /** A person fulfils the call, so it never waits for a bridge. */
  readonly custom: boolean;
  /** The call itself asks, and waits for the answer. */
  asks: boolean;
  status: CallStatus;
  code: string | null;
  readonly spans: { what: CallSpan['what']; from_ms: number; to_ms: number | null }[];
}

const isAsked = ({ run }: SessionState): boolean =>
  (run?.phase === 'generating' || run?.phase === 'paused_generating') && !owesCompaction(run);

const isCompacting = ({ run }: SessionState): boolean => run !== null && owesCompaction(run);

/** The compaction of the turn that is asked next. One whose turn was given up is forgotten. */
function compactionAfter(known: Compacted | null, { event, before, after }: FoldedEvent): Compacted | null {
  if (isCompacting(after)) {
    return isCompacting(before) && isSameTurn(before, after) ? known : { from_ms: event.at_ms, to_ms: event.at_ms };
  }
  if (!isSameTurn(before, after)) return null;
  return known !== null && isCompacting(before) ? { ...known, to_ms: event.at_ms } : known;
}

const isSameTurn = ({ run: a }: SessionState, { run: b }: SessionState): boolean =>
  a?.run_id === b?.run_id && a?.turn === b?.turn;

function begin({ calls, run_id, turn }: MadeCalls, { event, after }: FoldedEvent, asked_ms: number | null): OpenTurn {
  const batch = after.active_tool_batch;
  const { at_ms } = event;
  const begun = calls.map((call, index): OpenCall => {
    const state = batch === null ? undefined : callStateAt(batch, index);
    const planned = batch === null || state?.status === 'rejected' ? undefined : plannedOf(batch.plan, call.call_id);
    const { status, code } = state ?? { status: 'rejected' as const, code: refusedTurn(after).code };
    const custom = planned?.call.executor.kind === 'custom';
    const group = planned?.group ?? null;
    const open: OpenCall = { call, group, custom, asks: false, status, code, spans: [] };
    beginSpan(open, at_ms);
    return open;
  });
  return { run_id, turn, asked_ms, observed_ms: at_ms, calls: begun };
}

/** Begins the span for the status of a call, if the status has one. */
function beginSpan({ status, custom, asks, spans }: OpenCall, at_ms: number): void {
  if (isTerminal(status)) return;
  const what = asks ? 'person' : status === 'running' ? 'run' : custom || status === 'waiting' ? 'person' : 'queue';
  spans.push({ what, from_ms: at_ms, to_ms: null });
}

/** Applies an event to the calls of the open turn; returns the turn when the event ended it. */
function advance(open: OpenTurn, folded: FoldedEvent): TurnTimeline | null {
  const { event, before, after } = folded;
  const was = before.active_tool_batch;
  const now = batchAfter(folded);
  if (was !== null && now !== null) {
    for (const index of changedBetween(was, now)) {
      const call = open.calls[index];
      const state = callStateAt(now, index);
      if (call !== undefined && state !== undefined) updateCall(call, state, event);
    }
  }
  return was?.batch_id === after.active_tool_batch?.batch_id ? null : turnOf(open, event.at_ms);
}

function updateCall(call: OpenCall, { status, code, question }: CallState, event: RecordedEvent): void {
  const asks = question !== undefined;
  if (status === call.status && asks === call.asks) return;
  const last = call.spans.at(-1);
  const at_ms = Math.max(event.at_ms, last?.from_ms ?? 0);
  if (last !== undefined) {
    const ran = last.what === 'queue' ? reportedDuration(event, call) : null;
    last.to_ms = ran === null ? at_ms : Math.max(last.from_ms, at_ms - ran);
    if (ran !== null) call.spans.push({ what: 'run', from_ms: last.to_ms, to_ms: at_ms });
  }
  call.asks = asks;
  call.status = status;
  call.code = code;
  beginSpan(call, at_ms);
}

/** The `duration_ms` of the report on a call; null for other events. */
const reportedDuration = (event: RecordedEvent, { call }: OpenCall): number | null =>
  event.kind === 'ToolCallSettled' && event.call_id === call.call_id ? (event.duration_ms ?? null) : null;

const turnOf = ({ calls, ...turn }: OpenTurn, over_ms: number | null): TurnTimeline => ({
  ...turn,
  over_ms,
  calls: calls.map(({ asks: _asks, custom: _custom, spans, ...call }) => ({
    ...call,
    spans: spans.map((span) => ({ ...span })),
  })),
});
