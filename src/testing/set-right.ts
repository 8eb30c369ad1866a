// A clock that was set back is waited for, and it may have been set back by more than anybody waits: some time after
// nothing goes wrong any more, somebody sets the clock of the engine right.
import { FAULTS_END_MS } from './scenario.ts';
import type { ProcessClock, SimTime } from './sim-time.ts';

/** When that is, in milliseconds since the beginning. Most worlds are over by then. */
export const SET_RIGHT_MS = FAULTS_END_MS + 60_000;

export interface SetRight {
  /** What this clock says now counts: a later one that says less is behind. */
  note(clock: ProcessClock): void;
  /** Sets a clock that is behind forward, once it is time; true when it was. */
  set(clock: ProcessClock): boolean;
}

export function newSetRight(time: SimTime): SetRight {
  const aheadOf = (clock: ProcessClock): number => clock.now() - Math.floor(time.passedMs());
  let aheadMs = 0;
  return {
    note(clock) {
      aheadMs = Math.max(aheadMs, aheadOf(clock));
    },
    set(clock) {
      const behindMs = aheadMs - aheadOf(clock);
      if (time.passedMs() < SET_RIGHT_MS || behindMs <= 0) return false;
      clock.jump(behindMs);
      return true;
    },
  };
}
