// The status of a session for clients: idle, running, paused, waiting for a time, or waiting for a person (openboa, "Managed
// tool confirmation": `requires_action`).
import { nextDeadline } from '../../reducers/deadlines.ts';
import type { Effect, EffectOfKind } from '../../schemas/effect.ts';
import type { Digest, EffectId } from '../../schemas/ids.ts';
import type { RecordedPreview } from '../../schemas/consent.ts';
import type { SessionStatus as Status } from '../../schemas/session-head.ts';
import type { SessionState } from '../../schemas/state.ts';
import { digestJson } from '../../schemas/canonical.ts';
import { effects } from './effects.ts';
import { needsPerson, owesBridge } from './owing.ts';

export interface SessionStatus {
  readonly status: Status;
  /** The ids of the effects that a person must answer. Calls that do not wait for them continue meanwhile. */
  readonly blocking_event_ids: readonly EffectId[];
}

export function sessionStatus(state: SessionState): SessionStatus {
  const blocking_event_ids = personEffects(state).map((effect) => effect.effect_id);
  return { status: statusOf(state), blocking_event_ids };
}

/** The status alone; it costs no pass over the calls of a batch. */
export function statusOf(state: SessionState): Status {
  const { run } = state;
  if (run === null) return 'idle';
  if (needsPerson(state)) return 'requires_action';
  if (run.phase.startsWith('paused_')) return 'paused';
  return !owesBridge(state) && nextDeadline(state) !== null ? 'waiting' : 'running';
}

/** An effect that only a person can settle: a question about a call, or one that a call asks. */
export type PersonEffect = RequiredAction | Elicitation;

/** A question about a call: whether it may run, or to fulfil it. */
export type RequiredAction = EffectOfKind<'agent.tool_use' | 'agent.custom_tool_use'>;

/** A question that a call asks. */
export type Elicitation = EffectOfKind<'agent.elicitation'>;

/** The effects that wait for a person, in call order. */
export const personEffects = (state: SessionState): readonly PersonEffect[] =>
  state.active_tool_batch === null ? [] : effects(state).filter(isPersonEffect);

/** The questions that calls ask, in call order. */
export const elicitations = (state: SessionState): readonly Elicitation[] =>
  state.active_tool_batch?.questions === undefined ? [] : effects(state).filter(isElicitation);

/** The questions about calls, in call order. */
export const requiredActions = (state: SessionState): readonly RequiredAction[] =>
  state.active_tool_batch === null ? [] : effects(state).filter(isRequiredAction);

/**
 * Names a question: its session, batch, call, tool and arguments. A model's server chooses the ids of calls and may use one
 * again, so an answer to a question that was shown earlier, or elsewhere, names it by this digest.
 */
export const questionDigest = ({ session_id, effect_id, tool_id, arguments_digest }: RequiredAction): Digest =>
  digestJson({ session_id, effect_id, tool_id, arguments_digest });

/** The recorded preview of a question; null when there is none, or no person is asked. */
export const previewIn = (action: RequiredAction): RecordedPreview | null =>
  action.kind === 'agent.tool_use' && action.preview !== undefined && 'digest' in action.preview
    ? action.preview
    : null;

export const isRequiredAction = (effect: Effect): effect is RequiredAction =>
  effect.kind === 'agent.tool_use' || effect.kind === 'agent.custom_tool_use';

export const isElicitation = (effect: Effect): effect is Elicitation => effect.kind === 'agent.elicitation';

export const isPersonEffect = (effect: Effect): effect is PersonEffect =>
  isRequiredAction(effect) || isElicitation(effect);
