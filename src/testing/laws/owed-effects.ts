// The effects that a durable state owes, computed once for each state.
import type { Effect } from '../../../schemas/effect.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { effects } from '../../core/effects.ts';

const known = new WeakMap<SessionState, readonly Effect[]>();

/** The effects of a frozen state. */
export function owedEffects(state: SessionState): readonly Effect[] {
  const before = known.get(state);
  if (before !== undefined) return before;
  const owed = effects(state);
  known.set(state, owed);
  return owed;
}

/** True when both are equal, apart from the calls that a call waits for: they become fewer as those settle. */
export const sameEffect = (a: Effect, b: Effect): boolean => {
  if (a.kind !== 'tool.call' || b.kind !== 'tool.call') return sameJson(a, b);
  const { after: _afterA, ...restA } = a;
  const { after: _afterB, ...restB } = b;
  return sameJson(restA, restB);
};

/** Deep equality of JSON values. References that are equal are not descended into. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return false;
    if (!sameJson((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])) return false;
  }
  return true;
}
