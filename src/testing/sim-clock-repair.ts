// Repairs the clock of the engine. A clock that was set back holds up everything that waits for a time, possibly for longer
// than a simulation lasts, so some time after the last fault the clock is set forward again.
import { FAULTS_END_MS } from './scenario.ts';
import type { ProcessClock, SimTime } from './sim-time.ts';

/** When that happens, in milliseconds since the beginning. Most simulations have ended by then. */
export const CLOCK_REPAIR_MS = FAULTS_END_MS + 60_000;

export interface ClockRepair {
  /** Notes the time of this clock: one that later shows less is behind. */
  note(clock: ProcessClock): void;
  /** Sets a clock that is behind forward, once it is time. Returns true when it did. */
  repair(clock: ProcessClock): boolean;
}

export function newClockRepair(time: SimTime): ClockRepair {
  const aheadOf = (clock: ProcessClock): number => clock.now() - Math.floor(time.passedMs());
  let aheadMs = 0;
  return {
    note(clock) {
      aheadMs = Math.max(aheadMs, aheadOf(clock));
    },
    repair(clock) {
      const behindMs = aheadMs - aheadOf(clock);
      if (time.passedMs() < CLOCK_REPAIR_MS || behindMs <= 0) return false;
      clock.jump(behindMs);
      return true;
    },
  };
}
