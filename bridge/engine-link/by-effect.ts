// A map keyed by session and effect.
import type { EffectId, SessionId } from '../../schemas/ids.ts';
import type { LeaseKey } from '../../schemas/wire.ts';

export interface ByEffect<T> {
  size(): number;
  get(key: LeaseKey): T | undefined;
  set(key: LeaseKey, value: T): void;
  /** Returns false when there was no value. */
  delete(key: LeaseKey): boolean;
  values(): readonly T[];
}

/** Nested maps, so that the two ids are never joined into one key. */
export function newByEffect<T>(): ByEffect<T> {
  const sessions = new Map<SessionId, Map<EffectId, T>>();
  let size = 0;
  return {
    size: () => size,
    get: ({ session_id, effect_id }) => sessions.get(session_id)?.get(effect_id),
    set({ session_id, effect_id }, value) {
      const effects = sessions.get(session_id) ?? new Map<EffectId, T>();
      if (effects.size === 0) sessions.set(session_id, effects);
      size -= effects.size;
      effects.set(effect_id, value);
      size += effects.size;
    },
    delete({ session_id, effect_id }) {
      const effects = sessions.get(session_id);
      if (effects?.delete(effect_id) !== true) return false;
      if (effects.size === 0) sessions.delete(session_id);
      size -= 1;
      return true;
    },
    values: () => [...sessions.values()].flatMap((effects) => [...effects.values()]),
  };
}
