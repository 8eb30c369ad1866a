// Laws of the answers of an engine: a durable state owes every effect that it leases out, every event that it confirms
// is durable, and every report that it accepts comes from the holder of the lease.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Effect } from '../../../schemas/effect.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { type EffectId, type OwnerId, type SessionId, brand } from '../../../schemas/ids.ts';
import type { Heartbeat, LeaseGrant, LeaseKey, Submit, SubmitReceipt } from '../../../schemas/wire.ts';
import { endsItsBatch, reportOn } from '../../engine/leases/reports.ts';
import type { Exchange } from '../sim-network.ts';
import type { KnownHolder } from '../sim-stranger.ts';
import type { StoredSession } from './stored-session.ts';
import type { Judge } from './judge.ts';
import { owedEffects, sameEffect } from './owed-effects.ts';

interface Holder extends KnownHolder {
  readonly sinceMs: number;
}

export interface EngineAnswerLaws {
  answered(exchange: Exchange, atMs: number): void;
  /** Who holds the effect, as far as the current engine has granted it. */
  holderOf(key: LeaseKey): KnownHolder | null;
  /** Whether the current engine leased the effect to this bridge and to another one since. */
  hasLost(owner: string, key: LeaseKey): boolean;
  /** The engine has stopped and its leases are void. */
  forget(): void;
}

interface EngineAnswerLawsOptions {
  readonly judge: Judge;
  readonly storedOf: (session: SessionId) => StoredSession | undefined;
  readonly ttlMs: number;
  /** Whether this bridge is still alive. Another bridge may report in the name of a dead one. */
  readonly isAlive: (owner: string) => boolean;
}

/** How many versions back an effect may be owed: the engine made its answer before the check sees it. */
const VERSIONS_BACK = 8;

export function newEngineAnswerLaws({ judge, storedOf, ttlMs, isAlive }: EngineAnswerLawsOptions): EngineAnswerLaws {
  const holders = new Map<string, Holder>();
  /** The former holders of each undo. */
  const formerHolders = new Map<string, Set<string>>();

  function noteFormerHolder(name: string, owner: string): void {
    const before = holders.get(name)?.owner ?? owner;
    const lost = formerHolders.get(name) ?? new Set();
    formerHolders.set(name, lost.add(before));
    lost.delete(owner);
  }

  function checkGrant(owner: OwnerId, { effects: granted, epochs, plans }: LeaseGrant, atMs: number): void {
    for (const [index, effect] of granted.entries()) {
      const stored = storedOf(effect.session_id);
      const owed = stored !== undefined && isOwed(stored, effect);
      judge.check(owed, 'durable first', () => `${effect.effect_id} is leased out, but no durable state owes it`);
      if (effect.kind === 'call.undo') noteFormerHolder(nameOf(effect), owner);
      holders.set(nameOf(effect), { owner, epoch: epochs[index] ?? 0, sinceMs: atMs });
      if (effect.kind !== 'tool.call') continue;
      const planned = plans.some(({ plan }) => plan.plan_hash === effect.plan_hash);
      judge.check(planned, 'only the plan runs', () => `${effect.effect_id} is leased out without its plan`);
    }
  }

  function checkReceipt({ from, request, deliveredMs }: Exchange, receipt: SubmitReceipt): void {
    const [session, submit] = request as [SessionId, Submit];
    const stored = storedOf(session);
    for (const [index, { event_id, position, repeated }] of receipt.events.entries()) {
      const isStored = stored?.events[position]?.event_id === event_id;
      judge.check(isStored, 'durable first', () => `${event_id} is confirmed but is not on disk`);
      const event = submit.events[index];
      const run = stored?.states[position]?.run ?? null;
      const report = event === undefined || repeated ? null : reportOn(event, run);
      if (event === undefined || report === null) continue;
      judge.check(
        namesLease(report.effect, { event, submit }),
        'leases are fenced',
        () => `${from} reports on ${report.effect} without the owner and the epoch of its lease`,
      );
      const reporter = submit.owner === undefined || isAlive(submit.owner) ? from : submit.owner;
      checkHolder(reporter, { session_id: session, effect_id: report.effect }, deliveredMs);
    }
  }

  function checkHolder(from: string, key: LeaseKey, deliveredMs: number): void {
    const holder = holders.get(nameOf(key));
    if (holder === undefined || holder.owner === from) return;
    const live = holder.sinceMs < deliveredMs && deliveredMs < holder.sinceMs + ttlMs;
    judge.check(!live, 'leases are fenced', () => `${from} reports on ${key.effect_id}, which ${holder.owner} holds`);
  }

  return {
    answered(exchange, atMs) {
      const { from, method, request, answer } = exchange;
      if (isLeft(answer)) return;
      if (method === 'lease') checkGrant(brand(from), answer.right as LeaseGrant, atMs);
      if (method === 'submit') {
        const receipt = answer.right as SubmitReceipt;
        checkReceipt(exchange, receipt);
        if (receipt.granted !== undefined) checkGrant(brand(from), receipt.granted, atMs);
      }
      if (method === 'release') for (const key of (request[0] as Heartbeat).leases) holders.delete(nameOf(key));
    },
    holderOf: (key) => holders.get(nameOf(key)) ?? null,
    hasLost: (owner, key) => formerHolders.get(nameOf(key))?.has(owner) === true,
    forget() {
      holders.clear();
      formerHolders.clear();
    },
  };
}

/** Whether a report says under which lease it is made. */
const namesLease = (
  effect: EffectId,
  { event, submit }: { readonly event: Ingress; readonly submit: Submit },
): boolean =>
  submit.owner !== undefined &&
  (submit.leases?.some(({ effect_id }) => effect_id === effect) === true || endsItsBatch(event, submit));

const nameOf = ({ session_id, effect_id }: { session_id: SessionId; effect_id: EffectId }): string =>
  `${session_id} ${effect_id}`;

function isOwed(stored: StoredSession, effect: Effect): boolean {
  for (const state of stored.states.slice(-VERSIONS_BACK).reverse()) {
    const owed = owedEffects(state).find(({ effect_id }) => effect_id === effect.effect_id);
    if (owed !== undefined && sameEffect(owed, effect)) return true;
  }
  return false;
}
