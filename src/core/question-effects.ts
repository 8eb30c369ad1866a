// The effects of calls that ask: the question, for a person, and the answer, for the bridge that holds the call.
import { callStateOf } from '../../reducers/batch-index.ts';
import type { EffectOfKind } from '../../schemas/effect.ts';
import { brand } from '../../schemas/ids.ts';
import type { PlannedToolCall } from '../../schemas/plan.ts';
import { invariant } from '../../schemas/rejection.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../../schemas/state.ts';

/** What the call itself asks. */
export function elicitation(
  { session_id }: SessionState,
  { batch_id }: ActiveToolBatch,
  { call_id, tool_id, tool_name }: PlannedToolCall,
  { attempt, due_at_ms, question: open, questions }: CallState,
): EffectOfKind<'agent.elicitation'> {
  invariant(open !== undefined, 'a call that asks has an open question');
  return {
    kind: 'agent.elicitation',
    effect_id: brand(`${batch_id}/${call_id}/${attempt}/ask-${questions ?? 1}`),
    session_id,
    batch_id,
    call_id,
    attempt,
    tool_id,
    tool_name,
    question: open.digest,
    asked: open.asked,
    ...(due_at_ms === undefined ? {} : { due_at_ms }),
  };
}

/** The answers to questions of running calls: while the run ends, too, because its end withdraws their questions. */
export function answersTo(state: SessionState): readonly EffectOfKind<'tool.answer'>[] {
  const { session_id, active_tool_batch: batch, detached = [] } = state;
  const running = batch === null || batch.running === 0 ? [] : runningCalls(batch);
  return [...running, ...detached].flatMap(({ batch_id, call_id, attempt, owner, answer: owed }) => {
    if (owed === undefined) return [];
    const { answer, number, question } = owed;
    const effect_id = brand<'EffectId'>(`${batch_id}/${call_id}/${attempt}/answer-${number}`);
    return [
      { kind: 'tool.answer' as const, effect_id, session_id, batch_id, call_id, attempt, owner, question, answer },
    ];
  });
}

type Running = Pick<CallState, 'answer' | 'attempt' | 'owner'> &
  Pick<EffectOfKind<'tool.answer'>, 'batch_id' | 'call_id'>;

const runningCalls = (batch: ActiveToolBatch): readonly Running[] =>
  batch.plan.planned_calls.flatMap(({ call_id }) => {
    const call = callStateOf(batch, call_id);
    return call?.status === 'running' ? [{ ...call, batch_id: batch.batch_id, call_id }] : [];
  });
