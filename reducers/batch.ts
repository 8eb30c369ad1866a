// The open batch: planned once, settled call by call, never edited otherwise (DESIGN section 4, "Batch").
import type { Draft } from 'immer';
import { canonicalText } from '../schemas/canonical.ts';
import type { Content } from '../schemas/content.ts';
import type { EventOfKind } from '../schemas/event.ts';
import { type CallId, brand } from '../schemas/ids.ts';
import { freezeJson } from '../schemas/json.ts';
import { CALL_PAGE_SIZE } from '../schemas/limits.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import { invariant } from '../schemas/rejection.ts';
import type { RunState } from '../schemas/run.ts';
import type { ActiveToolBatch, CallState, CallStatus, SessionState } from '../schemas/state.ts';
import { type SchemaVerdict, type ToolCallObserved, type ToolResult, isTerminalResult } from '../schemas/tool-call.ts';
import { callStateAt, pageOf, plannedOf, positionOf, sharersOf, slotOf, timedCustomsOf } from './batch-index.ts';
import { isTerminal } from './call-status.ts';
import type { Refusal } from './judge-call.ts';
import { planBatch } from './planner.ts';
import { retryDelay } from './retry.ts';
import { openWaits } from './waits.ts';
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
export function openBatch(draft: Draft<SessionState>, state: SessionState, opening: Opening): void {
  const { run, consent } = state;
  invariant(run !== null, 'calls belong to a run');
  const plan = planBatch(state.effective_tools, opening.calls, {
    offer: opening.amended === true ? null : run.offer,
    refused: opening.refused ?? new Map(),
    consent,
    shareReads: run.config.share_reads ?? false,
    amended: opening.amended ?? false,
  });
  draft.batches_started += 1;
  const calls = initialCalls(state, plan, opening);
  const waiting = calls.filter((call) => call.status === 'waiting').length;
  const timed = calls.flatMap((call, index) =>
    call.due_at_ms === undefined ? [] : [(opening.calls[index] as ToolCallObserved).call_id],
  );
  const batch: ActiveToolBatch = {
    batch_id: brand<'BatchId'>(`batch-${draft.batches_started}`),
    run_id: run.run_id,
    turn: run.turn,
    observed: opening.calls,
    plan,
    pages: toPages(calls),
    queued: calls.filter((call) => call.status === 'queued').length,
    running: 0,
    ...(waiting === 0 ? {} : { waiting }),
    ...(timed.length === 0 ? {} : { timed }),
  };
  draft.active_tool_batch = freezeJson(batch) as Draft<ActiveToolBatch>;
  draft.last_tool_plan_hash = plan.plan_hash;
}

function initialCalls(state: SessionState, plan: ToolBatchPlan, { calls, atMs }: Opening): readonly CallState[] {
  const rejected = new Map(plan.rejected.map((rejection) => [rejection.index, rejection]));
  const ttl = state.consent?.policy.approval_ttl_ms;
  const due = ttl === undefined ? {} : { due_at_ms: atMs + ttl };
  const open = new Set<CallId>();
  return calls.map((call, index) => {
    const rejection = rejected.get(index);
    const base = { attempt: 1, owner: null, terminal: false };
    if (rejection !== undefined) {
      return { ...base, status: 'rejected', output: { text: errorText(rejection) }, code: rejection.code };
    }
    const planned = plannedOf(plan, call.call_id)?.call;
    if (planned?.consent?.ask === 'person') open.add(call.call_id);
    if (planned?.consent?.ask === 'person') return { ...base, status: 'waiting', output: null, code: null, ...due };
    if (planned?.executor.kind !== 'workflow') {
      const statusOf = (id: CallId): CallStatus => (open.has(id) ? 'queued' : 'succeeded');
      const ready = openWaits(plan, call.call_id, statusOf).length === 0;
      open.add(call.call_id);
      const within = ready ? planned?.answer_within_ms : undefined;
      const answerBy = within === undefined ? {} : { due_at_ms: atMs + within };
      return { ...base, status: 'queued', output: null, code: null, ...answerBy };
    }
    const answer = runWorkflow(planned.executor.workflow, { state, args: call.arguments ?? {}, plan, calls });
    return { ...base, status: 'succeeded', output: { text: canonicalText(answer) }, code: null };
  });
}

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

export function startCall(
  draft: Draft<SessionState>,
  event: EventOfKind<'ToolCallStarted'>,
  state: SessionState,
): void {
  const call = draftCall(draft, state, event.call_id);
  moveTo(draft, call, 'running');
  call.owner = event.owner;
}

export function settleCall(
  draft: Draft<SessionState>,
  event: EventOfKind<'ToolCallSettled'>,
  state: SessionState,
): void {
  const reported = event.outcome ?? (event.result.success ? 'succeeded' : 'failed');
  // What does not fit the tool's own output schema is no success, whatever the tool says of it.
  const misfit = reported === 'succeeded' && event.output_verdict?.valid === false ? event.output_verdict : null;
  const status = misfit === null ? reported : 'failed';
  if (status === 'failed' && misfit === null && tryAgain(draft, event, state)) return;
  settle(draft, state, event.call_id, {
    status,
    output:
      misfit === null ? event.output : { text: errorText({ code: 'tool_invalid_result', message: faultOf(misfit) }) },
    code:
      status === 'succeeded' ? null : misfit === null ? (event.code ?? FAILURE_CODES[status]) : 'tool_invalid_result',
    terminal: misfit === null && endsRun(event.result, state.run),
  });
}

const faultOf = ({ path = '', message = 'it does not fit' }: SchemaVerdict): string =>
  `The result does not fit the output schema of the tool${path === '' ? '' : `, at ${path}`}: ${message}.`;

/** A repeatable call that failed for a passing reason is queued for its next attempt, unless its run is ending. */
function tryAgain(draft: Draft<SessionState>, event: EventOfKind<'ToolCallSettled'>, state: SessionState): boolean {
  if (state.run === null || state.run.ending !== null) return false;
  if (plannedOf(openBatchOf(state).plan, event.call_id)?.call.repeatable !== true) return false;
  const wait = retryDelay(state.run.config.retry, event.attempt, event);
  if (wait === null) return false;
  const call = draftCall(draft, state, event.call_id);
  moveTo(draft, call, 'queued');
  call.owner = null;
  call.attempt += 1;
  call.not_before_ms = event.at_ms + wait;
  const batch = openBatchOf(draft);
  batch.timed = [...(batch.timed ?? []), event.call_id];
  return true;
}

const FAILURE_CODES = { failed: 'tool_failed', cancelled: 'cancelled', unknown: 'outcome_unknown' } as const;

// `terminal: true` always ends the run; a failure does when the run was asked to complete as Steerable specifies it.
export const endsRun = (result: ToolResult, run: RunState | null): boolean =>
  result.terminal === true || (run?.config.completion === 'steerable' && isTerminalResult(result));

const UNKNOWN_TEXT =
  'error: outcome_unknown: The process that ran this call was lost, and nobody can say what the call did. ' +
  'Look at the state of things before you make it again.';

/** Whoever held the call is gone: a repeatable call waits for its next attempt, any other has an unknown outcome. */
export function loseCall(draft: Draft<SessionState>, event: EventOfKind<'LeaseExpired'>, state: SessionState): void {
  const repeatable = plannedOf(openBatchOf(state).plan, event.call_id)?.call.repeatable ?? false;
  const ending = state.run?.phase === 'interrupting' || state.run?.phase === 'cancelling';
  if (repeatable && !ending) {
    const call = draftCall(draft, state, event.call_id);
    moveTo(draft, call, 'queued');
    call.owner = null;
    call.attempt += 1;
    return;
  }
  const lost: Settlement = repeatable
    ? { status: 'cancelled', output: { text: 'error: cancelled' }, code: 'cancelled', terminal: false }
    : { status: 'unknown', output: { text: UNKNOWN_TEXT }, code: 'outcome_unknown', terminal: false };
  settle(draft, state, event.call_id, lost);
}

/** Cancels every call that has not started. */
export function cancelCalls(draft: Draft<SessionState>, state: SessionState, text: string): void {
  const batch = openBatchOf(state);
  for (const [position, { call_id }] of batch.observed.entries()) {
    const status = callStateAt(batch, position)?.status;
    if (status !== 'queued' && status !== 'waiting') continue;
    if (plannedOf(batch.plan, call_id)?.call.shares !== undefined) continue;
    settle(draft, state, call_id, { status: 'cancelled', output: { text }, code: 'cancelled', terminal: false });
  }
}

/** Gives a call its result, and the same to the calls that share it. */
export function settle(draft: Draft<SessionState>, state: SessionState, id: CallId, settlement: Settlement): void {
  for (const call_id of [id, ...sharersOf(openBatchOf(state).plan, id)]) {
    const call = draftCall(draft, state, call_id);
    invariant(!isTerminal(call.status), `the call "${call_id}" is settled already`);
    moveTo(draft, call, settlement.status);
    call.output = settlement.output;
    call.code = settlement.code;
    call.terminal = settlement.terminal;
    forgetTimes(draft, call, call_id);
  }
  beginCustomCalls(draft, openBatchOf(state), draft.updated_at_ms);
}

/** Moves a call on and keeps the batch's counts. */
export function moveTo(draft: Draft<SessionState>, call: Draft<CallState>, status: CallStatus): void {
  const batch = openBatchOf(draft);
  if (call.status === 'queued') batch.queued -= 1;
  else if (call.status === 'running') batch.running -= 1;
  else batch.waiting = (batch.waiting ?? 0) - 1;
  if (status === 'queued') batch.queued += 1;
  else if (status === 'running') batch.running += 1;
  call.status = status;
}

/** State waits for no time on account of this call any more. */
export function forgetTimes(draft: Draft<SessionState>, call: Draft<CallState>, id: CallId): void {
  if (call.due_at_ms === undefined && call.not_before_ms === undefined) return;
  delete call.due_at_ms;
  delete call.not_before_ms;
  const batch = openBatchOf(draft);
  const rest = (batch.timed ?? []).filter((timed) => timed !== id);
  if (rest.length > 0) batch.timed = rest;
  else delete batch.timed;
}

/** The time to fulfil a custom call begins once nothing that it waits for is open. */
export function beginCustomCalls(draft: Draft<SessionState>, { plan }: ActiveToolBatch, atMs: number): void {
  const batch = openBatchOf(draft);
  const statusOf = (id: CallId): Draft<CallState> | undefined => {
    const position = batch.observed.findIndex((call) => call.call_id === id);
    return batch.pages[pageOf(position)]?.[slotOf(position)];
  };
  for (const { call_id, answer_within_ms = 0 } of timedCustomsOf(plan)) {
    const call = statusOf(call_id);
    if (call?.status !== 'queued' || call.due_at_ms !== undefined) continue;
    if (openWaits(plan, call_id, (id) => statusOf(id)?.status).length > 0) continue;
    call.due_at_ms = atMs + answer_within_ms;
    batch.timed = [...(batch.timed ?? []), call_id];
  }
}

// Positions are looked up in the frozen state, so that no draft is made of lists that do not change.
export function draftCall(draft: Draft<SessionState>, state: SessionState, id: CallId): Draft<CallState> {
  const position = positionOf(openBatchOf(state), id);
  const call = position === undefined ? undefined : openBatchOf(draft).pages[pageOf(position)]?.[slotOf(position)];
  invariant(call !== undefined, `the batch has no call "${id}"`);
  return call;
}

export function openBatchOf<B>(state: { readonly active_tool_batch: B | null }): B {
  invariant(state.active_tool_batch !== null, 'no batch is open');
  return state.active_tool_batch;
}

/** How the batch bears on the run once all its calls are terminal; null when the run goes on. */
export function terminalResult(batch: ActiveToolBatch): { readonly failed: boolean } | null {
  const terminal = batch.pages.flat().filter((call) => call.terminal);
  return terminal.length === 0 ? null : { failed: terminal.some((call) => call.status !== 'succeeded') };
}
