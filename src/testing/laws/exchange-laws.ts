// Laws of what leaves an engine: what it hands out is owed by what is durable, what it confirms is durable, and what
// it takes comes from whoever holds the lease.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Effect } from '../../../schemas/effect.ts';
import type { EffectId, SessionId } from '../../../schemas/ids.ts';
import type { Heartbeat, LeaseGrant, LeaseKey, Submit, SubmitReceipt } from '../../../schemas/wire.ts';
import { reportOn } from '../../engine/reports.ts';
import type { Exchange } from '../sim-network.ts';
import type { Book } from './book.ts';
import type { Judge } from './judge.ts';
import { owedEffects, sameEffect } from './owed-effects.ts';

interface Holder {
  readonly owner: string;
  readonly sinceMs: number;
}

export interface ExchangeLaws {
  answered(exchange: Exchange, atMs: number): void;
  /** Whether this bridge was given the effect, and somebody else was since, by the engine that is there now. */
  hasLost(owner: string, key: LeaseKey): boolean;
  /** The engine is gone, and with it what it knew of leases. */
  forget(): void;
}

interface ExchangeLawsOptions {
  readonly judge: Judge;
  readonly bookOf: (session: SessionId) => Book | undefined;
  readonly ttlMs: number;
  /** Whether this bridge is still there: others may speak for one that is not. */
  readonly isAlive: (owner: string) => boolean;
}

/** How far back an effect may have been owed: the answer was made a moment before it is looked at. */
const VERSIONS_BACK = 8;

export function newExchangeLaws({ judge, bookOf, ttlMs, isAlive }: ExchangeLawsOptions): ExchangeLaws {
  const holders = new Map<string, Holder>();
  /** Who had an undo before whoever has it now. */
  const losers = new Map<string, Set<string>>();

  function noteLoser(name: string, owner: string): void {
    const before = holders.get(name)?.owner ?? owner;
    const lost = losers.get(name) ?? new Set();
    losers.set(name, lost.add(before));
    lost.delete(owner);
  }

  function checkGrant(owner: string, { effects: granted, plans }: LeaseGrant, atMs: number): void {
    for (const effect of granted) {
      const book = bookOf(effect.session_id);
      const owed = book !== undefined && isOwed(book, effect);
      judge.hold(owed, 'durable first', () => `${effect.effect_id} is handed out, and no durable state owes it`);
      if (effect.kind === 'call.undo') noteLoser(nameOf(effect), owner);
      holders.set(nameOf(effect), { owner, sinceMs: atMs });
      if (effect.kind !== 'tool.call') continue;
      const planned = plans.some(({ plan }) => plan.plan_hash === effect.plan_hash);
      judge.hold(planned, 'only the plan runs', () => `${effect.effect_id} is handed out without its plan`);
    }
  }

  function checkReceipt({ from, request, deliveredMs }: Exchange, receipt: SubmitReceipt): void {
    const [session, submit] = request as [SessionId, Submit];
    const book = bookOf(session);
    for (const [index, { event_id, position, repeated }] of receipt.events.entries()) {
      const durable = book?.events[position]?.event_id === event_id;
      judge.hold(durable, 'durable first', () => `${event_id} is confirmed, and is not on disk`);
      const event = submit.events[index];
      const retries = book?.states[position]?.run?.retry?.failures ?? 0;
      const report = event === undefined || submit.owner === undefined || repeated ? null : reportOn(event, retries);
      if (report === null) continue;
      const speaker = submit.owner === undefined || isAlive(submit.owner) ? from : submit.owner;
      checkHolder(speaker, { session_id: session, effect_id: report.effect }, deliveredMs);
    }
  }

  function checkHolder(from: string, key: LeaseKey, deliveredMs: number): void {
    const holder = holders.get(nameOf(key));
    if (holder === undefined || holder.owner === from) return;
    const live = holder.sinceMs < deliveredMs && deliveredMs < holder.sinceMs + ttlMs;
    judge.hold(!live, 'leases are fenced', () => `${from} reports on ${key.effect_id}, which ${holder.owner} holds`);
  }

  return {
    answered(exchange, atMs) {
      const { from, method, request, answer } = exchange;
      if (isLeft(answer)) return;
      if (method === 'lease') checkGrant(from, answer.right as LeaseGrant, atMs);
      if (method === 'submit') {
        const receipt = answer.right as SubmitReceipt;
        checkReceipt(exchange, receipt);
        if (receipt.granted !== undefined) checkGrant(from, receipt.granted, atMs);
      }
      if (method === 'release') for (const key of (request[0] as Heartbeat).leases) holders.delete(nameOf(key));
    },
    hasLost: (owner, key) => losers.get(nameOf(key))?.has(owner) === true,
    forget() {
      holders.clear();
      losers.clear();
    },
  };
}

const nameOf = ({ session_id, effect_id }: { session_id: SessionId; effect_id: EffectId }): string =>
  `${session_id} ${effect_id}`;

function isOwed(book: Book, effect: Effect): boolean {
  for (const state of book.states.slice(-VERSIONS_BACK).reverse()) {
    const owed = owedEffects(state).find(({ effect_id }) => effect_id === effect.effect_id);
    if (owed !== undefined && sameEffect(owed, effect)) return true;
  }
  return false;
}
