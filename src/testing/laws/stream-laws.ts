// Laws of the stream of one session. They are checked on the events, because a second fold would repeat a fault of the
// fold.
import { conflictBetween } from '../../../reducers/conflict.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { CallId } from '../../../schemas/ids.ts';
import { FOLLOW_UPS_MAX, RUN_HISTORY_MAX, STEERS_MAX, TRANSCRIPT_PAGE_ENTRIES } from '../../../schemas/limits.ts';
import type { PlannedToolCall, ToolBatchPlan } from '../../../schemas/plan.ts';
import type { CallStatus, SessionState, TranscriptEntry } from '../../../schemas/state.ts';
import type { StoredSession, CallEntry, FoldedEvent } from './stored-session.ts';
import type { Judge } from './judge.ts';
import { checkAttempt, checkRetry, scheduleRetry } from './retry-law.ts';
import { noteNamed, recordPreview } from './preview-law.ts';
import { checkUndo } from './undo-laws.ts';
import { checkToolsets } from './toolset-law.ts';
import { checkAuthority } from './authority-laws.ts';

/** Checks one event as it becomes durable. */
export function checkEvent(stored: StoredSession, folded: FoldedEvent, judge: Judge): void {
  const { event, before, state } = folded;
  const repeated = stored.events.findIndex(({ event_id }) => event_id === event.event_id) < stored.events.length - 1;
  judge.check(!repeated, 'settle once', () => `the event id ${event.event_id} is recorded twice`);
  if (event.kind === 'ToolCallStarted') checkStarted(stored, event, judge);
  else if (event.kind === 'ToolCallSettled' || event.kind === 'user.custom_tool_result')
    checkSettled(stored, folded, judge);
  else if (event.kind === 'user.tool_confirmation') checkConfirmed(stored, event, judge);
  else if (event.kind === 'CallPreviewed') recordPreview(stored.call(event.call_id), event, judge);
  else if (event.kind === 'LeaseExpired') loseCall(stored, folded, judge);
  else if (event.kind === 'UndoRequested' || event.kind === 'UndoSettled') checkUndo(stored, event, judge);
  else if (event.kind === 'ToolCallsObserved') {
    checkPlan(folded, judge);
    checkBudget(stored, folded, judge);
  } else if (event.kind === 'ToolBatchSettled') checkPlan(folded, judge);
  if (before.active_tool_batch !== null && isOtherBatch(folded)) {
    for (const { call_id } of before.active_tool_batch.observed) markEnded(stored.call(call_id));
    checkAmended(stored, folded, judge);
    checkPairing(state, judge);
  }
  checkToolsets(stored, folded, judge);
  checkAuthority(stored, folded, judge);
  checkBounds(state, judge);
}

function checkStarted(stored: StoredSession, event: EventOfKind<'ToolCallStarted'>, judge: Judge): void {
  const call = stored.call(event.call_id);
  if (call === undefined) return;
  // A start after an attempt that was left goes on with that one, and begins nothing again.
  const again = call.starters.length > 0 && call.planned?.repeatable !== true && !call.left.isLeft;
  judge.check(!again, 'runs at most once', () => `${event.call_id} is started twice`);
  judge.check(endOf(call) === null, 'settle once', () => `${event.call_id} is started after its end`);
  judge.check(
    event.plan_hash === call.plan?.plan_hash,
    'only the plan runs',
    () => `${event.call_id} is started under another plan`,
  );
  checkAttempt(call, event, judge);
  call.starters.push(event.owner);
}

/** An answer is about the arguments that were shown, and counts once. */
function checkConfirmed(stored: StoredSession, event: EventOfKind<'user.tool_confirmation'>, judge: Judge): void {
  const call = stored.call(event.call_id);
  const bound = call?.planned?.arguments_digest === event.arguments_digest;
  judge.check(bound, 'approvals bound', () => `${event.call_id}: an answer about other arguments was accepted`);
  if (call === undefined) return;
  const used = call.allowed || endOf(call) !== null;
  judge.check(!used, 'approvals bound', () => `${event.call_id} was answered already`);
  noteNamed(call, event, judge);
  if (event.result === 'allow') call.allowed = true;
  else markEnded(call);
  if (event.instead !== undefined) stored.amended.push(event.instead.call_id);
}

/** Amended calls come next, in order, unless the run ended or was redirected. */
function checkAmended(stored: StoredSession, { event, before, state }: FoldedEvent, judge: Judge): void {
  const due = stored.amended;
  stored.amended = [];
  if (event.kind !== 'ToolBatchSettled' || state.run?.run_id !== before.run?.run_id) return;
  const made = state.active_tool_batch?.observed ?? [];
  const missing = due.find((id, index) => made[index]?.call_id !== id);
  judge.check(
    missing === undefined,
    'nothing is lost',
    () => `${missing}: a person amended the call, but it is not made`,
  );
}

/** A run makes no more calls than it may, counted from the answers of the model. */
function checkBudget(stored: StoredSession, { event, before, state }: FoldedEvent, judge: Judge): void {
  if (event.kind !== 'ToolCallsObserved' || before.run === null) return;
  const made = (stored.callsOf.get(event.run_id) ?? 0) + event.calls.length;
  stored.callsOf.set(event.run_id, made);
  const stopped = state.active_tool_batch === null;
  if (stopped) stored.refuse(event.calls);
  const within = made <= before.run.config.calls_max;
  judge.check(within || stopped, 'bounded', () => `${event.run_id} makes ${made} calls, more than it may`);
}

const isOtherBatch = ({ before, state }: FoldedEvent): boolean =>
  state.active_tool_batch?.batch_id !== before.active_tool_batch?.batch_id;

type Settled = EventOfKind<'ToolCallSettled'> | EventOfKind<'user.custom_tool_result'>;

function checkSettled(stored: StoredSession, folded: FoldedEvent, judge: Judge): void {
  const event = folded.event as Settled;
  const call = stored.call(event.call_id);
  if (call === undefined) {
    judge.fail('settle once', `a result of ${event.call_id}, which was never called`);
    return;
  }
  judge.check(endOf(call) === null, 'settle once', () => `${event.call_id} is settled again: it was ${endOf(call)}`);
  judge.check(call.planned !== null, 'only the plan runs', () => `${event.call_id} was rejected but has a result`);
  const bound =
    event.kind === 'ToolCallSettled'
      ? event.plan_hash === call.plan?.plan_hash
      : event.arguments_digest === call.planned?.arguments_digest;
  judge.check(bound, 'only the plan runs', () => `${event.call_id}: a result for another plan`);
  const status = statusOf(folded.state, event.call_id);
  if (event.kind === 'ToolCallSettled') {
    checkAttempt(call, event, judge);
    checkRetry(call, { stored, folded, status }, judge);
  }
  // What is rejected now failed and is refused its next attempt.
  const open = status === 'queued' || status === 'waiting' || status === 'rejected';
  if (!open) call.settled ??= event.output;
}

/** How the call ended; null while it is open. */
const endOf = ({ settled, ended }: CallEntry): string | null => {
  if (settled !== null) return 'settled';
  return ended ? 'given up' : null;
};

function loseCall(stored: StoredSession, { event, state }: FoldedEvent, judge: Judge): void {
  const lost = event as EventOfKind<'LeaseExpired'>;
  const call = stored.call(lost.call_id);
  if (call === undefined) return;
  checkAttempt(call, lost, judge);
  const status = statusOf(state, lost.call_id);
  if (status === 'queued' || status === 'waiting') scheduleRetry(call, 0);
  else markEnded(call);
}

function statusOf({ active_tool_batch: batch }: SessionState, id: CallId): CallStatus | undefined {
  return batch?.pages.flat()[batch.observed.findIndex(({ call_id }) => call_id === id)]?.status;
}

function markEnded(call: CallEntry | undefined): void {
  if (call !== undefined) call.ended = true;
}

/** Planned tools were offered and are not denied, and conflicting calls wait for each other. */
function checkPlan({ before, state, event }: FoldedEvent, judge: Judge): void {
  const batch = state.active_tool_batch;
  if (batch === null || !isOtherBatch({ before, state, event })) return;
  const { session, run } = before.tool_overrides;
  const denied = new Set([...session.disable, ...run.disable]);
  const offered = new Set(before.run?.offer?.ordered_tools.map(({ tool_id }) => tool_id) ?? []);
  for (const { tool_id, call_id } of batch.plan.planned_calls) {
    judge.check(!denied.has(tool_id), 'deny wins', () => `${call_id}: ${tool_id} is disabled but was planned`);
    // An amended call may use a tool that was not offered to the model.
    const asOffered = offered.has(tool_id) || event.kind === 'ToolBatchSettled';
    judge.check(asOffered, 'deny wins', () => `${call_id}: ${tool_id} was not offered but was planned`);
  }
  const { planned_calls, rejected } = batch.plan;
  const whole = planned_calls.length + rejected.length === batch.observed.length;
  judge.check(whole, 'pairing', () => `${event.event_id}: not every call is planned or rejected`);
  const unordered = unorderedConflict(batch.plan);
  judge.check(unordered === null, 'no conflicting calls overlap', () => `${unordered}: neither waits for the other`);
}

function unorderedConflict(plan: ToolBatchPlan): string | null {
  const { planned_calls: calls } = plan;
  const behind = new Map<string, ReadonlySet<string>>();
  for (const [index, call] of calls.entries()) {
    const after = plan.execution_plan.after[call.call_id] ?? [];
    const all = new Set<string>(after.flatMap((id) => [id, ...(behind.get(id) ?? [])]));
    behind.set(call.call_id, all);
    const free = calls.slice(0, index).find((earlier) => conflict(earlier, call) && !all.has(earlier.call_id));
    if (free !== undefined) return `${free.call_id} and ${call.call_id}`;
  }
  return null;
}

/** A call that shares the result of another does not run. */
const conflict = (a: PlannedToolCall, b: PlannedToolCall): boolean =>
  a.shares === undefined && b.shares === undefined && conflictBetween(a, b) !== null;

/** Once a batch is over, every call in the open page is followed by its result, in call order. */
function checkPairing({ transcript, active_tool_batch: batch }: SessionState, judge: Judge): void {
  if (batch !== null || transcript.sealed.length > 0) return;
  const fault = findUnpaired(transcript.open);
  judge.check(fault === null, 'pairing', () => `in the transcript: ${fault}`);
}

/** The first call without its result behind it, or the first result out of order; null when there is none. */
export function findUnpaired(entries: readonly TranscriptEntry[]): string | null {
  let due: string[] = [];
  for (const { role, calls, call_id } of entries) {
    if (role === 'tool') {
      if (due.shift() !== call_id) return `a result of ${call_id} out of order`;
      continue;
    }
    if (due.length > 0) return `no result of ${due[0]}`;
    due = (calls ?? []).map((call) => call.call_id);
  }
  return due.length === 0 ? null : `no result of ${due[0]}`;
}

function checkBounds({ run, run_history, follow_ups, transcript }: SessionState, judge: Judge): void {
  const within =
    run_history.length <= RUN_HISTORY_MAX &&
    follow_ups.length <= FOLLOW_UPS_MAX &&
    (run?.steers.length ?? 0) <= STEERS_MAX &&
    transcript.open.length <= 3 * TRANSCRIPT_PAGE_ENTRIES &&
    (run === null || run.turn <= run.config.turns_max);
  judge.check(within, 'bounded', () => 'the state exceeds its limits');
}
