// The open batch: planned once, then settled call by call (docs/design.md, "The batch").
import { canonicalText } from '../schemas/canonical.ts';
import { WITHDRAWN } from '../schemas/elicitation.ts';
import type { EventOfKind } from '../schemas/event.ts';
import { type CallId, brand } from '../schemas/ids.ts';
import { CALL_PAGE_SIZE, PREVIEW_MS } from '../schemas/limits.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import { invariant } from '../schemas/rejection.ts';
import type { RunOutcome, RunState } from '../schemas/run.ts';
import type { ActiveToolBatch, CallState, CallStatus, SessionState } from '../schemas/state.ts';
import { type SchemaVerdict, type ToolCallObserved, type ToolResult, isTerminalResult } from '../schemas/tool-call.ts';
import { type Settlement, editBatch } from './batch-edit.ts';
import { plannedOf } from './batch-index.ts';
import { afterFailure, afterLoss } from './call-attempts.ts';
import { newBatchOutput } from './batch-results.ts';
import type { Refusal } from './judge-call.ts';
import { type NextState, inOrder, openBatchOf } from './next-state.ts';
import { planBatch } from './planner.ts';
import { answerOpen } from './questions.ts';
import { retryDelay } from './retry.ts';
import { rulesOf } from './rules/known-rules.ts';
import { type CodedText, type RuleSet, codedText, errorText, ruleText } from './rules/rule-set.ts';
import { type SearchWork, newSearchWork, withFound } from './tool-search.ts';
import { openWaits } from './waits.ts';
import { runWorkflow } from './workflows.ts';

/** The calls of a new batch, and what was decided about them before planning. */
interface Opening {
  readonly calls: readonly ToolCallObserved[];
  readonly atMs: number;
  /** Calls that the loop guard refused, by index. */
  readonly refused?: ReadonlyMap<number, Refusal>;
  /** From this index on, a person approved the calls with changed arguments. */
  readonly amendedFrom?: number;
}

/** Plans the observed calls and opens the batch. */
export function openBatch(next: NextState, state: SessionState, opening: Opening): void {
  const { run, consent } = state;
  invariant(run !== null, 'calls belong to a run');
  const plan = planBatch(state.effective_tools, opening.calls, {
    offer: run.offer,
    refused: opening.refused ?? new Map(),
    consent,
    shareReads: run.config.share_reads,
    amendedFrom: opening.amendedFrom ?? Infinity,
    rules: rulesOf(state),
  });
  next.batches_started += 1;
  const searches = newSearchWork();
  const calls = initialCalls(state, plan, { ...opening, searches });
  const waiting = calls.filter((call) => call.status === 'waiting').length;
  const previews = calls.filter((call) => call.preview_until_ms !== undefined).length;
  const timed = calls.flatMap((call, index) =>
    call.due_at_ms === undefined && call.preview_until_ms === undefined
      ? []
      : [(opening.calls[index] as ToolCallObserved).call_id],
  );
  next.active_tool_batch = {
    batch_id: brand<'BatchId'>(`batch-${next.batches_started}`),
    observed: opening.calls,
    pages: toPages(calls),
    plan,
    ...(previews === 0 ? {} : { previews }),
    queued: calls.filter((call) => call.status === 'queued').length,
    run_id: run.run_id,
    running: 0,
    ...(timed.length === 0 ? {} : { timed }),
    turn: run.turn,
    ...(waiting === 0 ? {} : { waiting }),
  };
  next.last_tool_plan_hash = plan.plan_hash;
  if (searches.found.size > 0) {
    next.tool_overrides = { ...next.tool_overrides, run: withFound(next.tool_overrides.run, searches.found) };
  }
}

function initialCalls(
  state: SessionState,
  plan: ToolBatchPlan,
  { calls, atMs, searches }: Opening & { readonly searches: SearchWork },
): readonly CallState[] {
  const rejected = new Map(plan.rejected.map((rejection) => [rejection.index, rejection]));
  const ttl = state.consent.policy.approval_ttl_ms;
  const due = ttl === undefined ? {} : { due_at_ms: atMs + ttl };
  const previewUntil = atMs + PREVIEW_MS;
  const rules = rulesOf(state);
  const outputs = newBatchOutput(rules, calls.length);
  const open = new Set<CallId>();
  return calls.map((call, index) => {
    const rejection = rejected.get(index);
    if (rejection !== undefined) {
      return callState('rejected', {
        code: rejection.code,
        ...outputs.fit({ text: errorText(rules, rejection) }, 1),
      });
    }
    const planned = plannedOf(plan, call.call_id)?.call;
    if (planned?.executor.kind !== 'workflow') {
      const statusOf = (id: CallId): CallStatus => (open.has(id) ? 'queued' : 'succeeded');
      const ready = openWaits(plan, call.call_id, statusOf).length === 0;
      open.add(call.call_id);
      if (planned?.consent?.ask === 'person') {
        return callState(
          'waiting',
          planned.preview === true && ready ? { ...due, preview_until_ms: previewUntil } : due,
        );
      }
      const within = ready ? planned?.answer_within_ms : undefined;
      const answerBy = within === undefined ? {} : { due_at_ms: atMs + within };
      return callState('queued', answerBy);
    }
    const answer = runWorkflow(planned.executor.workflow, {
      state,
      args: call.arguments ?? {},
      plan,
      calls,
      searches,
    });
    return callState('succeeded', outputs.fit({ text: canonicalText(answer) }, 1));
  });
}

// The fields are in canonical order, as everywhere in state, so that they are digested without being sorted.
const callState = (
  status: CallStatus,
  {
    code = null,
    due_at_ms,
    output = null,
    preview_until_ms,
  }: Partial<Pick<CallState, 'code' | 'due_at_ms' | 'output' | 'preview_until_ms'>>,
): CallState => ({
  attempt: 1,
  code,
  ...(due_at_ms === undefined ? {} : { due_at_ms }),
  output,
  owner: null,
  ...(preview_until_ms === undefined ? {} : { preview_until_ms }),
  status,
  terminal: false,
});

const toPages = (calls: readonly CallState[]): readonly (readonly CallState[])[] =>
  Array.from({ length: Math.ceil(calls.length / CALL_PAGE_SIZE) }, (_, page) =>
    calls.slice(page * CALL_PAGE_SIZE, (page + 1) * CALL_PAGE_SIZE),
  );

export function startCall(next: NextState, { call_id, owner }: EventOfKind<'ToolCallStarted'>): void {
  const edit = editBatch(next);
  edit.start(call_id, owner);
  edit.finish();
}

export function settleCall(next: NextState, event: EventOfKind<'ToolCallSettled'>): void {
  const reported = event.outcome ?? (event.result.success ? 'succeeded' : 'failed');
  // A result that does not fit the tool's output schema is a failure, even when the tool reports success.
  const misfit = reported === 'succeeded' && event.output_verdict?.valid === false ? event.output_verdict : null;
  const status = misfit === null ? reported : 'failed';
  if (status === 'failed' && misfit === null && tryAgain(next, event)) return;
  if (misfit !== null) {
    settle(next, event.call_id, answered('failed', rulesOf(next), misfitText(rulesOf(next), misfit)));
    return;
  }
  settle(next, event.call_id, {
    status,
    output: event.output,
    code: status === 'succeeded' ? null : (event.code ?? FAILURE_CODES[status]),
    terminal: endsRun(event.result, next.run),
    ...(event.attachments === undefined ? {} : { attachments: event.attachments }),
  });
}

function misfitText(rules: RuleSet, { path = '', message }: SchemaVerdict): CodedText {
  const fault = message ?? ruleText(rules, 'schema_misfit', {});
  return path === ''
    ? codedText(rules, 'tool_invalid_result', { fault })
    : codedText(rules, 'tool_invalid_result.at', { path, fault });
}

/** How a call ends that the fold answers: its code, and the text of the rules that the model reads. */
export const answered = (status: Settlement['status'], rules: RuleSet, text: CodedText): Settlement => ({
  status,
  output: { text: errorText(rules, text) },
  code: text.code,
  terminal: false,
});

/** Queues the next attempt of a repeatable call that failed with a temporary fault, unless its run is ending. */
function tryAgain(next: NextState, event: EventOfKind<'ToolCallSettled'>): boolean {
  const { run } = next;
  if (run === null || run.ending !== null) return false;
  if (plannedOf(openBatchOf(next).plan, event.call_id)?.call.repeatable !== true) return false;
  const wait = retryDelay(run.config.retry, event.attempt, event);
  if (wait === null) return false;
  const edit = editBatch(next);
  edit.dropTime(event.call_id);
  edit.put(event.call_id, inOrder({ ...afterFailure(edit.call(event.call_id)), not_before_ms: event.at_ms + wait }));
  edit.addTime(event.call_id);
  edit.finish();
  return true;
}

const FAILURE_CODES = { failed: 'tool_failed', cancelled: 'cancelled', unknown: 'outcome_unknown' } as const;

// `terminal: true` always ends the run; a failure ends it when the run has the completion rule `steerable`.
export const endsRun = (result: ToolResult, run: RunState | null): boolean =>
  result.terminal === true || (run?.config.completion === 'steerable' && isTerminalResult(result));

/**
 * The bridge that held the call is gone: a repeatable call, and one whose work outside was noted, is queued again; the outcome
 * of any other is unknown.
 */
export function loseCall(next: NextState, { call_id }: EventOfKind<'LeaseExpired'>): void {
  const repeatable = plannedOf(openBatchOf(next).plan, call_id)?.call.repeatable ?? false;
  const ending = next.run?.phase === 'interrupting' || next.run?.phase === 'cancelling';
  const edit = editBatch(next);
  const call = edit.call(call_id);
  if ((repeatable || call.noted !== undefined) && !ending) {
    edit.dropTime(call_id);
    edit.put(call_id, afterLoss(call));
    edit.finish();
    return;
  }
  const rules = rulesOf(next);
  const lost = repeatable
    ? answered('cancelled', rules, codedText(rules, 'cancelled.lost', {}))
    : answered('unknown', rules, codedText(rules, 'outcome_unknown', {}));
  settle(next, call_id, lost);
}

/** Cancels every call that has not started, because of how its run ends, and withdraws the questions of those that run. */
export function cancelCalls(next: NextState, outcome: Exclude<RunOutcome, 'completed'>): void {
  const { observed, plan } = openBatchOf(next);
  const rules = rulesOf(next);
  const cancelled = answered('cancelled', rules, codedText(rules, `cancelled.${outcome}`, {}));
  const edit = editBatch(next);
  for (const [position, { call_id }] of observed.entries()) {
    const { status, question } = edit.at(position);
    if (status === 'running' && question !== undefined) answerOpen(edit, call_id, WITHDRAWN);
    if (status !== 'queued' && status !== 'waiting') continue;
    if (plannedOf(plan, call_id)?.call.shares !== undefined) continue;
    edit.end(call_id, cancelled);
  }
  edit.finish();
}

/** Settles one call, and the calls that share its result. */
export function settle(next: NextState, id: CallId, settlement: Settlement): void {
  const edit = editBatch(next);
  edit.settle(id, settlement);
  edit.finish();
}

/** How the terminal results of the batch end the run; null when the run continues. */
export function terminalResult(batch: ActiveToolBatch): { readonly failed: boolean } | null {
  const terminal = batch.pages.flat().filter((call) => call.terminal);
  return terminal.length === 0 ? null : { failed: terminal.some((call) => call.status !== 'succeeded') };
}
