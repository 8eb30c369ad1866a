// Deny wins at the start, not only at planning (docs/design.md, law 6): when what is allowed changes while a batch is open,
// its calls are judged again. One that has not started and is refused now is settled at once, with the code that planning
// would have given; one about which the policy asks now waits for a person. A call that runs is never settled here: its
// bridge is asked to stop it if its tool is cancelled by interrupts, and reports how it ended.
//
// A call that has not started keeps what this file decides until something it depends on changes again, so judging it
// twice gives the same answer.
import type { CallConsent } from '../schemas/consent.ts';
import type { IngressEvent } from '../schemas/event.ts';
import type { PlannedToolCall } from '../schemas/plan.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../schemas/state.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import { answered } from './batch.ts';
import { type BatchEdit, editBatch } from './batch-edit.ts';
import { callStateAt, callStateOf, changedBetween, plannedOf, positionOf } from './batch-index.ts';
import { isTerminal } from './call-status.ts';
import { newGrantWork } from './consent.ts';
import { hasMoved } from './host-session.ts';
import { type Refusal, newCallJudge } from './judge-call.ts';
import { type NextState, inOrder } from './next-state.ts';
import { consentTo, isPlannedTool } from './planner.ts';
import { rulesOf } from './rules/known-rules.ts';
import { type RuleSet, codedText, ruleText } from './rules/rule-set.ts';

/** Judges again every open call of the batch if what is allowed has changed; else the call that this event queued again. */
export function reconsiderCalls(next: NextState, before: SessionState, event: IngressEvent): void {
  const { active_tool_batch: batch, run } = next;
  // Calls of a batch that has just opened are judged by its plan; a run that is ending starts no call.
  if (batch === null || run === null || run.ending !== null) return;
  if (before.active_tool_batch?.batch_id !== batch.batch_id) return;
  const moved = hasMoved(before.tool_runtime_context, next.tool_runtime_context);
  const changed = moved || next.effective_tools !== before.effective_tools || next.consent !== before.consent;
  const calls = changed ? openCalls(batch) : requeuedBy(event, batch, before);
  if (calls.length === 0) return;
  const edit = editBatch(next);
  if (moved) withdrawApprovals(edit, calls);
  const judge = newJudgeAgain(next, edit);
  for (const call of calls) {
    // It shares the result of a call that was settled just now.
    if (!isTerminal(edit.call(call.planned.call_id).status)) apply(edit, next, call.planned, judge(call));
  }
  edit.finish();
}

/**
 * An answer counts where it was given: what a person allowed in one place asks again in another. So does a preview: the files
 * there are others.
 */
function withdrawApprovals(edit: BatchEdit, calls: readonly OpenCall[]): void {
  for (const { planned } of calls) {
    const call = edit.call(planned.call_id);
    if (call.status === 'waiting' && call.preview !== undefined) edit.previewAgain(planned.call_id);
    else if (call.approved === true || isAmended(planned))
      edit.put(planned.call_id, inOrder({ ...call, approved: false }));
  }
}

/** Whether a person gave the call, with its arguments, instead of another one. */
export const isAmended = ({ consent }: PlannedToolCall): boolean =>
  consent?.reasons.includes('approved_with_changes') === true;

interface OpenCall {
  readonly planned: PlannedToolCall;
  readonly observed: ToolCallObserved;
}

/** The planned calls that are not settled, in observed order; those that share a result go with the call that has it. */
const openCalls = (batch: ActiveToolBatch): readonly OpenCall[] =>
  batch.plan.planned_calls.flatMap((planned) => {
    const status = callStateOf(batch, planned.call_id)?.status;
    if (status === undefined || isTerminal(status) || planned.shares !== undefined) return [];
    return [openCall(batch, planned)];
  });

/** A call of which another attempt is owed, or will be when its question is answered: what is allowed may have changed while it ran. */
function requeuedBy(event: IngressEvent, batch: ActiveToolBatch, before: SessionState): readonly OpenCall[] {
  if (event.kind === 'TimeReached') return expiredQuestions(batch, before);
  if (!REQUEUE.has(event.kind) || !('call_id' in event)) return [];
  const { batch_id, call_id } = event;
  const status = batch_id === batch.batch_id ? callStateOf(batch, call_id)?.status : undefined;
  if (status !== 'queued' && status !== 'waiting') return [];
  const planned = plannedOf(batch.plan, call_id)?.call;
  return planned === undefined ? [] : [openCall(batch, planned)];
}

const REQUEUE: ReadonlySet<IngressEvent['kind']> = new Set<IngressEvent['kind']>([
  'ToolCallSettled',
  'LeaseExpired',
  'ToolCallAsked',
  'user.elicitation_result',
]);

/** The calls whose questions have expired, so that their next attempts are owed. */
function expiredQuestions(batch: ActiveToolBatch, { active_tool_batch: was }: SessionState): readonly OpenCall[] {
  if (was?.questions === undefined) return [];
  return Array.from(changedBetween(was, batch)).flatMap((position) => {
    const planned = plannedOf(batch.plan, (batch.observed[position] as ToolCallObserved).call_id)?.call;
    const requeued =
      callStateAt(batch, position)?.status === 'queued' && callStateAt(was, position)?.question !== undefined;
    return requeued && planned !== undefined ? [openCall(batch, planned)] : [];
  });
}

const openCall = (batch: ActiveToolBatch, planned: PlannedToolCall): OpenCall => ({
  planned,
  observed: batch.observed[positionOf(batch, planned.call_id) as number] as ToolCallObserved,
});

/** Why the call must not start, how a person is asked about it, or null when it may start without a question. */
type Verdict = Refusal | CallConsent | null;

function newJudgeAgain(next: NextState, edit: BatchEdit): (call: OpenCall) => Verdict {
  const rules = rulesOf(next);
  const judge = newCallJudge(rules, next.effective_tools, null);
  const work = newGrantWork();
  return ({ planned, observed }) => {
    const judged = judge(observed);
    if ('refusal' in judged) return judged.refusal;
    if (!isPlannedTool(planned, judged.tool)) {
      return codedText(rules, 'tool_not_offered.changed', { name: planned.tool_name });
    }
    const amended = isAmended(planned) && edit.call(planned.call_id).approved !== false;
    const consent = consentTo(observed, judged.tool, { consent: next.consent, amended, rules, work });
    return consent !== null && ('code' in consent || consent.ask === 'person') ? consent : null;
  };
}

function apply(edit: BatchEdit, next: NextState, planned: PlannedToolCall, verdict: Verdict): void {
  if (verdict === null) return;
  const { call_id } = planned;
  const call = edit.call(call_id);
  if (!('code' in verdict)) {
    if (call.status === 'queued' && call.approved !== true) edit.ask(call_id, verdict, dueOf(next));
  } else if (call.status !== 'running') {
    const rules = rulesOf(next);
    edit.settle(
      call_id,
      answered('rejected', rules, { ...verdict, message: messageOf(rules, verdict, planned, call) }),
    );
  } else if (planned.interrupt_behavior === 'cancel' && call.stopping !== true) edit.stop(call_id);
}

/** When a question that is asked now expires; undefined when it does not. */
function dueOf({ consent, updated_at_ms }: NextState): number | undefined {
  const ttl = consent.policy.approval_ttl_ms;
  return ttl === undefined ? undefined : updated_at_ms + ttl;
}

/** A call that has been tried may have had effects, which the model must know. */
const messageOf = (
  rules: RuleSet,
  { message }: Refusal,
  { read_only }: PlannedToolCall,
  { attempt, question }: CallState,
) =>
  (attempt === 1 && question === undefined) || read_only
    ? message
    : ruleText(rules, 'not_tried_again', { why: message });
