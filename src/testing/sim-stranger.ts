// A stranger in a simulated world: a client that reports on effects which it does not hold. The engine must refuse each of
// its reports (docs/design.md, law 17).
import type { Effect } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import { type OwnerId, type SessionId, brand } from '../../schemas/ids.ts';
import type { LeaseKey, Submit } from '../../schemas/wire.ts';
import { owedEffects } from './laws/owed-effects.ts';
import type { StoredSession } from './laws/stored-session.ts';
import type { StrangerAct } from './scenario.ts';
import type { SimNetwork } from './sim-network.ts';

const STRANGER = brand<'OwnerId'>('stranger');

/** Who holds an effect, and under which epoch, as far as the current engine has granted it. */
export interface KnownHolder {
  readonly owner: OwnerId;
  readonly epoch: number;
}

interface Sessions {
  readonly storedSessions: ReadonlyMap<SessionId, StoredSession>;
  readonly holderOf: (key: LeaseKey) => KnownHolder | null;
}

/** Sends the reports of a stranger on all that the sessions owe now. */
export function intrude(claims: StrangerAct['claims'], sessions: Sessions, network: Pick<SimNetwork, 'direct'>): void {
  for (const stored of sessions.storedSessions.values()) {
    for (const request of strangeReports(stored, claims, sessions.holderOf))
      void network.direct(STRANGER, 'submit', request);
  }
}

/** The reports of a stranger on all that a session owes. Without a known holder, only those that name no epoch. */
function strangeReports(
  stored: StoredSession,
  claims: StrangerAct['claims'],
  holderOf: (key: LeaseKey) => KnownHolder | null,
): readonly (readonly [session: SessionId, request: Submit])[] {
  return owedEffects(stored.state()).flatMap((effect) => {
    const lease = leaseOf(effect, claims, holderOf(effect));
    if (lease === null) return [];
    return reportsOn(effect).map((event) => [effect.session_id, { ...lease, events: [event] }] as const);
  });
}

type Claimed = Pick<Submit, 'owner' | 'leases'>;

function leaseOf({ effect_id }: Effect, claims: StrangerAct['claims'], holder: KnownHolder | null): Claimed | null {
  if (claims === 'nothing') return {};
  if (claims === 'no_epoch') return { owner: holder?.owner ?? STRANGER };
  if (holder === null) return null;
  const { owner, epoch } = holder;
  if (claims === 'its_epoch') return { owner: STRANGER, leases: [{ effect_id, epoch }] };
  return epoch === 1 ? null : { owner, leases: [{ effect_id, epoch: epoch - 1 }] };
}

/** What a bridge could report on an effect, and the end of its lease. */
function reportsOn(effect: Effect): readonly Ingress[] {
  if (effect.kind === 'llm.generate') {
    const { run_id, turn } = effect;
    return [
      { kind: 'ToolCallsObserved', run_id, turn, calls: [] },
      { kind: 'GenerateFailed', run_id, turn, code: 'strange', message: 'not asked' },
    ];
  }
  if (effect.kind === 'llm.compact') {
    const { run_id, turn, through } = effect;
    return [
      { kind: 'ContextCompacted', run_id, turn, through, summary: { text: 'not asked' } },
      { kind: 'CompactFailed', run_id, turn, code: 'strange', message: 'not asked' },
    ];
  }
  if (effect.kind === 'tool.call') {
    const { batch_id, call_id, attempt, plan_hash } = effect;
    const key = { batch_id, call_id, attempt };
    const output = { text: 'not run' };
    return [
      { kind: 'ToolCallSettled', ...key, plan_hash, result: { success: true }, output },
      { kind: 'ToolCallSettled', ...key, plan_hash, result: { success: false }, outcome: 'cancelled', output },
      { kind: 'LeaseExpired', ...key },
      { kind: 'ToolCallNoted', ...key, handle: 'strange' },
      { kind: 'ToolCallAsked', ...key, question: { message: 'not asked' }, resume: { text: 'strange' } },
    ];
  }
  if (effect.kind === 'call.preview') {
    const { batch_id, call_id, attempt, arguments_digest } = effect;
    const key = { batch_id, call_id, attempt, arguments_digest };
    return [
      { kind: 'CallPreviewed', ...key, preview: { diff: { text: 'not asked' }, files: [] } },
      { kind: 'CallPreviewed', ...key, preview: { code: 'strange', message: 'not asked' } },
    ];
  }
  if (effect.kind === 'batch.settle') {
    const { batch_id, plan_hash } = effect;
    return [{ kind: 'ToolBatchSettled', batch_id, plan_hash }];
  }
  if (effect.kind !== 'call.undo') return [];
  const { position, batch_id, call_id } = effect;
  return [{ kind: 'UndoSettled', position, batch_id, call_id, success: true }];
}
