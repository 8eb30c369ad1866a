// The open batch: planned once, settled call by call, never edited otherwise (DESIGN section 4, "Batch").
import type { Draft } from 'immer';
import type { Content } from '../schemas/content.ts';
import type { EventOfKind } from '../schemas/event.ts';
import { type CallId, brand } from '../schemas/ids.ts';
import { freezeJson } from '../schemas/json.ts';
import { CALL_PAGE_SIZE } from '../schemas/limits.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import { invariant } from '../schemas/rejection.ts';
import type { RunState } from '../schemas/run.ts';
import type { ActiveToolBatch, CallState, CallStatus, SessionState } from '../schemas/state.ts';
import { isTerminalResult } from '../schemas/tool-call.ts';
import { callStateAt, pageOf, plannedOf, positionOf, slotOf } from './batch-index.ts';
import { isTerminal } from './call-status.ts';
import type { Refusal } from './judge-call.ts';
import { planBatch } from './planner.ts';

type Observed = EventOfKind<'ToolCallsObserved'>;

/** Plans the observed calls and opens the batch. */
export function openBatch(
  draft: Draft<SessionState>,
  event: Observed,
  state: SessionState,
  refused: ReadonlyMap<number, Refusal>,
): void {
  const plan = planBatch(state.effective_tools, event.calls, { offer: state.run?.offer ?? null, refused });
  const batch: ActiveToolBatch = {
    batch_id: brand<'BatchId'>(`batch-${state.batches_started + 1}`),
    run_id: event.run_id,
    turn: event.turn,
    observed: event.calls,
    plan,
    pages: toPages(initialCalls(event, plan)),
    queued: plan.planned_calls.length,
    running: 0,
  };
  draft.batches_started += 1;
  draft.active_tool_batch = freezeJson(batch) as Draft<ActiveToolBatch>;
  draft.last_tool_plan_hash = plan.plan_hash;
}

function initialCalls(event: Observed, plan: ToolBatchPlan): readonly CallState[] {
  const rejected = new Map(plan.rejected.map((rejection) => [rejection.index, rejection]));
  return event.calls.map((_, index) => {
    const rejection = rejected.get(index);
    const base = { attempt: 1, owner: null, terminal: false };
    return rejection === undefined
      ? { ...base, status: 'queued', output: null, code: null }
      : { ...base, status: 'rejected', output: { text: errorText(rejection) }, code: rejection.code };
  });
}

/** How a failure reads to the model. */
const errorText = ({ code, message }: { readonly code: string; readonly message: string }): string =>
  `error: ${code}: ${message}`;

const toPages = (calls: readonly CallState[]): readonly (readonly CallState[])[] =>
  Array.from({ length: Math.ceil(calls.length / CALL_PAGE_SIZE) }, (_, page) =>
    calls.slice(page * CALL_PAGE_SIZE, (page + 1) * CALL_PAGE_SIZE),
  );

interface Settlement {
  readonly status: Exclude<CallStatus, 'queued' | 'running'>;
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
  call.status = 'running';
  call.owner = event.owner;
  const batch = openBatchOf(draft);
  batch.queued -= 1;
  batch.running += 1;
}

export function settleCall(
  draft: Draft<SessionState>,
  event: EventOfKind<'ToolCallSettled'>,
  state: SessionState,
): void {
  const status = event.outcome ?? (event.result.success ? 'succeeded' : 'failed');
  settle(draft, state, event.call_id, {
    status,
    output: event.output,
    code: status === 'succeeded' ? null : (event.code ?? FAILURE_CODES[status]),
    terminal: endsRun(event, state.run),
  });
}

const FAILURE_CODES = { failed: 'tool_failed', cancelled: 'cancelled', unknown: 'outcome_unknown' } as const;

// `terminal: true` always ends the run; a failure does when the run was asked to complete as Steerable specifies it.
const endsRun = (event: EventOfKind<'ToolCallSettled'>, run: RunState | null): boolean =>
  event.result.terminal === true || (run?.config.completion === 'steerable' && isTerminalResult(event.result));

const UNKNOWN_TEXT =
  'error: outcome_unknown: The process that ran this call was lost, and nobody can say what the call did. ' +
  'Look at the state of things before you make it again.';

/** Whoever held the call is gone: a repeatable call waits for its next attempt, any other has an unknown outcome. */
export function loseCall(draft: Draft<SessionState>, event: EventOfKind<'LeaseExpired'>, state: SessionState): void {
  const repeatable = plannedOf(openBatchOf(state).plan, event.call_id)?.call.repeatable ?? false;
  const ending = state.run?.phase === 'interrupting' || state.run?.phase === 'cancelling';
  if (repeatable && !ending) {
    const call = draftCall(draft, state, event.call_id);
    call.status = 'queued';
    call.owner = null;
    call.attempt += 1;
    const batch = openBatchOf(draft);
    batch.running -= 1;
    batch.queued += 1;
    return;
  }
  const lost: Settlement = repeatable
    ? { status: 'cancelled', output: { text: 'error: cancelled' }, code: 'cancelled', terminal: false }
    : { status: 'unknown', output: { text: UNKNOWN_TEXT }, code: 'outcome_unknown', terminal: false };
  settle(draft, state, event.call_id, lost);
}

/** Cancels every call that has not started; with `alsoRunning`, every call that is not terminal. */
export function cancelCalls(draft: Draft<SessionState>, state: SessionState, text: string, alsoRunning = false): void {
  const batch = openBatchOf(state);
  for (const [position, { call_id }] of batch.observed.entries()) {
    const status = callStateAt(batch, position)?.status;
    if (status !== 'queued' && !(alsoRunning && status === 'running')) continue;
    settle(draft, state, call_id, { status: 'cancelled', output: { text }, code: 'cancelled', terminal: false });
  }
}

function settle(draft: Draft<SessionState>, state: SessionState, id: CallId, settlement: Settlement): void {
  const call = draftCall(draft, state, id);
  invariant(!isTerminal(call.status), `the call "${id}" is settled already`);
  const batch = openBatchOf(draft);
  if (call.status === 'queued') batch.queued -= 1;
  else batch.running -= 1;
  call.status = settlement.status;
  call.output = settlement.output;
  call.code = settlement.code;
  call.terminal = settlement.terminal;
}

// Positions are looked up in the frozen state, so that no draft is made of lists that do not change.
function draftCall(draft: Draft<SessionState>, state: SessionState, id: CallId): Draft<CallState> {
  const position = positionOf(openBatchOf(state), id);
  const call = position === undefined ? undefined : openBatchOf(draft).pages[pageOf(position)]?.[slotOf(position)];
  invariant(call !== undefined, `the batch has no call "${id}"`);
  return call;
}

function openBatchOf<B>(state: { readonly active_tool_batch: B | null }): B {
  invariant(state.active_tool_batch !== null, 'no batch is open');
  return state.active_tool_batch;
}

/** How the batch bears on the run once all its calls are terminal; null when the run goes on. */
export function terminalResult(batch: ActiveToolBatch): { readonly failed: boolean } | null {
  const terminal = batch.pages.flat().filter((call) => call.terminal);
  return terminal.length === 0 ? null : { failed: terminal.some((call) => call.status !== 'succeeded') };
}
