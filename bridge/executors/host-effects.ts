// Runs the effects of the host that are not tool calls: opens a host session, or undoes a call; reports how it ended, and
// releases the lease.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { BlobReader } from '../engine-link/blob-reader.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import type { PutBlob } from '../engine-link/text-content.ts';
import type { Log } from '../log.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { Executors } from './executors.ts';
import { OPEN_TOOL, openHostSession } from './open-host-session.ts';
import type { StopSwitch } from './stop-switch.ts';
import { undoCall } from './undo-call.ts';

interface HostEffectsOptions {
  readonly executors: Executors;
  readonly leases: HeldLeases;
  readonly outbox: Outbox;
  readonly blobs: BlobReader;
  readonly putBlob: PutBlob;
  readonly redactor: Redactor;
  readonly clock: BridgeClock;
  readonly log: Log;
}

/** Each method resolves when the engine has the outcome, or when the work was stopped. */
export interface HostEffects {
  openSession(effect: EffectOfKind<'host_session.open'>, stop: StopSwitch): Promise<void>;
  undo(effect: EffectOfKind<'call.undo'>, stop: StopSwitch): Promise<void>;
}

export function newHostEffects(options: HostEffectsOptions): HostEffects {
  const { executors, leases, outbox, blobs, putBlob, clock, log, redactor } = options;
  return {
    async openSession(effect, stop) {
      const executor = executors.find(OPEN_TOOL);
      if (executor === null) return;
      const event = await openHostSession(effect, { executor, putBlob, clock, stop, redactor });
      if (staysOwed(stop)) return;
      await outbox.report(effect.session_id, event, effect.effect_id);
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
      const event = await undoCall(effect, { restore, blobs, clock, stop, isFresh, redactor });
      if (staysOwed(stop)) return;
      await outbox.report(effect.session_id, event, effect.effect_id);
      leases.end(effect);
      const { session_id, call_id } = effect;
      log({ event: 'undone', session_id, call_id, success: event.success, message: event.message ?? '' });
    },
  };
}

/** A time-out is reported; work that was stopped for any other reason stays owed. */
const staysOwed = ({ why }: StopSwitch): boolean => why !== null && why !== 'timeout';
