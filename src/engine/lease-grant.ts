// What one lease request may have: the effects it asked for, that are owed and nobody holds.
import type { CallId, EffectId, OwnerId } from '../../schemas/ids.ts';
import type { LeaseGrant, LeaseRequest } from '../../schemas/wire.ts';
import type { Epochs } from './epochs.ts';
import type { BridgeEffect, CallKey, Owed } from './owed.ts';

/** An effect in somebody's hands. */
export interface Lease {
  /** Null: the engine's own, until it has recorded that the bridge was lost. */
  readonly owner: OwnerId | null;
  /** Of its grant; null when that was made by an engine before, and its holder has not named it yet. */
  readonly epoch: number | null;
  /** The call it is on, when it is on one. */
  readonly call: CallKey | null;
  /** How many sweeps it outlives without a heartbeat. */
  sweepsLeft: number;
}

/** An effect that is handed out. */
export interface Granted {
  readonly effect: BridgeEffect;
  readonly epoch: number;
}

export interface Grant {
  /** Takes what it may of one session; the answer is what was taken. */
  take(owed: Owed, held: ReadonlyMap<EffectId, Lease>): readonly Granted[];
  full(): boolean;
  result(): LeaseGrant;
}

interface GrantOptions {
  readonly ttlMs: number;
  readonly epochs: Epochs;
}

export function newGrant(request: LeaseRequest, { ttlMs, epochs }: GrantOptions): Grant {
  const taken: Granted[] = [];
  const plans: LeaseGrant['plans'][number][] = [];
  const kinds = new Set<BridgeEffect['kind']>(request.kinds);
  const matchesTool = toolMatcher(request.tools);

  const wanted = (effect: BridgeEffect): boolean => {
    if (!kinds.has(effect.kind)) return false;
    if (effect.kind === 'tool.cancel') return effect.owner === null || effect.owner === request.owner;
    return effect.kind !== 'tool.call' || matchesTool(effect.tool_id);
  };

  return {
    take(owed, held) {
      const mine: Granted[] = [];
      // Calls this owner has, now or from before: a call that waits for others goes to whoever has those.
      const ours = new Set<CallId>();
      for (const { owner, call } of held.values()) if (owner === request.owner && call !== null) ours.add(call.call_id);
      for (const effect of owed.list()) {
        if (taken.length + mine.length >= request.max) break;
        if (!wanted(effect) || held.has(effect.effect_id)) continue;
        const after = effect.kind === 'tool.call' ? owed.openAfter(effect) : [];
        if (!after.every((id) => ours.has(id))) continue;
        const epoch = epochs.next();
        if (epoch === null) break;
        if (effect.kind === 'tool.call') ours.add(effect.call_id);
        mine.push({ effect: effect.kind === 'tool.call' ? { ...effect, after } : effect, epoch });
      }
      const { active_tool_batch: batch, session_id } = owed.state();
      if (batch !== null && mine.some(({ effect }) => effect.kind === 'tool.call')) {
        plans.push({ session_id, batch_id: batch.batch_id, plan: batch.plan });
      }
      taken.push(...mine);
      return mine;
    },
    full: () => taken.length >= request.max,
    result: () => ({
      effects: taken.map(({ effect }) => effect),
      epochs: taken.map(({ epoch }) => epoch),
      plans,
      ttl_ms: ttlMs,
    }),
  };
}

/** Matches tool ids against exact ids and prefixes that end with `*`. */
function toolMatcher(patterns: readonly string[]): (tool: string) => boolean {
  const exact = new Set(patterns);
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (tool) => exact.has(tool) || prefixes.some((prefix) => tool.startsWith(prefix));
}
