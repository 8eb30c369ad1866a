// What a person gave where a stream was recorded counts there, and once (docs/design.md, laws 9 and 12): the approval of a
// call that has not been made, a call approved with changes, and grants. A copy makes no such call: it answers those that it
// can, ends a run that would make one without asking, and begins without grants. Forks and imports share this file, so that
// neither keeps what the other gives up. Pure.
import { callStateAt, plannedOf } from '../../../reducers/batch-index.ts';
import { isAmended } from '../../../reducers/reconsider.ts';
import { rulesOf } from '../../../reducers/rules/known-rules.ts';
import { type CodedText, errorText } from '../../../reducers/rules/rule-set.ts';
import { phaseOf, transitionsOf } from '../../../reducers/run-phases.ts';
import { openWaitsIn } from '../../../reducers/waits.ts';
import { WITHDRAWN } from '../../../schemas/elicitation.ts';
import type { CallId } from '../../../schemas/ids.ts';
import type { PlannedToolCall } from '../../../schemas/plan.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../../../schemas/state.ts';
import type { OwnFact } from './own-facts.ts';

/** Whether a person, and no grant, allowed a call: by an answer about it, or by giving it instead of another one. */
export const isAllowed = (planned: PlannedToolCall, call: CallState): boolean =>
  call.approved === true || (isAmended(planned) && call.approved !== false);

export const takesFact = (state: SessionState, kind: 'RunPaused' | 'RunCancelled'): boolean =>
  transitionsOf(phaseOf(state), kind) !== null;

/** Whether the run makes changed calls, which a person approved, when its batch ends. */
export const owesChangedCalls = ({ run }: SessionState): boolean => (run?.amended?.length ?? 0) > 0;

/** Grants end with every new policy, also with the same one: the calls that they allowed ask in the copy. */
export const grantsFact = ({ consent: { grants, policy } }: SessionState): OwnFact | null =>
  grants.length === 0 ? null : { kind: 'ConsentPolicySet', policy };

export interface Unmade {
  /** What the model reads instead of a result; its code is recorded as that of the call. */
  readonly text: CodedText;
  /** Whether the copy makes a queued call, or asks for it. */
  readonly makes: (planned: PlannedToolCall, call: CallState) => boolean;
}

/**
 * The fact that answers the first open call that the copy does not make: a running one is lost, because the bridge that has
 * it never reports here. One whose attempt ended with a question, or was noted, is not continued here; null when there is none.
 */
export function unmadeFact(state: SessionState, { text, makes }: Unmade): OwnFact | null {
  const { active_tool_batch: batch } = state;
  if (batch === null) return null;
  const { batch_id, plan } = batch;
  // Results with these flags do not end the run under any completion rule.
  const answer = {
    result: { success: false, needsFollowup: true },
    output: { text: errorText(rulesOf(state), text) },
  };
  for (const { call_id, call, planned } of openCalls(batch)) {
    const { attempt } = call;
    if (call.status === 'running') return { kind: 'LeaseExpired', batch_id, call_id, attempt };
    // Its attempt ran elsewhere, and only there it can be continued: no one is asked about the next one, or for it.
    const { question } = call;
    if (question !== undefined) {
      const withdrawn = { attempt, question: question.digest, ...WITHDRAWN };
      return { kind: 'user.elicitation_result', batch_id, call_id, ...withdrawn };
    }
    if (call.status === 'waiting') {
      const { arguments_digest } = planned;
      const denied = { result: 'deny', message: text.message } as const;
      return { kind: 'user.tool_confirmation', batch_id, call_id, arguments_digest, ...denied };
    }
    if (call.resume === undefined && makes(planned, call)) continue;
    if (planned.executor.kind !== 'custom') {
      const report = { batch_id, call_id, attempt, plan_hash: plan.plan_hash, outcome: 'cancelled' } as const;
      return { kind: 'ToolCallSettled', ...report, code: text.code, ...answer };
    }
    // One that waits for a question cannot be answered before, and is asked of no application.
    if (openWaitsIn(batch, call_id).length > 0) continue;
    const { arguments_digest } = planned;
    return { kind: 'user.custom_tool_result', batch_id, call_id, arguments_digest, ...answer };
  }
  return null;
}

/** Whether a call that a person allowed is left when all that can be answered are: it would be asked for after a question. */
export function owesAllowedCall({ active_tool_batch: batch }: SessionState): boolean {
  if (batch === null) return false;
  for (const { planned, call } of openCalls(batch)) if (isAllowed(planned, call)) return true;
  return false;
}

interface OpenCall {
  readonly call_id: CallId;
  readonly call: CallState;
  readonly planned: PlannedToolCall;
}

/** The calls that are queued, run, or wait to be continued, without those that share the result of another. */
function* openCalls(batch: ActiveToolBatch): Generator<OpenCall> {
  for (const [position, { call_id }] of batch.observed.entries()) {
    const call = callStateAt(batch, position);
    if (call === undefined) continue;
    const isLeft = call.question !== undefined || call.resume !== undefined;
    if (call.status !== 'running' && call.status !== 'queued' && !(call.status === 'waiting' && isLeft)) continue;
    const planned = plannedOf(batch.plan, call_id)?.call;
    if (planned !== undefined && planned.shares === undefined) yield { call_id, call, planned };
  }
}
