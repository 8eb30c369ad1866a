// The open batch: planned once, settled call by call, never edited otherwise (DESIGN section 4, "Batch").
import { canonicalText } from '../schemas/canonical.ts';
import type { Content } from '../schemas/content.ts';
import type { EventOfKind } from '../schemas/event.ts';
import { type CallId, brand } from '../schemas/ids.ts';
import { CALL_PAGE_SIZE } from '../schemas/limits.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import { invariant } from '../schemas/rejection.ts';
import type { RunState } from '../schemas/run.ts';
import type { ActiveToolBatch, CallState, CallStatus, SessionState } from '../schemas/state.ts';
import { type SchemaVerdict, type ToolCallObserved, type ToolResult, isTerminalResult } from '../schemas/tool-call.ts';
import {
  callStateAt,
  callStateOf,
  pageOf,
  plannedOf,
  positionOf,
  sharersOf,
  slotOf,
  timedCustomsOf,
} from './batch-index.ts';
import { isTerminal } from './call-status.ts';
import type { Refusal } from './judge-call.ts';
import { type NextState, inOrder, openBatchOf } from './next-state.ts';
import { planBatch } from './planner.ts';
import { retryDelay } from './retry.ts';
import { openWaits, openWaitsIn } from './waits.ts';
import { runWorkflow } from './workflows.ts';

/** The calls that make up a batch, and what is known of them before they are planned. */
interface Opening {
  readonly calls: readonly ToolCallObserved[];
  readonly atMs: number;
  /** Calls that the loop guard refused, by index. */
  readonly refused?: ReadonlyMap<number, Refusal>;
  /** A person approved these calls with arguments of their own. */
  readonly amended?: boolean;
}

/** Plans the observed calls and opens the batch. */
export function openBatch(next: NextState, state: SessionState, opening: Opening): void {
  const { run, consent } = state;
  invariant(run !== null, 'calls belong to a run');
  const plan = planBatch(state.effective_tools, opening.calls, {
    offer: opening.amended === true ? null : run.offer,
    refused: opening.refused ?? new Map(),
    consent,
    shareReads: run.config.share_reads ?? false,
    amended: opening.amended ?? false,
  });
  next.batches_started += 1;
  const calls = initialCalls(state, plan, opening);
  const waiting = calls.filter((call) => call.status === 'waiting').length;
  const timed = calls.flatMap((call, index) =>
    call.due_at_ms === undefined ? [] : [(opening.calls[index] as ToolCallObserved).call_id],
  );
  next.active_tool_batch = {
    batch_id: brand<'BatchId'>(`batch-${next.batches_started}`),
    observed: opening.calls,
    pages: toPages(calls),
    plan,
    queued: calls.filter((call) => call.status === 'queued').length,
    run_id: run.run_id,
    running: 0,
    ...(timed.length === 0 ? {} : { timed }),
    turn: run.turn,
    ...(waiting === 0 ? {} : { waiting }),
  };
  next.last_tool_plan_hash = plan.plan_hash;
}

function initialCalls(state: SessionState, plan: ToolBatchPlan, { calls, atMs }: Opening): readonly CallState[] {
  const rejected = new Map(plan.rejected.map((rejection) => [rejection.index, rejection]));
  const ttl = state.consent?.policy.approval_ttl_ms;
  const due = ttl === undefined ? {} : { due_at_ms: atMs + ttl };
  const open = new Set<CallId>();
  return calls.map((call, index) => {
    const rejection = rejected.get(index);
    if (rejection !== undefined) {
      return callState('rejected', { code: rejection.code, output: { text: errorText(rejection) } });
    }
    const planned = plannedOf(plan, call.call_id)?.call;
    if (planned?.consent?.ask === 'person') open.add(call.call_id);
    if (planned?.consent?.ask === 'person') return callState('waiting', due);
    if (planned?.executor.kind !== 'workflow') {
      const statusOf = (id: CallId): CallStatus => (open.has(id) ? 'queued' : 'succeeded');
      const ready = openWaits(plan, call.call_id, statusOf).length === 0;
      open.add(call.call_id);
      const within = ready ? planned?.answer_within_ms : undefined;
      const answerBy = within === undefined ? {} : { due_at_ms: atMs + within };
      return callState('queued', answerBy);
    }
    const answer = runWorkflow(planned.executor.workflow, { state, args: call.arguments ?? {}, plan, calls });
    return callState('succeeded', { output: { text: canonicalText(answer) } });
  });
}

// Its fields are in canonical order, as everywhere in a state: what is in order is digested without being sorted first.
const callState = (
  status: CallStatus,
  { code = null, due_at_ms, output = null }: Partial<Pick<CallState, 'code' | 'due_at_ms' | 'output'>>,
): CallState => ({
  attempt: 1,
  code,
  ...(due_at_ms === undefined ? {} : { due_at_ms }),
  output,
  owner: null,
  status,
  terminal: false,
});

/** How a failure reads to the model. */
export const errorText = ({ code, message }: { readonly code: string; readonly message: string }): string =>
  `error: ${code}: ${message}`;

const toPages = (calls: readonly CallState[]): readonly (readonly CallState[])[] =>
  Array.from({ length: Math.ceil(calls.length / CALL_PAGE_SIZE) }, (_, page) =>
    calls.slice(page * CALL_PAGE_SIZE, (page + 1) * CALL_PAGE_SIZE),
  );

export interface Settlement {
  readonly status: Exclude<CallStatus, 'waiting' | 'queued' | 'running'>;
  readonly output: Content;
  readonly code: string | null;
  readonly terminal: boolean;
}

export function startCall(next: NextState, { call_id, owner }: EventOfKind<'ToolCallStarted'>): void {
  const batch = openBatchOf(next);
  next.active_tool_batch = withCall(batch, call_id, { ...callOf(batch, call_id), owner, status: 'running' });
}

export function settleCall(next: NextState, event: EventOfKind<'ToolCallSettled'>): void {
  const reported = event.outcome ?? (event.result.success ? 'succeeded' : 'failed');
  // What does not fit the tool's own output schema is no success, whatever the tool says of it.
  const misfit = reported === 'succeeded' && event.output_verdict?.valid === false ? event.output_verdict : null;
  const status = misfit === null ? reported : 'failed';
  if (status === 'failed' && misfit === null && tryAgain(next, event)) return;
  settle(next, event.call_id, {
    status,
    output:
      misfit === null ? event.output : { text: errorText({ code: 'tool_invalid_result', message: faultOf(misfit) }) },
    code:
      status === 'succeeded' ? null : misfit === null ? (event.code ?? FAILURE_CODES[status]) : 'tool_invalid_result',
    terminal: misfit === null && endsRun(event.result, next.run),
  });
}

const faultOf = ({ path = '', message = 'it does not fit' }: SchemaVerdict): string =>
  `The result does not fit the output schema of the tool${path === '' ? '' : `, at ${path}`}: ${message}.`;

/** A repeatable call that failed for a passing reason is queued for its next attempt, unless its run is ending. */
function tryAgain(next: NextState, event: EventOfKind<'ToolCallSettled'>): boolean {
  const { run } = next;
  if (run === null || run.ending !== null) return false;
  const batch = openBatchOf(next);
  if (plannedOf(batch.plan, event.call_id)?.call.repeatable !== true) return false;
  const wait = retryDelay(run.config.retry, event.attempt, event);
  if (wait === null) return false;
  const queued = inOrder({ ...nextAttempt(callOf(batch, event.call_id)), not_before_ms: event.at_ms + wait });
  next.active_tool_batch = inOrder({
    ...withCall(batch, event.call_id, queued),
    timed: [...(batch.timed ?? []), event.call_id],
  });
  return true;
}

const nextAttempt = (call: CallState): CallState => ({
  ...call,
  attempt: call.attempt + 1,
  owner: null,
  status: 'queued',
});

const FAILURE_CODES = { failed: 'tool_failed', cancelled: 'cancelled', unknown: 'outcome_unknown' } as const;

// `terminal: true` always ends the run; a failure does when the run was asked to complete as Steerable specifies it.
export const endsRun = (result: ToolResult, run: RunState | null): boolean =>
  result.terminal === true || (run?.config.completion === 'steerable' && isTerminalResult(result));

const UNKNOWN_TEXT =
  'error: outcome_unknown: The process that ran this call was lost, and nobody can say what the call did. ' +
  'Look at the state of things before you make it again.';

/** Whoever held the call is gone: a repeatable call waits for its next attempt, any other has an unknown outcome. */
export function loseCall(next: NextState, { call_id }: EventOfKind<'LeaseExpired'>): void {
  const batch = openBatchOf(next);
  const repeatable = plannedOf(batch.plan, call_id)?.call.repeatable ?? false;
  const ending = next.run?.phase === 'interrupting' || next.run?.phase === 'cancelling';
  if (repeatable && !ending) {
    next.active_tool_batch = withCall(batch, call_id, nextAttempt(callOf(batch, call_id)));
    return;
  }
  const lost: Settlement = repeatable
    ? { status: 'cancelled', output: { text: 'error: cancelled' }, code: 'cancelled', terminal: false }
    : { status: 'unknown', output: { text: UNKNOWN_TEXT }, code: 'outcome_unknown', terminal: false };
  settle(next, call_id, lost);
}

/** Cancels every call that has not started. */
export function cancelCalls(next: NextState, text: string): void {
  const { observed, plan } = openBatchOf(next);
  for (const [position, { call_id }] of observed.entries()) {
    const status = callStateAt(openBatchOf(next), position)?.status;
    if (status !== 'queued' && status !== 'waiting') continue;
    if (plannedOf(plan, call_id)?.call.shares !== undefined) continue;
    settle(next, call_id, { status: 'cancelled', output: { text }, code: 'cancelled', terminal: false });
  }
}

/** Gives a call its result, and the same to the calls that share it. */
export function settle(next: NextState, id: CallId, { status, output, code, terminal }: Settlement): void {
  let batch = openBatchOf(next);
  for (const call_id of [id, ...sharersOf(batch.plan, id)]) {
    const call = callOf(batch, call_id);
    invariant(!isTerminal(call.status), `the call "${call_id}" is settled already`);
    batch = withCall(withoutTimes(batch, call_id), call_id, { ...withoutTime(call), code, output, status, terminal });
  }
  next.active_tool_batch = beginCustomCalls(batch, next.updated_at_ms);
}

/** People have said that the call may run. */
export function admitCall(next: NextState, id: CallId): void {
  const batch = openBatchOf(next);
  const queued: CallState = { ...withoutTime(callOf(batch, id)), status: 'queued' };
  next.active_tool_batch = beginCustomCalls(withCall(withoutTimes(batch, id), id, queued), next.updated_at_ms);
}

/** The time that the next attempt of a call had to wait for has come. */
export function letCallTry(next: NextState, id: CallId): void {
  const batch = openBatchOf(next);
  next.active_tool_batch = withCall(withoutTimes(batch, id), id, withoutTime(callOf(batch, id)));
}

/** State waits for no time on account of this call any more. */
function withoutTime(call: CallState): CallState {
  if (call.due_at_ms === undefined && call.not_before_ms === undefined) return call;
  const { due_at_ms: _due, not_before_ms: _notBefore, ...rest } = call;
  return rest;
}

/** The batch of which this call waits for no time any more. */
function withoutTimes(batch: ActiveToolBatch, id: CallId): ActiveToolBatch {
  if (batch.timed?.includes(id) !== true) return batch;
  const { timed, ...rest } = batch;
  const others = timed.filter((other) => other !== id);
  return others.length === 0 ? rest : inOrder({ ...rest, timed: others });
}

/** The time to fulfil a custom call begins once nothing that it waits for is open. */
function beginCustomCalls(before: ActiveToolBatch, atMs: number): ActiveToolBatch {
  let batch = before;
  for (const { call_id, answer_within_ms = 0 } of timedCustomsOf(batch.plan)) {
    const call = callStateOf(batch, call_id);
    if (call?.status !== 'queued' || call.due_at_ms !== undefined) continue;
    if (openWaitsIn(batch, call_id).length > 0) continue;
    const due = withCall(batch, call_id, inOrder({ ...call, due_at_ms: atMs + answer_within_ms }));
    batch = inOrder({ ...due, timed: [...(batch.timed ?? []), call_id] });
  }
  return batch;
}

/** The batch with another state of a call, and with its counts as they are then. */
function withCall(batch: ActiveToolBatch, id: CallId, call: CallState): ActiveToolBatch {
  const position = positionOf(batch, id) as number;
  const pages = batch.pages.slice();
  const page = (pages[pageOf(position)] ?? []).slice();
  const { status } = page[slotOf(position)] as CallState;
  page[slotOf(position)] = call;
  pages[pageOf(position)] = page;
  const { queued, running, waiting } = batch;
  return {
    ...batch,
    pages,
    queued: queued - Number(status === 'queued') + Number(call.status === 'queued'),
    running: running - Number(status === 'running') + Number(call.status === 'running'),
    ...(status === 'waiting' ? { waiting: (waiting ?? 0) - 1 } : {}),
  };
}

function callOf(batch: ActiveToolBatch, id: CallId): CallState {
  const call = callStateOf(batch, id);
  invariant(call !== undefined, `the batch has no call "${id}"`);
  return call;
}

/** How the batch bears on the run once all its calls are terminal; null when the run goes on. */
export function terminalResult(batch: ActiveToolBatch): { readonly failed: boolean } | null {
  const terminal = batch.pages.flat().filter((call) => call.terminal);
  return terminal.length === 0 ? null : { failed: terminal.some((call) => call.status !== 'succeeded') };
}
