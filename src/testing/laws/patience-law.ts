// A bridge that is well keeps its calls: nobody is declared lost who was there, heard and unhurried all the time.
import type { CallId, OwnerId } from '../../../schemas/ids.ts';
import type { Judge } from './judge.ts';

export interface PatienceLaw {
  /** Something went wrong for this process; null: for more than one. */
  disturbed(process: string | null, atMs: number): void;
  /** A call was taken from whoever ran it. */
  lost(owner: OwnerId, call: CallId, atMs: number): void;
}

/** How many times the life of a lease a disturbance is an excuse: for the longest stall, and a lease after it. */
const EXCUSED_TTLS = 6;

export function newPatienceLaw(judge: Judge, ttlMs: number): PatienceLaw {
  const lastMs = new Map<string | null, number>();
  return {
    disturbed: (process, atMs) => lastMs.set(process, atMs),
    lost(owner, call, atMs) {
      const last = Math.max(lastMs.get(null) ?? -Infinity, lastMs.get(owner) ?? -Infinity);
      judge.hold(
        atMs - last < EXCUSED_TTLS * ttlMs,
        'the living keep their calls',
        () => `${call} was taken from ${owner}, which was well`,
      );
    },
  };
}
