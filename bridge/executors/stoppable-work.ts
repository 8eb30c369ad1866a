// The work on leased effects that are not tool calls. Each has a stop switch: it is stopped when its lease is lost, or when
// the bridge stops.
import type { HeldLeases, Leased } from '../engine-link/held-leases.ts';
import type { RunningWork } from './running-work.ts';
import { StopSwitch } from './stop-switch.ts';

export interface StoppableWork {
  /** Holds the lease and runs the work; returns false when this bridge already works on the effect. */
  begin(leased: Leased, run: (stop: StopSwitch) => Promise<void>): boolean;
  stopAll(): void;
}

export function newStoppableWork(leases: HeldLeases, running: RunningWork): StoppableWork {
  const stops = new Set<StopSwitch>();
  return {
    begin(leased, run) {
      const stop = new StopSwitch();
      if (!leases.hold(leased, () => stop.stop('lost'))) return false;
      stops.add(stop);
      running.track(run(stop), () => {
        stops.delete(stop);
        if (stop.why === 'lost') leases.forgetLost(leased.effect);
      });
      return true;
    },
    stopAll() {
      for (const stop of stops) stop.stop('stopping');
    },
  };
}
