// Decides whether a claimant still holds an effect: a claimant that names an old epoch is fenced by a newer grant
// (docs/design.md, law 17).
import type { OwnerId } from '../../../schemas/ids.ts';
import type { Lease } from './lease-holds.ts';

/** `free`: no lease on the effect is known, and nothing shows that the claimant has lost it. */
export type LeaseStatus = 'held' | 'free' | 'lost';

export interface Claimant {
  readonly owner: OwnerId;
  /** The epoch of the grant it names, if it names one. */
  readonly epoch: number | undefined;
}

/** What the engine knows of the effect. */
export interface KnownLease {
  readonly lease: Lease | undefined;
  /** The newest epoch known of the effect; 0 when none is. */
  readonly newest: number;
  /** The first epoch that this engine may have granted. */
  readonly first: number;
  /** The lease is on a running call: its start and its owner are recorded. */
  readonly runs: boolean;
}

export function leaseStatusOf({ owner, epoch }: Claimant, { lease, newest, first, runs }: KnownLease): LeaseStatus {
  const isOwner = lease?.owner === owner;
  if (epoch === undefined) return lease === undefined ? 'free' : isOwner ? 'held' : 'lost';
  if (epoch === newest) return isOwner && lease.epoch === epoch ? 'held' : 'lost';
  // Either a newer grant was made, or this engine would have made the grant and knows of none.
  if (epoch < newest || epoch >= first) return 'lost';
  // An earlier engine made the grant, and no newer one is known: it counts, except against the engine itself and against
  // the owner of a running call.
  if (lease === undefined) return 'free';
  if (isOwner) return 'held';
  return runs || lease.owner === null ? 'lost' : 'free';
}
