// Where a call of a host stands, as the state of its session says it.
import { callStateOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import type { CallId } from '../../schemas/ids.ts';
import type { CallStatus, SessionState } from '../../schemas/state.ts';
import { effects } from '../core/effects.ts';
import { type PersonEffect, isPersonEffect, personEffects } from '../core/status.ts';

/** Whether a call is in the open batch and has not ended. */
export function isCallOpen(state: SessionState, id: CallId): boolean {
  const status = statusOf(state, id);
  return status !== undefined && !isTerminal(status);
}

export const isCallRunning = (state: SessionState, id: CallId): boolean => statusOf(state, id) === 'running';

const statusOf = ({ active_tool_batch: batch }: SessionState, id: CallId): CallStatus | undefined =>
  batch === null ? undefined : callStateOf(batch, id)?.status;

/** Whether a call is open, or will be made when the open batch is over because a person has changed its arguments. */
export const isPending = (state: SessionState, id: CallId): boolean =>
  isCallOpen(state, id) || (state.run?.amended ?? []).some(({ call_id }) => call_id === id);

/** The calls of the open batch that have not ended. */
export const openCalls = (state: SessionState): readonly CallId[] =>
  (state.active_tool_batch?.observed ?? []).map(({ call_id }) => call_id).filter((id) => isCallOpen(state, id));

/** What a call waits for a person for; null when it does not. */
export const personQuestionOf = (state: SessionState, id: CallId): PersonEffect | null =>
  personEffects(state).find(({ call_id }) => call_id === id) ?? null;

/** Whether a person is asked and nothing else goes on: a call that asks while it runs does nothing meanwhile. */
export function isStuck(state: SessionState): boolean {
  const asking = new Set(personEffects(state).map(({ call_id }) => call_id));
  if (asking.size === 0) return false;
  return effects(state).every(
    (effect) => isPersonEffect(effect) || effect.kind === 'wake' || ('call_id' in effect && asking.has(effect.call_id)),
  );
}
