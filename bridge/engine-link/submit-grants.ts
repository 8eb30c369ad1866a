// Effects granted with the answer to a report. A report that continues a turn requests the effects that follow from it;
// the separate lease request brings the effects that others cause.
import type { Ingress } from '../../schemas/event.ts';
import { SUBMIT_GRANT_EFFECTS_MIN, LEASE_EFFECTS_MAX } from '../../schemas/limits.ts';
import type { LeaseGrant, Wanted } from '../../schemas/wire.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { ReceivedGrant } from './admit-grants.ts';
import type { HeldLeases } from './held-leases.ts';

export interface SubmitGrants {
  /** What to request with these events, with capacity reserved until it is answered; null for nothing. */
  ask(events: readonly Ingress[]): Wanted | null;
  /** The report is sent, for the first time or again. */
  sent(asked: Wanted): void;
  /** The report is answered, with a grant or without. */
  answered(asked: Wanted, granted?: LeaseGrant): void;
}

interface SubmitGrantsOptions {
  readonly clock: BridgeClock;
  readonly leases: HeldLeases;
  readonly wanted: (max: number) => Wanted;
  /** Nothing more is requested once it aborts. */
  readonly signal: AbortSignal;
  /** Called after the answers to the reports themselves have been handled. */
  readonly onGrants: (received: readonly ReceivedGrant[]) => void;
}

export function newSubmitGrants({ clock, leases, wanted, signal, onGrants }: SubmitGrantsOptions): SubmitGrants {
  let received: ReceivedGrant[] = [];
  const sentAtMs = new WeakMap<Wanted, number>();
  /** Capacity that is reserved for the received grants. */
  let reserved = 0;

  function passOn(): void {
    const grants = received;
    received = [];
    onGrants(grants);
    leases.unreserve(reserved);
    reserved = 0;
  }

  return {
    ask(events) {
      const max = Math.min(expectedOf(events), leases.capacity(), LEASE_EFFECTS_MAX);
      if (max <= 0 || signal.aborted) return null;
      leases.reserve(max);
      return wanted(max);
    },
    sent: (asked) => void sentAtMs.set(asked, clock.now()),
    answered(asked, granted) {
      if (granted === undefined) {
        leases.unreserve(asked.max);
        return;
      }
      // The code that awaits the report releases the reported effect first.
      if (received.length === 0) clock.soon(passOn);
      received.push({ grant: granted, askedAtMs: sentAtMs.get(asked) ?? clock.now() });
      reserved += asked.max;
    },
  };
}

/** How many effects may follow from these events: a model's calls, or a generate. */
function expectedOf(events: readonly Ingress[]): number {
  let expected = 0;
  for (const event of events) {
    if (event.kind === 'ToolCallsObserved') expected += Math.max(SUBMIT_GRANT_EFFECTS_MIN, event.calls.length);
    else if (event.kind === 'ToolBatchSettled' || event.kind === 'HostSessionUpdated')
      expected += SUBMIT_GRANT_EFFECTS_MIN;
  }
  return expected;
}
