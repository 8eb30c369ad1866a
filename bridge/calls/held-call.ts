// A leased call while it is in this bridge, and the batch it belongs to.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { BatchId, CallId, Digest, SessionId } from '../../schemas/ids.ts';
import type { ToolBatchPlan } from '../../schemas/plan.ts';
import { StopSwitch } from '../executors/stop-switch.ts';

export type ToolCall = EffectOfKind<'tool.call'>;

export interface HeldCall {
  readonly effect: ToolCall;
  readonly batch: HeldBatch;
  readonly stop: StopSwitch;
  /** Calls of the batch that must settle first. */
  readonly waitsFor: Set<CallId>;
  phase: 'waiting' | 'running' | 'reporting';
  /** Its start is on record: nobody else will run it, so its end is worth reporting whatever happens to the lease. */
  started: boolean;
}

export interface HeldBatch {
  readonly session_id: SessionId;
  readonly batch_id: BatchId;
  readonly plan_hash: Digest;
  /** As it was leased; null when it did not come with its calls. */
  readonly plan: ToolBatchPlan | null;
  /** Held here and not durably settled. */
  readonly open: Map<CallId, HeldCall>;
  /** Settled by this bridge, durably. */
  readonly settled: Set<CallId>;
  /** The last attempt of a call that is on record, where another one may follow. */
  readonly tried: Map<CallId, number>;
  /** Somebody else holds calls of it: then the engine says when it is over. */
  shared: boolean;
}

export const newHeldBatch = ({ session_id, batch_id, plan_hash }: ToolCall, plan: ToolBatchPlan | null): HeldBatch => ({
  session_id,
  batch_id,
  plan_hash,
  plan,
  open: new Map(),
  settled: new Set(),
  tried: new Map(),
  shared: false,
});

/** The call as it waits; null when it is here already, or was settled here, or this attempt of it is over. */
export function holdCall(batch: HeldBatch, effect: ToolCall): HeldCall | null {
  const { call_id, attempt, after } = effect;
  // A grant that was under way brings what has ended meanwhile.
  if (attempt <= (batch.tried.get(call_id) ?? 0)) return null;
  if (batch.settled.has(call_id) || batch.open.get(call_id)?.effect.attempt === attempt) return null;
  const waitsFor = new Set<CallId>();
  for (const id of after) if (!batch.settled.has(id)) waitsFor.add(id);
  const call: HeldCall = {
    effect,
    batch,
    stop: new StopSwitch(),
    waitsFor,
    phase: 'waiting',
    started: false,
  };
  batch.open.set(call_id, call);
  return call;
}

/** The call is durably settled: what waited for it waits no longer. */
export function settleCall({ batch, effect: { call_id } }: HeldCall): void {
  batch.settled.add(call_id);
  for (const other of batch.open.values()) other.waitsFor.delete(call_id);
}

/** It waits for a call that another bridge holds, or nobody yet. */
export const waitsForOtherBridge = ({ batch, waitsFor }: HeldCall): boolean =>
  [...waitsFor].some((id) => !batch.open.has(id));

/**
 * True when these settlements end the batch as far as is known here. Calls of the plan that were never seen here are
 * settled already, or held elsewhere: one refusal tells which.
 */
export function isEndedBy(batch: HeldBatch, events: readonly Ingress[]): boolean {
  let now = 0;
  for (const event of events) {
    if (event.kind !== 'ToolCallSettled' || event.batch_id !== batch.batch_id) continue;
    if (batch.open.has(event.call_id)) now += 1;
  }
  if (now === 0 || now < batch.open.size) return false;
  const planned = batch.plan?.planned_calls.length ?? 0;
  return !batch.shared || batch.settled.size + now >= planned;
}
