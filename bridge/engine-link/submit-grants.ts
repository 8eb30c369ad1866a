// Effects that come with the answer to a report. A report that makes a turn go on asks for what comes next in the same
// breath; the lease request that is always open brings what others have caused.
import type { Ingress } from '../../schemas/event.ts';
import { SUBMIT_GRANT_EFFECTS_MIN, LEASE_EFFECTS_MAX } from '../../schemas/limits.ts';
import type { LeaseGrant, Wanted } from '../../schemas/wire.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { HeldLeases } from './held-leases.ts';

export interface SubmitGrants {
  /** What to ask for with these events, and room kept for it until {@link over}; null for nothing. */
  ask(events: readonly Ingress[]): Wanted | null;
  /** A request with it is sent, for the first time or again. */
  sent(asked: Wanted): void;
  /** The report is answered, with a grant or without. */
  over(asked: Wanted, granted?: LeaseGrant): void;
}

interface RidesOptions {
  readonly clock: BridgeClock;
  readonly leases: HeldLeases;
  readonly wanted: (max: number) => Wanted;
  /** Nothing more is asked for once it aborts. */
  readonly signal: AbortSignal;
  /** Called some time after the report itself is dealt with. */
  readonly take: (arrived: readonly Arrived[]) => void;
}

/** A grant, and when the request was sent that it answers. */
export interface Arrived {
  readonly grant: LeaseGrant;
  readonly askedAtMs: number;
}

export function newSubmitGrants({ clock, leases, wanted, signal, take }: RidesOptions): SubmitGrants {
  let arrived: Arrived[] = [];
  const sentAtMs = new WeakMap<Wanted, number>();
  /** Room that is kept for what has arrived. */
  let kept = 0;

  function takeArrived(): void {
    const taken = arrived;
    arrived = [];
    take(taken);
    leases.unreserve(kept);
    kept = 0;
  }

  return {
    ask(events) {
      const max = Math.min(expectedOf(events), leases.room(), LEASE_EFFECTS_MAX);
      if (max <= 0 || signal.aborted) return null;
      leases.reserve(max);
      return wanted(max);
    },
    sent: (asked) => void sentAtMs.set(asked, clock.now()),
    over(asked, granted) {
      if (granted === undefined) {
        leases.unreserve(asked.max);
        return;
      }
      // Whoever waits for the answer to a report lets go of what it was about first.
      if (arrived.length === 0) clock.soon(takeArrived);
      arrived.push({ grant: granted, askedAtMs: sentAtMs.get(asked) ?? clock.now() });
      kept += asked.max;
    },
  };
}

/** How many effects may follow: a model's calls, or a generate. */
function expectedOf(events: readonly Ingress[]): number {
  let expected = 0;
  for (const event of events) {
    if (event.kind === 'ToolCallsObserved') expected += Math.max(SUBMIT_GRANT_EFFECTS_MIN, event.calls.length);
    else if (event.kind === 'ToolBatchSettled' || event.kind === 'HostSessionUpdated')
      expected += SUBMIT_GRANT_EFFECTS_MIN;
  }
  return expected;
}
