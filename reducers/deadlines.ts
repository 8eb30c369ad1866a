// The times that the state waits for, and what happens when one is reached. A time to wait for is an effect; that it is
// reached is an event (docs/design.md, "The shape").
import type { EventOfKind } from '../schemas/event.ts';
import { type CallId, TIME_MS_MAX } from '../schemas/ids.ts';
import type { SessionState } from '../schemas/state.ts';
import { expireCall } from './answers.ts';
import { editBatch } from './batch-edit.ts';
import { callStateOf } from './batch-index.ts';
import { applyHostSession, hostSessionDeadline } from './host-session.ts';
import { type NextState, editRun } from './next-state.ts';
import { rulesOf } from './rules/known-rules.ts';
import { codedText } from './rules/rule-set.ts';
import { beginEnding, failure } from './run.ts';

/** The earliest time that state waits for, in milliseconds since 1970; null when it waits for none. */
export function nextDeadline(state: SessionState): number | null {
  const next = Math.min(hostSessionDeadline(state) ?? Infinity, countedDeadline(state) ?? Infinity);
  // A wait that a late event began may end after the last time there is: no event reports such a time.
  return next === Infinity ? null : Math.min(next, TIME_MS_MAX);
}

/** The earliest end of a wait that an event began: its time and the length of the wait. A host session names a time of its own. */
export function countedDeadline(state: SessionState): number | null {
  const { run, active_tool_batch: batch } = state;
  let next = Math.min(run?.retry?.not_before_ms ?? Infinity, runDeadline(state) ?? Infinity);
  for (const id of batch?.timed ?? []) next = Math.min(next, callDeadline(state, id));
  return next === Infinity ? null : next;
}

const callDeadline = (state: SessionState, id: CallId): number => {
  const call = state.active_tool_batch === null ? undefined : callStateOf(state.active_tool_batch, id);
  // A call may have to wait for a person before its next attempt: only the question has a time then.
  if (call?.status === 'waiting') return Math.min(call.preview_until_ms ?? Infinity, call.due_at_ms ?? Infinity);
  return call?.not_before_ms ?? call?.due_at_ms ?? Infinity;
};

/** When the wall time of the run is used up, unless the run is ending already. */
function runDeadline({ run }: SessionState): number | null {
  const limit = run?.config.wall_ms_max ?? null;
  return run === null || limit === null || run.ending !== null ? null : run.started_at_ms + limit;
}

export function reachTime(next: NextState, event: EventOfKind<'TimeReached'>, state: SessionState): void {
  const isDue = (time: number | null | undefined): boolean => (time ?? Infinity) <= event.due_at_ms;
  if (isDue(hostSessionDeadline(state))) applyHostSession(next, { host_session_status: 'expired' });
  if (isDue(runDeadline(state))) {
    // Calls that are due too are cancelled with the run, so that each gets one result.
    const ending = failure(codedText(rulesOf(state), 'time_exceeded', { max: state.run?.config.wall_ms_max ?? 0 }));
    beginEnding(next, { phase: 'cancelling', ending }, event.at_ms);
    return;
  }
  expireCalls(
    next,
    (state.active_tool_batch?.timed ?? []).filter((id) => isDue(callDeadline(state, id))),
    event.due_at_ms,
  );
  if (isDue(next.run?.retry?.not_before_ms)) {
    editRun(next, ({ retry }) => {
      if (retry !== undefined) retry.not_before_ms = null;
    });
  }
}

function expireCalls(next: NextState, ids: readonly CallId[], reachedMs: number): void {
  if (ids.length === 0) return;
  const edit = editBatch(next);
  for (const id of ids) expireCall(rulesOf(next), edit, id, reachedMs);
  edit.finish();
}
