// The calls this bridge holds, and which of them may start. It decides nothing that the plan has not decided: a call
// starts the moment every call it waits for has settled durably and there is room for it, so that a batch ends at its
// critical path. No time, no I/O.
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
  settleCall,
  waitsForOtherBridge,
} from './held-call.ts';
import { BATCHES_REMEMBERED_MAX } from '../../schemas/limits.ts';
import { newConcurrency } from './concurrency.ts';

export interface CallSchedule {
  /**
   * Takes a leased call; null when it is here already, or is over as far as this bridge knows. `planOf`: as its batch was
   * leased.
   */
  add(effect: ToolCall, planOf: () => ToolBatchPlan | null): HeldCall | null;
  /** The next call that may start, marked as running; null when there is none, or no room. */
  startNext(): HeldCall | null;
  /** The call no longer takes room: it has run, and its report is under way. */
  ranOut(call: HeldCall): void;
  /** The call is durably settled. */
  settled(call: HeldCall): void;
  /** This attempt of the call is on record; whether there is another one is the engine's to say. */
  tried(call: HeldCall): void;
  /** The call is no longer this bridge's. */
  drop(call: HeldCall): void;
  find(session: SessionId, batch: BatchId, call: CallId): HeldCall | null;
  /** Batches that these settlements end, as far as is known here. */
  endedBy(session: SessionId, events: readonly Ingress[]): readonly HeldBatch[];
  forget(batch: HeldBatch): void;
  /** Whether a call waits, for whatever it may be. */
  isWaiting(): boolean;
  /** Sessions in which a call waits for one that is not held here. */
  watched(): readonly SessionId[];
  /** Takes over from what is owed now which calls need not be waited for any more. */
  observe(session: SessionId, owed: readonly Effect[]): void;
  held(): Iterable<HeldCall>;
}

export function newCallSchedule(concurrencyMax: number): CallSchedule {
  // A session has one open batch; one that is over is remembered for grants that were under way.
  const batches = new Map<SessionId, HeldBatch>();
  const calls = new Set<HeldCall>();
  const waiting = new Set<HeldCall>();
  const room = newConcurrency(concurrencyMax);

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
        if (call.waitsFor.size > 0 || !room.take(session_id, tool_concurrency_max)) continue;
        waiting.delete(call);
        call.phase = 'running';
        return call;
      }
      return null;
    },
    ranOut(call) {
      if (call.phase !== 'running') return;
      call.phase = 'reporting';
      room.free(call.effect.session_id);
    },
    settled(call) {
      remove(call);
      settleCall(call);
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
    watched: () => [...new Set([...waiting].filter(waitsForOtherBridge).map(({ effect }) => effect.session_id))],
    observe: (session, owed) => shrinkWaits(waiting, session, owed),
    held: () => [...calls],
  };
}

// An older view can only name more to wait for, never less, so it does no harm.
function shrinkWaits(waiting: Iterable<HeldCall>, session: SessionId, owed: readonly Effect[]): void {
  const calls = owed.filter((effect) => effect.kind === 'tool.call');
  const afterOf = new Map(calls.map((effect) => [effect.effect_id, new Set(effect.after)]));
  for (const { effect, waitsFor } of waiting) {
    const after = effect.session_id === session ? afterOf.get(effect.effect_id) : undefined;
    if (after === undefined) continue;
    for (const id of waitsFor) if (!after.has(id)) waitsFor.delete(id);
  }
}

function forgetIdle(batches: Map<SessionId, HeldBatch>): void {
  for (const [session, { open }] of batches) {
    if (batches.size <= BATCHES_REMEMBERED_MAX) return;
    if (open.size === 0) batches.delete(session);
  }
}
