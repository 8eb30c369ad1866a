// Runs leased effects that are not tool calls, each with a stop switch. A lost lease stops its work.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { BlobReader } from '../engine-link/blob-reader.ts';
import type { HeldLeases, Leased } from '../engine-link/held-leases.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import type { PutBlob } from '../engine-link/text-content.ts';
import type { Log } from '../log.ts';
import type { Executors } from './executors.ts';
import { OPEN_TOOL, openHostSession } from './open-host-session.ts';
import type { RunningWork } from './running-work.ts';
import { StopSwitch } from './stop-switch.ts';
import { undoCall } from './undo-call.ts';

interface EffectRunnerOptions {
  readonly executors: Executors;
  readonly leases: HeldLeases;
  readonly outbox: Outbox;
  readonly blobs: BlobReader;
  readonly putBlob: PutBlob;
  readonly work: RunningWork;
  readonly clock: BridgeClock;
  readonly log: Log;
}

export interface EffectRunner {
  /** Holds the lease and runs the work; returns false when this bridge already works on the effect. */
  begin(leased: Leased, work: (stop: StopSwitch) => Promise<void>): boolean;
  openSession(effect: EffectOfKind<'host_session.open'>, stop: StopSwitch): Promise<void>;
  undo(effect: EffectOfKind<'call.undo'>, stop: StopSwitch): Promise<void>;
  stopAll(): void;
}

export function newEffectRunner(options: EffectRunnerOptions): EffectRunner {
  const { executors, leases, outbox, blobs, putBlob, work: running, clock, log } = options;
  const stops = new Set<StopSwitch>();

  return {
    begin(leased, work) {
      const stop = new StopSwitch();
      if (!leases.hold(leased, () => stop.stop('lost'))) return false;
      stops.add(stop);
      running.track(work(stop), () => {
        stops.delete(stop);
        if (stop.why === 'lost') leases.forgetLost(leased.effect);
      });
      return true;
    },
    async openSession(effect, stop) {
      const executor = executors.find(OPEN_TOOL);
      if (executor === null) return;
      const event = await openHostSession(effect, { executor, putBlob, clock, stop });
      if (staysOwed(stop)) return;
      await outbox.report(effect.session_id, event);
      leases.end(effect);
      const detail = event.detail === undefined ? {} : { detail: event.detail };
      const status = event.host_session.host_session_status ?? 'error';
      log({ event: 'host_session', session_id: effect.session_id, status, ...detail });
    },
    async undo(effect, stop) {
      const { restore } = executors;
      if (restore === null) return;
      // A lease that may have expired is left to expire.
      const isFresh = (): boolean => {
        const fresh = leases.isFresh(effect);
        if (!fresh) leases.end(effect);
        return fresh;
      };
      const event = await undoCall(effect, { restore, blobs, clock, stop, isFresh });
      if (staysOwed(stop)) return;
      await outbox.report(effect.session_id, event);
      leases.end(effect);
      const { session_id, call_id } = effect;
      log({ event: 'undone', session_id, call_id, success: event.success, message: event.message ?? '' });
    },
    stopAll() {
      for (const stop of stops) stop.stop('stopping');
    },
  };
}

/** A time-out is reported; work that was stopped for any other reason stays owed. */
const staysOwed = ({ why }: StopSwitch): boolean => why !== null && why !== 'timeout';
