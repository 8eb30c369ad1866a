// A client whose reports name the leases they are made under, for tests that are not about leases: what a report lacks, its
// owner and epoch, is leased first, and what was leased besides is given back.
import { type Either, isLeft, isRight } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../../schemas/event.ts';
import { type EffectId, type OwnerId, type SessionId, brand } from '../../../schemas/ids.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { HeldLease, LeaseGrant, Submit, SubmitReceipt } from '../../../schemas/wire.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { endsItsBatch, openingOf, reportOn } from '../../../src/engine/leases/reports.ts';

interface Held {
  readonly owner: OwnerId;
  readonly epoch: number;
}

/** What was granted through such clients; kept across restarts of an engine. */
export type Holdings = Map<string, Held>;

const KINDS = [
  'llm.generate',
  'llm.compact',
  'tool.call',
  'tool.cancel',
  'batch.settle',
  'host_session.open',
  'call.undo',
  'call.preview',
  'tool.answer',
] as const;

/** The owner of reports that name none. */
const HOLDER = brand<'OwnerId'>('holder');

/** A grant of more effects is kept: giving the rest of a large batch back for each report would take minutes. */
const GIVEN_BACK_MAX = 16;

export function holding(client: EngineClient, held: Holdings = new Map()): EngineClient {
  const nameOf = (session: SessionId, effect: EffectId): string => `${session} ${effect}`;

  function note(owner: OwnerId, { effects, epochs }: LeaseGrant): void {
    for (const [at, { session_id, effect_id }] of effects.entries())
      held.set(nameOf(session_id, effect_id), { owner, epoch: epochs[at] as number });
  }

  async function effectOf(id: SessionId, event: Ingress): Promise<EffectId | null> {
    if (!NEEDS_RUN.has(event.kind)) return reportOn(event, null)?.effect ?? null;
    const view = await client.session(id)();
    const run = isRight(view) ? view.right.state.run : null;
    if (event.kind === 'HostSessionUpdated') return openingOf(run?.run_id);
    return reportOn(event, run)?.effect ?? null;
  }

  async function lease(id: SessionId, owner: OwnerId, wanted: readonly EffectId[]): Promise<void> {
    const request = { owner, kinds: [...KINDS], tools: ['*'], max: 256, wait_ms: 0, sessions: [id] };
    const granted = await client.lease(request)();
    if (isLeft(granted)) return;
    note(owner, granted.right);
    if (granted.right.effects.length > GIVEN_BACK_MAX) return;
    const rest = granted.right.effects.map(({ effect_id }) => effect_id).filter((effect) => !wanted.includes(effect));
    await giveBack(id, owner, rest);
  }

  async function giveBack(id: SessionId, owner: OwnerId, effects: readonly EffectId[]): Promise<void> {
    if (effects.length === 0) return;
    for (const effect of effects) held.delete(nameOf(id, effect));
    await client.release({ owner, leases: effects.map((effect_id) => ({ session_id: id, effect_id })) })();
  }

  const heldOf = (id: SessionId, effect: EffectId): Held | undefined => held.get(nameOf(id, effect));

  /** The owner in whose name a request reports on these effects. */
  function ownerOf(id: SessionId, request: Submit, effects: readonly EffectId[]): OwnerId {
    const starter = request.events.find((event) => event.kind === 'ToolCallStarted');
    const known = effects.map((effect) => heldOf(id, effect)?.owner).find((owner) => owner !== undefined);
    return request.owner ?? starter?.owner ?? known ?? HOLDER;
  }

  async function lackingIn(id: SessionId, request: Submit): Promise<readonly EffectId[]> {
    const effects = await Promise.all(reportsIn(request).map((event) => effectOf(id, event)));
    const named = new Set((request.leases ?? []).map(({ effect_id }) => effect_id));
    return effects.filter((effect) => effect !== null).filter((effect) => !named.has(effect));
  }

  async function submit(id: SessionId, request: Submit, tries = 1): Promise<Either<Rejection, SubmitReceipt>> {
    const lacking = await lackingIn(id, request);
    const owner = ownerOf(id, request, lacking);
    const isOwn = (effect: EffectId): boolean => heldOf(id, effect)?.owner === owner;
    const unknown = lacking.filter((effect) => !isOwn(effect));
    if (unknown.length > 0) await lease(id, owner, unknown);
    const leases = lacking.flatMap((effect_id): readonly HeldLease[] => {
      const epoch = heldOf(id, effect_id)?.epoch;
      return epoch === undefined ? [] : [{ effect_id, epoch }];
    });
    const receipt = await client.submit(id, { ...request, owner, leases: [...(request.leases ?? []), ...leases] })();
    const own = lacking.filter(isOwn);
    if (isRight(receipt)) {
      if (request.events[0]?.kind !== 'ToolCallStarted') for (const effect of own) held.delete(nameOf(id, effect));
      return receipt;
    }
    // While the state of a session is in doubt, what is given back is kept from all until its time is over.
    if (!IN_DOUBT.has(receipt.left.code)) await giveBack(id, owner, unknown.filter(isOwn));
    return receipt.left.code === 'stale_lease' && tries === 1 ? await leasedAgain(id, request, own, receipt) : receipt;
  }

  /** The lease may be of an engine that is gone, or have expired: then it can be leased again. */
  async function leasedAgain(
    id: SessionId,
    request: Submit,
    own: readonly EffectId[],
    refused: Either<Rejection, SubmitReceipt>,
  ): Promise<Either<Rejection, SubmitReceipt>> {
    if (own.length === 0) return refused;
    const before = new Map(held);
    for (const effect of own) held.delete(nameOf(id, effect));
    const again = await submit(id, request, 2);
    if (isRight(again) || again.left.code !== 'lease_required') return again;
    for (const effect of own) held.set(nameOf(id, effect), before.get(nameOf(id, effect)) as Held);
    return refused;
  }

  return {
    ...client,
    lease: (request, signal) => async () => {
      const granted = await client.lease(request, signal)();
      if (isRight(granted)) note(request.owner, granted.right);
      return granted;
    },
    submit: (id, request) => async () => {
      const receipt = lacksLeases(request) ? await submit(id, request) : await client.submit(id, request)();
      if (isRight(receipt) && receipt.right.granted !== undefined && request.owner !== undefined)
        note(request.owner, receipt.right.granted);
      return receipt;
    },
  };
}

const IN_DOUBT: ReadonlySet<string> = new Set(['internal', 'storage_failed', 'storage_unknown', 'closing']);

/** The kinds whose effect depends on the live run. */
const NEEDS_RUN: ReadonlySet<string> = new Set(['ToolCallsObserved', 'GenerateFailed', 'HostSessionUpdated']);

/** With an owner, `HostSessionUpdated` reports on the opening of a host session; without, an operator states it. */
const reportsIn = (request: Submit): readonly Ingress[] =>
  request.events.filter((event) =>
    event.kind === 'HostSessionUpdated'
      ? request.owner !== undefined
      : event.kind !== 'LeaseExpired' && reportOn(event, null) !== null && !endsItsBatch(event, request),
  );

function lacksLeases(request: Submit | undefined): boolean {
  const { events, leases = [] } = (request ?? {}) as Partial<Submit>;
  if (!Array.isArray(events) || (request?.owner === undefined && leases.length > 0)) return false;
  const wellFormed = events.every((event: unknown) => typeof event === 'object' && event !== null && 'kind' in event);
  return wellFormed && reportsIn(request as Submit).length > leases.length;
}
