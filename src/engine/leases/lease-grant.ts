// What one lease request is granted: effects of the requested kinds that a session owes and no bridge holds.
import type { CallId, EffectId, OwnerId } from '../../../schemas/ids.ts';
import { GRANT_CHARS_MAX } from '../../../schemas/limits.ts';
import type { ToolBatchPlan } from '../../../schemas/plan.ts';
import type { LeaseGrant, Wanted } from '../../../schemas/wire.ts';
import type { Epochs } from './epochs.ts';
import { charsOfEffect, charsOfPlan } from './grant-size.ts';
import type { Lease } from './lease-holds.ts';
import type { BridgeEffect, OwedEffects } from './owed-effects.ts';
import { isWanted } from './wanted-effects.ts';

/** An effect that is granted, under its epoch. */
export interface Granted {
  readonly effect: BridgeEffect;
  readonly epoch: number;
}

export interface Grant {
  /** Adds the effects of one session that the request may be granted, while the answer has room for them. */
  addFrom(owed: OwedEffects, held: ReadonlyMap<EffectId, Lease>): Added;
  /** Adds again the effects of one session that this owner holds and has not started, under the same epochs. */
  repeatFrom(owed: OwedEffects, held: ReadonlyMap<EffectId, Lease>): readonly Granted[];
  full(): boolean;
  result(): LeaseGrant;
}

interface Added {
  readonly granted: readonly Granted[];
  /** The session still owes something that no bridge holds. */
  readonly more: boolean;
  /** Some of it may be of the requested kinds, for this owner or another one. */
  readonly wanted: boolean;
}

interface GrantOptions {
  readonly ttlMs: number;
  readonly epochs: Epochs;
}

/** What is requested, and by which owner. */
export interface GrantRequest extends Wanted {
  readonly owner: OwnerId;
}

export function newGrant(request: GrantRequest, { ttlMs, epochs }: GrantOptions): Grant {
  const all: Granted[] = [];
  const plans: LeaseGrant['plans'][number][] = [];
  const room = newRoom(request.max);

  /** Only the owner that runs a call may cancel it, or hand it an answer. */
  const isForOwner = (effect: BridgeEffect): boolean => {
    if (effect.kind === 'tool.answer') return effect.owner === request.owner;
    return effect.kind !== 'tool.cancel' || effect.owner === null || effect.owner === request.owner;
  };

  function add(owed: OwedEffects, granted: readonly Granted[]): void {
    for (const one of granted) all.push(one);
    const { active_tool_batch: batch, session_id } = owed.state();
    if (batch === null || !granted.some(({ effect }) => effect.kind === 'tool.call')) return;
    plans.push({ session_id, batch_id: batch.batch_id, plan: batch.plan });
  }

  return {
    addFrom(owed, held) {
      const granted: Granted[] = [];
      // A call that waits for others is granted only to the owner that holds those.
      let callsOfOwner: Set<CallId> | null = null;
      let free = 0;
      let wanted = false;
      for (const effect of owed.list()) {
        if (held.has(effect.effect_id)) continue;
        free += 1;
        const isFull = room.isFull();
        if (isFull || isWanted(request, effect)) wanted = true;
        else continue;
        if (isFull) break;
        if (!isForOwner(effect)) continue;
        const now = withOpenAfter(effect, owed);
        if (now.kind === 'tool.call' && now.after.length > 0) {
          callsOfOwner ??= callsOf(request.owner, held, granted);
          if (!holdsAll(callsOfOwner, now.after)) continue;
        }
        if (!room.take(now, planFor(now, owed, granted))) break;
        const epoch = epochs.next();
        if (epoch === null) break;
        if (now.kind === 'tool.call') callsOfOwner?.add(now.call_id);
        granted.push({ effect: now, epoch });
      }
      add(owed, granted);
      return { granted, more: free > granted.length, wanted };
    },
    repeatFrom(owed, held) {
      const granted: Granted[] = [];
      for (const [id, { owner, epoch, call }] of held) {
        const effect = owner === request.owner && epoch !== null ? owed.find(id) : undefined;
        if (effect === undefined || epoch === null || !isWanted(request, effect) || !isForOwner(effect)) continue;
        if (call !== null && owed.isRunning(call)) continue;
        const now = withOpenAfter(effect, owed);
        if (!room.take(now, planFor(now, owed, granted))) break;
        granted.push({ effect: now, epoch });
      }
      add(owed, granted);
      return granted;
    },
    full: () => room.isFull(),
    result: () => ({
      effects: all.map(({ effect }) => effect),
      epochs: all.map(({ epoch }) => epoch),
      plans,
      ttl_ms: ttlMs,
    }),
  };
}

interface Room {
  /** Takes room for an effect, and for the plan that goes with it; false when there is none left. */
  take(effect: BridgeEffect, plan: ToolBatchPlan | null): boolean;
  isFull(): boolean;
}

/** Room for `max` effects, as far as the answer does not become too long; for one in any case. */
function newRoom(max: number): Room {
  let count = 0;
  let chars = 0;
  let isLong = false;
  const isFull = (): boolean => isLong || count >= max;
  return {
    isFull,
    take(effect, plan) {
      const more = charsOfEffect(effect) + (plan === null ? 0 : charsOfPlan(plan));
      isLong ||= count > 0 && chars + more > GRANT_CHARS_MAX;
      if (isFull()) return false;
      count += 1;
      chars += more;
      return true;
    },
  };
}

/** The plan that a grant contains with the first call of a session; null for any other effect. */
function planFor(effect: BridgeEffect, owed: OwedEffects, granted: readonly Granted[]): ToolBatchPlan | null {
  const isFirst = effect.kind === 'tool.call' && !granted.some((one) => one.effect.kind === 'tool.call');
  return isFirst ? (owed.state().active_tool_batch?.plan ?? null) : null;
}

/** A call with only those calls in `after` that are still open; any other effect unchanged. */
function withOpenAfter(effect: BridgeEffect, owed: OwedEffects): BridgeEffect {
  if (effect.kind !== 'tool.call') return effect;
  const after = owed.openAfter(effect);
  return after === effect.after ? effect : { ...effect, after };
}

function callsOf(owner: OwnerId, held: ReadonlyMap<EffectId, Lease>, granted: readonly Granted[]): Set<CallId> {
  const calls = new Set<CallId>();
  for (const lease of held.values()) if (lease.owner === owner && lease.call !== null) calls.add(lease.call.call_id);
  for (const { effect } of granted) if (effect.kind === 'tool.call') calls.add(effect.call_id);
  return calls;
}

const holdsAll = (calls: ReadonlySet<CallId>, ids: readonly CallId[]): boolean => ids.every((id) => calls.has(id));
