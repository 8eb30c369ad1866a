// The status of a session for clients: idle, running, paused, or waiting for a person (openboa, "Managed tool
// confirmation": `requires_action`).
import type { Effect, EffectOfKind } from '../../schemas/effect.ts';
import type { EffectId } from '../../schemas/ids.ts';
import type { SessionState } from '../../schemas/state.ts';
import { effects } from './effects.ts';

export interface SessionStatus {
  readonly status: 'idle' | 'running' | 'paused' | 'requires_action';
  /** The ids of the effects that a person must answer. Calls that do not wait for them continue meanwhile. */
  readonly blocking_event_ids: readonly EffectId[];
}

export function sessionStatus(state: SessionState): SessionStatus {
  const { run } = state;
  if (run === null) return { status: 'idle', blocking_event_ids: [] };
  const blocking_event_ids = requiredActions(state).map((effect) => effect.effect_id);
  if (blocking_event_ids.length > 0) return { status: 'requires_action', blocking_event_ids };
  return { status: run.phase.startsWith('paused_') ? 'paused' : 'running', blocking_event_ids };
}

/** An effect that only a person can settle. */
export type RequiredAction = EffectOfKind<'agent.tool_use' | 'agent.custom_tool_use'>;

/** The effects that wait for a person, in call order. */
export const requiredActions = (state: SessionState): readonly RequiredAction[] =>
  state.active_tool_batch === null ? [] : effects(state).filter(isRequiredAction);

export const isRequiredAction = (effect: Effect): effect is RequiredAction =>
  effect.kind === 'agent.tool_use' || effect.kind === 'agent.custom_tool_use';
