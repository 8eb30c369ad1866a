// Law 18, live bridges keep their calls: a bridge that runs, is reachable and is not delayed loses no call.
import type { CallId, OwnerId } from '../../../schemas/ids.ts';
import type { Judge } from './judge.ts';

export interface LiveBridgeLaw {
  /** A fault happened to this process; null: to more than one. */
  disturbed(process: string | null, atMs: number): void;
  /** A call was taken from the bridge that ran it. */
  lost(owner: OwnerId, call: CallId, atMs: number): void;
}

/** For how many lease lifetimes a fault excuses a lost call: the longest stall, and a lease after it. */
const EXCUSED_TTLS = 6;

export function newLiveBridgeLaw(judge: Judge, ttlMs: number): LiveBridgeLaw {
  const lastMs = new Map<string | null, number>();
  return {
    disturbed: (process, atMs) => lastMs.set(process, atMs),
    lost(owner, call, atMs) {
      const last = Math.max(lastMs.get(null) ?? -Infinity, lastMs.get(owner) ?? -Infinity);
      judge.check(
        atMs - last < EXCUSED_TTLS * ttlMs,
        'live bridges keep their calls',
        () => `${call} was taken from ${owner}, which was alive and undisturbed`,
      );
    },
  };
}
