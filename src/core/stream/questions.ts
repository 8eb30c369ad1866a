// The questions to people that an event opens and closes. They are read from the calls of the batch, so that a paused run
// keeps its questions.
import { callStateAt, changedBetween, plannedOf, positionOf } from '../../../reducers/batch-index.ts';
import { openWaitsIn } from '../../../reducers/waits.ts';
import type { OpenQuestion } from '../../../schemas/elicitation.ts';
import type { EffectId } from '../../../schemas/ids.ts';
import { brand } from '../../../schemas/ids.ts';
import type { PlannedToolCall } from '../../../schemas/plan.ts';
import type { ActiveToolBatch, CallState } from '../../../schemas/state.ts';

/** A question about one call. */
export interface Question {
  readonly request_id: EffectId;
  readonly kind: 'permission' | 'question' | 'elicitation';
  /** Among the observed calls. */
  readonly index: number;
  readonly planned: PlannedToolCall;
  /** What the call itself asks, and in which attempt. */
  readonly open?: Pick<OpenQuestion, 'asked' | 'digest'> & { readonly attempt: number };
}

/** The calls whose questions an event may have opened or closed: of the batch before it, and of the same batch after it. */
export function askedIndexes(was: ActiveToolBatch | null, now: ActiveToolBatch | null): Iterable<number> {
  const any = was ?? now;
  if (any === null || was === now) return [];
  // A custom call asks once what it waits for has settled, and then the call itself has not changed.
  if (was === null || now === null || was.plan !== now.plan || asksCustom(any)) return any.observed.keys();
  return changedBetween(was, now);
}

const asksCustom = ({ plan }: ActiveToolBatch): boolean =>
  plan.planned_calls.some(({ executor }) => executor.kind === 'custom');

/** The question that waits for a person at this call; null when there is none. */
export function questionAt(batch: ActiveToolBatch | null, index: number): Question | null {
  const id = batch?.observed[index]?.call_id;
  if (batch === null || id === undefined || positionOf(batch, id) !== index) return null;
  const planned = plannedOf(batch.plan, id)?.call;
  const call = callStateAt(batch, index);
  if (planned === undefined || planned.shares !== undefined) return null;
  if (call?.question !== undefined) return askedBy(call, { batch, index, planned });
  const status = call?.status;
  const named = (what: 'confirm' | 'fulfil'): EffectId => brand(`${batch.batch_id}/${id}/${what}`);
  if (status === 'waiting') return { request_id: named('confirm'), kind: 'permission', index, planned };
  const isAsked = status === 'queued' && planned.executor.kind === 'custom' && openWaitsIn(batch, id).length === 0;
  return isAsked ? { request_id: named('fulfil'), kind: 'question', index, planned } : null;
}

/** What the call itself asks. */
function askedBy(
  { attempt, question: open, questions = 1 }: CallState,
  { batch, index, planned }: Pick<Question, 'index' | 'planned'> & { readonly batch: ActiveToolBatch },
): Question | null {
  if (open === undefined) return null;
  const request_id = brand<'EffectId'>(`${batch.batch_id}/${planned.call_id}/${attempt}/ask-${questions}`);
  return { request_id, kind: 'elicitation', index, planned, open: { ...open, attempt } };
}
