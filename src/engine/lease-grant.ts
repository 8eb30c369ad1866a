// What one lease request may have: the effects it asked for, that are owed and nobody holds.
import type { CallId, EffectId, OwnerId } from '../../schemas/ids.ts';
import type { LeaseGrant, Wanted } from '../../schemas/wire.ts';
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
  /** Takes what it may of one session. */
  take(owed: Owed, held: ReadonlyMap<EffectId, Lease>): Taken;
  /** Takes what this owner has of one session and has not begun, as it was given. */
  takeAgain(owed: Owed, held: ReadonlyMap<EffectId, Lease>): readonly Granted[];
  full(): boolean;
  result(): LeaseGrant;
}

interface Taken {
  readonly granted: readonly Granted[];
  /** Something of it is in nobody's hands still. */
  readonly more: boolean;
  /** Something of that may be what was asked for, of this owner or of another one. */
  readonly wanted: boolean;
}

interface GrantOptions {
  readonly ttlMs: number;
  readonly epochs: Epochs;
}

/** What is asked for, and by whom. */
export interface Asked extends Wanted {
  readonly owner: OwnerId;
}

export function newGrant(request: Asked, { ttlMs, epochs }: GrantOptions): Grant {
  const taken: Granted[] = [];
  const plans: LeaseGrant['plans'][number][] = [];
  let matchesTool: ((tool: string) => boolean) | null = null;

  /** It is of a kind that was asked for, and on such a tool. */
  const isWanted = (effect: BridgeEffect): boolean => {
    if (!request.kinds.includes(effect.kind)) return false;
    if (effect.kind !== 'tool.call') return true;
    matchesTool ??= toolMatcher(request.tools);
    return matchesTool(effect.tool_id);
  };
  /** Whoever runs a call stops it. */
  const isTheirs = (effect: BridgeEffect): boolean =>
    effect.kind !== 'tool.cancel' || effect.owner === null || effect.owner === request.owner;

  function note(owed: Owed, granted: readonly Granted[]): void {
    for (const one of granted) taken.push(one);
    const { active_tool_batch: batch, session_id } = owed.state();
    if (batch === null || !granted.some(({ effect }) => effect.kind === 'tool.call')) return;
    plans.push({ session_id, batch_id: batch.batch_id, plan: batch.plan });
  }

  return {
    take(owed, held) {
      const granted: Granted[] = [];
      // Calls this owner has, now or from before: a call that waits for others goes to whoever has those.
      let ours: Set<CallId> | null = null;
      let free = 0;
      let wanted = false;
      for (const effect of owed.list()) {
        if (held.has(effect.effect_id)) continue;
        free += 1;
        const isFull = taken.length + granted.length >= request.max;
        if (isFull || isWanted(effect)) wanted = true;
        else continue;
        if (isFull) break;
        if (!isTheirs(effect)) continue;
        const now = waitingNow(effect, owed);
        if (now.kind === 'tool.call' && now.after.length > 0) {
          ours ??= callsOf(request.owner, held, granted);
          if (!holdsAll(ours, now.after)) continue;
        }
        const epoch = epochs.next();
        if (epoch === null) break;
        if (now.kind === 'tool.call') ours?.add(now.call_id);
        granted.push({ effect: now, epoch });
      }
      note(owed, granted);
      return { granted, more: free > granted.length, wanted };
    },
    takeAgain(owed, held) {
      const granted: Granted[] = [];
      for (const [id, { owner, epoch, call }] of held) {
        const effect = owner === request.owner && epoch !== null ? owed.find(id) : undefined;
        if (effect === undefined || epoch === null || !isWanted(effect) || !isTheirs(effect)) continue;
        if (call !== null && owed.isRunning(call)) continue;
        if (taken.length + granted.length >= request.max) break;
        granted.push({ effect: waitingNow(effect, owed), epoch });
      }
      note(owed, granted);
      return granted;
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

/** A call with what it waits for by now. */
function waitingNow(effect: BridgeEffect, owed: Owed): BridgeEffect {
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

/** Matches tool ids against exact ids and prefixes that end with `*`. */
function toolMatcher(patterns: readonly string[]): (tool: string) => boolean {
  const exact = new Set(patterns);
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (tool) => exact.has(tool) || prefixes.some((prefix) => tool.startsWith(prefix));
}
