// The leases in force: for each effect that is held, its owner and epoch, and the sweep that ends leases whose owner
// sends no heartbeats. What an expired lease leads to is decided by the lease table.
import type { EffectId, OwnerId, SessionId } from '../../../schemas/ids.ts';
import type { LeaseKey } from '../../../schemas/wire.ts';
import type { Clock } from '../../clock.ts';
import { NewestEpochs } from './newest-epochs.ts';
import type { CallKey } from './owed-effects.ts';

/** A hold of one effect. */
export interface Lease {
  /** Null: held by the engine itself, until it has recorded that the bridge was lost. */
  readonly owner: OwnerId | null;
  /** The epoch of its grant; null when an earlier engine made the grant and the owner has not named its epoch yet. */
  readonly epoch: number | null;
  /** The call that is held, when the effect is a call. */
  readonly call: CallKey | null;
  /** How many sweeps the lease outlives without a heartbeat. */
  sweepsLeft: number;
}

interface HoldOptions {
  readonly clock: Clock;
  readonly ttlMs: number;
  /** A lease has expired. The callback must hold the effect again or drop it. */
  readonly onExpired: (session: SessionId, effect: EffectId, lease: Lease) => void;
}

/** Sweeps in the life of a lease. Leases are timed by sweeps, because the clock may jump. */
const SWEEPS_PER_TTL = 4;

export class LeaseHolds {
  readonly #options: HoldOptions;
  readonly #leases = new Map<SessionId, Map<EffectId, Lease>>();
  readonly #newestEpochs = new NewestEpochs();
  #stopSweep: (() => void) | null = null;
  #closed = false;

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  /** How many effects are held. */
  count(): number {
    let count = 0;
    for (const leases of this.#leases.values()) count += leases.size;
    return count;
  }

  of(session: SessionId): ReadonlyMap<EffectId, Lease> {
    return this.#leases.get(session) ?? NO_LEASES;
  }

  get(session: SessionId, effect: EffectId): Lease | undefined {
    return this.#leases.get(session)?.get(effect);
  }

  keysOf(owner: OwnerId): readonly LeaseKey[] {
    return Array.from(this.#leases).flatMap(([session_id, leases]) =>
      Array.from(leases).flatMap(([effect_id, lease]) => (lease.owner === owner ? [{ session_id, effect_id }] : [])),
    );
  }

  /** The effects of a session that are held, or whose epoch is known; an effect may be yielded twice. */
  *knownEffects(session: SessionId): Generator<EffectId> {
    yield* this.#leases.get(session)?.keys() ?? [];
    yield* this.#newestEpochs.effects(session);
  }

  /** The newest epoch known of an effect; 0 when none is. */
  newestEpoch(session: SessionId, effect: EffectId): number {
    return this.#newestEpochs.newest(session, effect);
  }

  /** Holds an effect for a full ttl from now. */
  hold(session: SessionId, effect: EffectId, { owner, epoch, call }: Omit<Lease, 'sweepsLeft'>): void {
    let leases = this.#leases.get(session);
    if (leases === undefined) this.#leases.set(session, (leases = new Map<EffectId, Lease>()));
    const key = call === null ? null : { batch_id: call.batch_id, call_id: call.call_id, attempt: call.attempt };
    if (epoch !== null) this.#newestEpochs.raise(session, effect, epoch);
    leases.set(effect, { owner, epoch, call: key, sweepsLeft: SWEEPS_PER_TTL + 1 });
    this.#sweepLater();
  }

  /** Ends the hold of an effect that is still owed. Its newest epoch is kept: it fences the former owner. */
  drop(session: SessionId, effect: EffectId): void {
    const leases = this.#leases.get(session);
    leases?.delete(effect);
    if (leases?.size === 0) this.#leases.delete(session);
  }

  /** Ends the hold of an effect that is no longer owed, and forgets its epoch. */
  end(session: SessionId, effect: EffectId): void {
    this.#newestEpochs.drop(session, effect);
    this.drop(session, effect);
  }

  /** Forgets a whole session. */
  forget(session: SessionId): void {
    this.#newestEpochs.forget(session);
    this.#leases.delete(session);
  }

  close(): void {
    this.#closed = true;
    this.#stopSweep?.();
  }

  #sweepLater(): void {
    if (this.#closed || this.#leases.size === 0) return;
    const { clock, ttlMs } = this.#options;
    this.#stopSweep ??= clock.after(ttlMs / SWEEPS_PER_TTL, () => this.#sweep());
  }

  #sweep(): void {
    this.#stopSweep = null;
    for (const [session, leases] of Array.from(this.#leases)) {
      for (const [effect, lease] of Array.from(leases)) {
        lease.sweepsLeft -= 1;
        if (lease.sweepsLeft <= 0) this.#options.onExpired(session, effect, lease);
      }
    }
    this.#sweepLater();
  }
}

const NO_LEASES: ReadonlyMap<EffectId, Lease> = new Map();
