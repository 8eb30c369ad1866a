// What one lease request may have: the effects it asked for, that are owed and nobody holds.
import type { Effect } from '../../schemas/effect.ts';
import type { Ingress, IngressEvent } from '../../schemas/event.ts';
import { type CallId, type EffectId, type OwnerId, brand } from '../../schemas/ids.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { LeaseGrant, LeaseRequest } from '../../schemas/wire.ts';
import { effects } from '../core/effects.ts';

/** An effect in somebody's hands, until the deadline (by the engine's clock). */
export interface Lease {
  readonly owner: OwnerId;
  readonly effect: Effect;
  deadlineMs: number;
}

export interface Grant {
  /** Takes what it may of one session; the answer is what was taken. */
  take(state: SessionState, held: ReadonlyMap<EffectId, Lease>): readonly Effect[];
  full(): boolean;
  result(): LeaseGrant;
}

export function newGrant(request: LeaseRequest, ttlMs: number): Grant {
  const taken: Effect[] = [];
  const plans: LeaseGrant['plans'][number][] = [];
  const matchesTool = toolMatcher(request.tools);

  const wanted = (effect: Effect): boolean => {
    if (effect.kind === 'wake' || !request.kinds.includes(effect.kind)) return false;
    if (effect.kind === 'tool.cancel') return effect.owner === null || effect.owner === request.owner;
    return effect.kind !== 'tool.call' || matchesTool(effect.tool_id);
  };

  return {
    take(state, held) {
      const mine: Effect[] = [];
      // Calls this owner has, now or from before: a call that waits for others goes to whoever has those.
      const ours = new Set<CallId>();
      for (const { owner, effect } of held.values()) {
        if (owner === request.owner && effect.kind === 'tool.call') ours.add(effect.call_id);
      }
      for (const effect of effects(state)) {
        if (taken.length + mine.length >= request.max) break;
        if (held.has(effect.effect_id) || !wanted(effect)) continue;
        if (effect.kind === 'tool.call') {
          if (!effect.after.every((id) => ours.has(id))) continue;
          ours.add(effect.call_id);
        }
        mine.push(effect);
      }
      const batch = state.active_tool_batch;
      if (batch !== null && mine.some((effect) => effect.kind === 'tool.call')) {
        plans.push({ session_id: state.session_id, batch_id: batch.batch_id, plan: batch.plan });
      }
      taken.push(...mine);
      return mine;
    },
    full: () => taken.length >= request.max,
    result: () => ({ effects: taken, plans, ttl_ms: ttlMs }),
  };
}

/** Matches tool ids against exact ids and prefixes that end with `*`. */
function toolMatcher(patterns: readonly string[]): (tool: string) => boolean {
  const exact = new Set(patterns);
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (tool) => exact.has(tool) || prefixes.some((prefix) => tool.startsWith(prefix));
}

/** A report on an effect: which one, and whether it answers it for good. Null for whatever is not a report. */
export interface ReportOn {
  readonly effect: EffectId;
  readonly answers: boolean;
}

export function reportOn(event: Ingress | IngressEvent): ReportOn | null {
  if (event.kind === 'ToolCallsObserved' || event.kind === 'GenerateFailed') {
    return { effect: brand(`${event.run_id}/turn-${event.turn}`), answers: true };
  }
  if (event.kind === 'ToolBatchSettled') return { effect: brand(`${event.batch_id}/settle`), answers: true };
  if (event.kind === 'ToolCallStarted' || event.kind === 'ToolCallSettled' || event.kind === 'LeaseExpired') {
    const effect = brand<'EffectId'>(`${event.batch_id}/${event.call_id}/${event.attempt}`);
    return { effect, answers: event.kind !== 'ToolCallStarted' };
  }
  return null;
}
