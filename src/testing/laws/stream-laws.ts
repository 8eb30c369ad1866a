// Laws that a stream shows by itself: held against the bare events, because a fault of the fold would be repeated by
// folding again.
import { conflictBetween } from '../../../reducers/conflict.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { CallId } from '../../../schemas/ids.ts';
import { FOLLOW_UPS_MAX, RUN_HISTORY_MAX, STEERS_MAX, TRANSCRIPT_PAGE_ENTRIES } from '../../../schemas/limits.ts';
import type { PlannedToolCall, ToolBatchPlan } from '../../../schemas/plan.ts';
import type { CallStatus, SessionState, TranscriptEntry } from '../../../schemas/state.ts';
import type { Book, CallEntry, Taken } from './book.ts';
import type { Judge } from './judge.ts';
import { checkAttempt, checkRetry, tryAgain } from './retry-law.ts';
import { checkUndo } from './undo-laws.ts';

/** Checks one event as it becomes durable. */
export function checkEvent(book: Book, taken: Taken, judge: Judge): void {
  const { event, before, state } = taken;
  const repeated = book.events.findIndex(({ event_id }) => event_id === event.event_id) < book.events.length - 1;
  judge.hold(!repeated, 'settle once', () => `the event id ${event.event_id} is recorded twice`);
  if (event.kind === 'ToolCallStarted') checkStarted(book, event, judge);
  else if (event.kind === 'ToolCallSettled' || event.kind === 'user.custom_tool_result')
    checkSettled(book, taken, judge);
  else if (event.kind === 'user.tool_confirmation') checkConfirmed(book, event, judge);
  else if (event.kind === 'LeaseExpired') loseCall(book, taken, judge);
  else if (event.kind === 'UndoRequested' || event.kind === 'UndoSettled') checkUndo(book, event, judge);
  else if (event.kind === 'ToolCallsObserved') {
    checkPlan(taken, judge);
    checkBudget(book, taken, judge);
  } else if (event.kind === 'ToolBatchSettled') checkPlan(taken, judge);
  if (before.active_tool_batch !== null && isOtherBatch(taken)) {
    for (const { call_id } of before.active_tool_batch.observed) markEnded(book.call(call_id));
    checkAmended(book, taken, judge);
    checkPairing(state, judge);
  }
  checkBounds(state, judge);
}

function checkStarted(book: Book, event: EventOfKind<'ToolCallStarted'>, judge: Judge): void {
  const call = book.call(event.call_id);
  if (call === undefined) return;
  const again = call.starters.length > 0 && call.planned?.repeatable !== true;
  judge.hold(!again, 'runs at most once', () => `${event.call_id} was started twice`);
  judge.hold(isOver(call) === null, 'settle once', () => `${event.call_id} was started after its end`);
  judge.hold(event.plan_hash === call.plan?.plan_hash, 'only the plan runs', () => `${event.call_id}: another plan`);
  checkAttempt(call, event, judge);
  call.starters.push(event.owner);
}

/** An answer is about the call as it was shown, and used once. */
function checkConfirmed(book: Book, event: EventOfKind<'user.tool_confirmation'>, judge: Judge): void {
  const call = book.call(event.call_id);
  const bound = call?.planned?.arguments_digest === event.arguments_digest;
  judge.hold(bound, 'approvals bound', () => `${event.call_id}: an answer about other arguments was taken`);
  if (call === undefined) return;
  const used = call.allowed || isOver(call) !== null;
  judge.hold(!used, 'approvals bound', () => `${event.call_id} was answered already`);
  if (event.result === 'allow') call.allowed = true;
  else markEnded(call);
  if (event.instead !== undefined) book.amended.push(event.instead.call_id);
}

/** What a person had made instead is made next, in order, unless the run ended or went elsewhere. */
function checkAmended(book: Book, { event, before, state }: Taken, judge: Judge): void {
  const due = book.amended;
  book.amended = [];
  if (event.kind !== 'ToolBatchSettled' || state.run?.run_id !== before.run?.run_id) return;
  const made = state.active_tool_batch?.observed ?? [];
  const missing = due.find((id, index) => made[index]?.call_id !== id);
  judge.hold(missing === undefined, 'nothing is lost', () => `${missing}: a person had it made, and nobody makes it`);
}

/** A run makes no more calls than it may; counted from what the model said. */
function checkBudget(book: Book, { event, before, state }: Taken, judge: Judge): void {
  if (event.kind !== 'ToolCallsObserved' || before.run === null) return;
  const made = (book.callsOf.get(event.run_id) ?? 0) + event.calls.length;
  book.callsOf.set(event.run_id, made);
  const stopped = state.active_tool_batch === null;
  if (stopped) book.refuse(event.calls);
  const within = made <= before.run.config.calls_max;
  judge.hold(within || stopped, 'bounded', () => `${event.run_id} makes ${made} calls`);
}

const isOtherBatch = ({ before, state }: Taken): boolean =>
  state.active_tool_batch?.batch_id !== before.active_tool_batch?.batch_id;

type Settled = EventOfKind<'ToolCallSettled'> | EventOfKind<'user.custom_tool_result'>;

function checkSettled(book: Book, taken: Taken, judge: Judge): void {
  const event = taken.event as Settled;
  const call = book.call(event.call_id);
  if (call === undefined) {
    judge.fail('settle once', `a result of ${event.call_id}, which nobody called`);
    return;
  }
  judge.hold(isOver(call) === null, 'settle once', () => `${event.call_id} is settled again: it was ${isOver(call)}`);
  judge.hold(call.planned !== null, 'only the plan runs', () => `${event.call_id} was rejected, and has a result`);
  const bound =
    event.kind === 'ToolCallSettled'
      ? event.plan_hash === call.plan?.plan_hash
      : event.arguments_digest === call.planned?.arguments_digest;
  judge.hold(bound, 'only the plan runs', () => `${event.call_id}: a result for another plan`);
  const status = statusOf(taken.state, event.call_id);
  if (event.kind === 'ToolCallSettled') {
    checkAttempt(call, event, judge);
    checkRetry(call, { book, taken, status }, judge);
  }
  if (status !== 'queued') call.settled ??= event.output;
}

/** How the call has ended; null while it has not. */
const isOver = ({ settled, ended }: CallEntry): string | null => {
  if (settled !== null) return 'settled';
  return ended ? 'given up' : null;
};

function loseCall(book: Book, { event, state }: Taken, judge: Judge): void {
  const lost = event as EventOfKind<'LeaseExpired'>;
  const call = book.call(lost.call_id);
  if (call === undefined) return;
  checkAttempt(call, lost, judge);
  if (statusOf(state, lost.call_id) === 'queued') tryAgain(call, 0);
  else markEnded(call);
}

function statusOf({ active_tool_batch: batch }: SessionState, id: CallId): CallStatus | undefined {
  return batch?.pages.flat()[batch.observed.findIndex(({ call_id }) => call_id === id)]?.status;
}

function markEnded(call: CallEntry | undefined): void {
  if (call !== undefined) call.ended = true;
}

/** What was planned was offered and is not denied, and calls in conflict wait for each other. */
function checkPlan({ before, state, event }: Taken, judge: Judge): void {
  const batch = state.active_tool_batch;
  if (batch === null || !isOtherBatch({ before, state, event })) return;
  const { session, run } = before.tool_overrides;
  const denied = new Set([...session.disable, ...run.disable]);
  const offered = new Set(before.run?.offer?.ordered_tools.map(({ tool_id }) => tool_id) ?? []);
  for (const { tool_id, call_id } of batch.plan.planned_calls) {
    judge.hold(!denied.has(tool_id), 'deny wins', () => `${call_id}: ${tool_id} is disabled and was planned`);
    // What a person had made instead, nobody offered to the model.
    const asOffered = offered.has(tool_id) || event.kind === 'ToolBatchSettled';
    judge.hold(asOffered, 'deny wins', () => `${call_id}: ${tool_id} was not offered and was planned`);
  }
  const { planned_calls, rejected } = batch.plan;
  const whole = planned_calls.length + rejected.length === batch.observed.length;
  judge.hold(whole, 'pairing', () => `${event.event_id}: not every call is planned or rejected`);
  const loose = looseConflict(batch.plan);
  judge.hold(loose === null, 'no conflicting calls overlap', () => `${loose}: neither waits for the other`);
}

function looseConflict(plan: ToolBatchPlan): string | null {
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

/** In the open page every call is followed by its result, in call order, once its batch is over. */
function checkPairing({ transcript, active_tool_batch: batch }: SessionState, judge: Judge): void {
  if (batch !== null || transcript.sealed.length > 0) return;
  const fault = findUnpaired(transcript.open);
  judge.hold(fault === null, 'pairing', () => `in the transcript: ${fault}`);
}

function findUnpaired(entries: readonly TranscriptEntry[]): string | null {
  let due: string[] = [];
  for (const { role, calls, call_id } of entries) {
    if (role === 'tool') {
      if (due.shift() !== call_id) return `a result of ${call_id} that was not due`;
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
  judge.hold(within, 'bounded', () => 'the state is larger than its limits');
}
