// Admits the effects of grants: drops a grant whose leases may have expired on the way, and begins the effects of the others.
import type { LeaseGrant } from '../../schemas/wire.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { HeldLeases, Leased } from './held-leases.ts';

/** A grant, and when the request it answers was sent. */
export interface ReceivedGrant {
  readonly grant: LeaseGrant;
  readonly askedAtMs: number;
}

interface AdmissionOptions {
  readonly leases: HeldLeases;
  readonly clock: Pick<BridgeClock, 'now'>;
  /** Once it aborts, effects are held until they are given back, and not begun. */
  readonly signal: AbortSignal;
  /** Holds the lease and begins the work; returns false when this starts nothing new. */
  readonly begin: (leased: Leased, plans: LeaseGrant['plans']) => boolean;
}

/** Returns how many of the effects were new to this bridge. */
export function admitGrants(received: readonly ReceivedGrant[], options: AdmissionOptions): number {
  const { leases, clock, signal, begin } = options;
  let newEffects = 0;
  for (const { grant, askedAtMs } of received) {
    const { effects, epochs, plans, ttl_ms } = grant;
    leases.setTtl(ttl_ms);
    // The leases may have expired on the way, and another bridge may hold them now.
    if (clock.now() - askedAtMs >= ttl_ms) continue;
    for (const [index, effect] of effects.entries()) {
      const leased = { effect, epoch: epochs[index] ?? 1, askedAtMs };
      // An effect that arrives while the bridge stops is given back with all others.
      if (signal.aborted) leases.hold(leased, () => undefined);
      else if (begin(leased, plans)) newEffects += 1;
    }
  }
  return newEffects;
}
