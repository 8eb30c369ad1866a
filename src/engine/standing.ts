// How somebody stands who says to be at an effect: the fence between who has it and who had it.
import type { OwnerId } from '../../schemas/ids.ts';
import type { Lease } from './lease-grant.ts';

/** `free`: nobody has it, and nothing says that whoever asks has lost it. */
export type Standing = 'held' | 'free' | 'lost';

export interface Claimant {
  readonly owner: OwnerId;
  /** Of the grant it names, if it names one. */
  readonly epoch: number | undefined;
}

/** What is known of the effect. */
export interface KnownLease {
  readonly lease: Lease | undefined;
  /** The newest epoch of it that is known; 0 when none is. */
  readonly newest: number;
  /** The first epoch that this engine may have given. */
  readonly first: number;
  /** It is a call whose start is on record, and so is its owner. */
  readonly runs: boolean;
}

export function standingOf({ owner, epoch }: Claimant, { lease, newest, first, runs }: KnownLease): Standing {
  const mine = lease?.owner === owner;
  if (epoch === undefined) return lease === undefined ? 'free' : mine ? 'held' : 'lost';
  if (epoch === newest) return mine && lease.epoch === epoch ? 'held' : 'lost';
  // Somebody has it or had it since; or this engine would know of such a grant, and does not.
  if (epoch < newest || epoch >= first) return 'lost';
  // A grant of an engine before this one, and the newest that was heard of: it stands against all but what is recorded.
  if (lease === undefined) return 'free';
  if (mine) return 'held';
  return runs || lease.owner === null ? 'lost' : 'free';
}
