// The calls this bridge holds, and which of them may start. It only follows the plan: a call starts as soon as every call
// it waits for has settled durably and the concurrency limits allow it, so a batch takes as long as its critical path. It
// uses no clock and no I/O.
import type { Effect } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { BatchId, CallId, SessionId } from '../../schemas/ids.ts';
import type { ToolBatchPlan } from '../../schemas/plan.ts';
import {
  type HeldBatch,
  type HeldCall,
  type ToolCall,
  holdCall,
  isEndedBy,
  newHeldBatch,
  markSettled,
  waitsForOtherBridge,
} from './held-call.ts';
import { BATCHES_REMEMBERED_MAX } from '../../schemas/limits.ts';
import { newConcurrencyLimit } from './concurrency-limit.ts';

export interface CallSchedule {
  /**
   * Adds a leased call; returns null when it is held already, or has ended as far as this bridge knows. `planOf` returns
   * the plan that was leased with its batch.
   */
  add(effect: ToolCall, planOf: () => ToolBatchPlan | null): HeldCall | null;
  /** Marks the next call that may start as running and returns it; null when no call may start. */
  startNext(): HeldCall | null;
  /** The call has run and no longer counts against the limits; its report follows. */
  endRun(call: HeldCall): void;
  /** The call is durably settled. */
  settled(call: HeldCall): void;
  /** This attempt of the call is recorded; the engine decides whether there is another one. */
  tried(call: HeldCall): void;
  /** This bridge no longer holds the call. */
  drop(call: HeldCall): void;
  find(session: SessionId, batch: BatchId, call: CallId): HeldCall | null;
  /** Batches that these settlements complete, as far as this bridge knows. */
  endedBy(session: SessionId, events: readonly Ingress[]): readonly HeldBatch[];
  forget(batch: HeldBatch): void;
  /** Whether any call waits, for another call or for a limit. */
  isWaiting(): boolean;
  /** Sessions in which a call waits for one that this bridge does not hold. */
  blockedElsewhere(): readonly SessionId[];
  /** Each call of the session waits for those that the effects owed now wait for. */
  observe(session: SessionId, owed: readonly Effect[]): void;
  /** All calls that this bridge holds. */
  held(): Iterable<HeldCall>;
}

export function newCallSchedule(concurrencyMax: number): CallSchedule {
  // A session has one open batch. One that has ended is remembered, because grants sent before its end may still arrive.
  const batches = new Map<SessionId, HeldBatch>();
  const calls = new Set<HeldCall>();
  const waiting = new Set<HeldCall>();
  const limit = newConcurrencyLimit(concurrencyMax);

  function batchOf(effect: ToolCall, planOf: () => ToolBatchPlan | null): HeldBatch {
    const known = batches.get(effect.session_id);
    if (known?.batch_id === effect.batch_id) return known;
    const batch = newHeldBatch(effect, planOf());
    batches.set(effect.session_id, batch);
    if (batches.size > BATCHES_REMEMBERED_MAX) forgetIdle(batches);
    return batch;
  }

  function remove(call: HeldCall): void {
    calls.delete(call);
    waiting.delete(call);
    const { open } = call.batch;
    if (open.get(call.effect.call_id) === call) open.delete(call.effect.call_id);
  }

  return {
    add(effect, planOf) {
      const call = holdCall(batchOf(effect, planOf), effect);
      if (call === null) return null;
      calls.add(call);
      waiting.add(call);
      return call;
    },
    startNext() {
      for (const call of waiting) {
        const { session_id, tool_concurrency_max } = call.effect;
        if (call.waitsFor.size > 0 || !limit.acquire(session_id, tool_concurrency_max)) continue;
        waiting.delete(call);
        call.phase = 'running';
        return call;
      }
      return null;
    },
    endRun(call) {
      if (call.phase !== 'running') return;
      call.phase = 'reporting';
      limit.release(call.effect.session_id);
    },
    settled(call) {
      remove(call);
      markSettled(call);
    },
    tried(call) {
      remove(call);
      call.batch.tried.set(call.effect.call_id, call.effect.attempt);
    },
    drop: remove,
    find(session, batch, call) {
      const known = batches.get(session);
      return known?.batch_id === batch ? (known.open.get(call) ?? null) : null;
    },
    endedBy(session, events) {
      const batch = batches.get(session);
      return batch !== undefined && isEndedBy(batch, events) ? [batch] : [];
    },
    forget(batch) {
      if (batches.get(batch.session_id) === batch) batches.delete(batch.session_id);
    },
    isWaiting: () => waiting.size > 0,
    blockedElsewhere: () => [
      ...new Set([...waiting].filter(waitsForOtherBridge).map(({ effect }) => effect.session_id)),
    ],
    observe: (session, owed) => replaceWaits(waiting, session, owed),
    held: () => [...calls],
  };
}

// A plan names the minimal set: of a chain of calls only the last. When that one ends without having waited (the fold settled
// it), the engine names the calls before it instead, so a view may add calls as well as remove them. An older view names too
// many of them, never too few, and the next one corrects it.
function replaceWaits(waiting: Iterable<HeldCall>, session: SessionId, owed: readonly Effect[]): void {
  const calls = owed.filter((effect) => effect.kind === 'tool.call');
  const afterOf = new Map(calls.map(({ effect_id, after }) => [effect_id, after]));
  for (const { effect, batch, waitsFor } of waiting) {
    const after = effect.session_id === session ? afterOf.get(effect.effect_id) : undefined;
    if (after === undefined) continue;
    waitsFor.clear();
    for (const id of after) if (!batch.settled.has(id)) waitsFor.add(id);
  }
}

function forgetIdle(batches: Map<SessionId, HeldBatch>): void {
  for (const [session, { open }] of batches) {
    if (batches.size <= BATCHES_REMEMBERED_MAX) return;
    if (open.size === 0) batches.delete(session);
  }
}
