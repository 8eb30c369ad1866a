// Reports belong to the holder of what they report on (docs/design.md, law 17): decides which reports a sender may make.
import type { Ingress } from '../../../schemas/event.ts';
import type { EffectId, OwnerId } from '../../../schemas/ids.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { HeldLease, Submit } from '../../../schemas/wire.ts';
import type { Claimant, LeaseStatus } from './lease-status.ts';
import { refuseEventId } from './report-ids.ts';
import { endsItsBatch } from './reports.ts';

/** The leases of one session, as a report meets them. */
export interface ReportedLeases {
  /** The effect that the event reports on; null for no report, and for the engine's own. */
  readonly reported: EffectId | null;
  readonly isHeld: (effect: EffectId) => boolean;
  readonly owes: (effect: EffectId) => boolean;
  readonly statusOf: (effect: EffectId, claimant: Claimant) => LeaseStatus;
}

/** Why the sender of this request may not report this event, else null. */
export function refuseReport(held: ReportedLeases, ingress: Ingress, request: Submit): Rejection | null {
  const { owner, leases = [] } = request;
  const effect = held.reported;
  if (effect === null) return refuseBridgeOfHost(ingress, request) ?? refuseEventId(ingress, []);
  if (ingress.kind === 'HostSessionUpdated' && !held.isHeld(effect)) {
    // An operator may also state facts of a host that no bridge is opening, and the holder of a call where it would run it.
    if (owner === undefined) return refuseEventId(ingress, []);
    const own = reportable(held, owner, leases);
    if (own.length > 0) return refuseEventId(ingress, own);
  }
  const epoch = leases.find(({ effect_id }) => effect_id === effect)?.epoch;
  if (owner === undefined || (epoch === undefined && !endsItsBatch(ingress, request))) {
    const missing = owner === undefined ? 'an owner' : 'its epoch under leases';
    return reject('lease_required', '', `the report on ${effect} names no lease: ${missing} is missing`);
  }
  if (ingress.kind === 'ToolCallStarted' && ingress.owner !== owner) {
    return reject('stale_lease', '/owner', `the start names the owner ${ingress.owner}, but ${owner} reports it`);
  }
  return held.statusOf(effect, { owner, epoch }) === 'lost'
    ? reject('stale_lease', '', `the lease on ${effect} was lost; stop this work and request leases again`)
    : refuseEventId(ingress, [effect]);
}

/** The calls of an external run are no report: its host makes them, and a bridge may not. */
const refuseBridgeOfHost = ({ kind }: Ingress, { owner }: Submit): Rejection | null =>
  kind === 'ToolCallsObserved' && owner !== undefined
    ? reject('forbidden', '/owner', 'the calls of an external run come from its host, without an owner')
    : null;

/** The effects among these leases that the session owes, and that the owner has not lost. */
const reportable = (
  { owes, statusOf }: ReportedLeases,
  owner: OwnerId,
  leases: readonly HeldLease[],
): readonly EffectId[] =>
  leases.flatMap(({ effect_id, epoch }) =>
    statusOf(effect_id, { owner, epoch }) !== 'lost' && owes(effect_id) ? [effect_id] : [],
  );
