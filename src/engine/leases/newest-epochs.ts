// The newest epoch known of each owed effect: a claimant that names an older one has lost the effect. Kept while the
// effect is owed, also when no lease on it is in force.
import type { EffectId, SessionId } from '../../../schemas/ids.ts';

export class NewestEpochs {
  readonly #newest = new Map<SessionId, Map<EffectId, number>>();

  /** 0 when no epoch of the effect is known. */
  newest(session: SessionId, effect: EffectId): number {
    return this.#newest.get(session)?.get(effect) ?? 0;
  }

  raise(session: SessionId, effect: EffectId, epoch: number): void {
    let effects = this.#newest.get(session);
    if (effects === undefined) this.#newest.set(session, (effects = new Map<EffectId, number>()));
    if (epoch > (effects.get(effect) ?? 0)) effects.set(effect, epoch);
  }

  effects(session: SessionId): Iterable<EffectId> {
    return this.#newest.get(session)?.keys() ?? [];
  }

  drop(session: SessionId, effect: EffectId): void {
    const effects = this.#newest.get(session);
    effects?.delete(effect);
    if (effects?.size === 0) this.#newest.delete(session);
  }

  forget(session: SessionId): void {
    this.#newest.delete(session);
  }
}
