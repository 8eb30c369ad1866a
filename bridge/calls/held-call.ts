// A leased call while this bridge holds it, and the batch it belongs to.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { BatchId, CallId, Digest, SessionId } from '../../schemas/ids.ts';
import type { ToolBatchPlan } from '../../schemas/plan.ts';
import { type CallAnswers, newCallAnswers } from './call-answers.ts';
import { StopSwitch } from '../executors/stop-switch.ts';

export type ToolCall = EffectOfKind<'tool.call'>;

export interface HeldCall {
  readonly effect: ToolCall;
  readonly batch: HeldBatch;
  readonly stop: StopSwitch;
  /** Calls of the batch that must settle first. */
  readonly waitsFor: Set<CallId>;
  phase: 'waiting' | 'running' | 'reporting';
  /** Its start is recorded. If it must not run twice, its end is reported even when the lease is lost. */
  started: boolean;
  /** What its work outside is called is recorded: another bridge can wait for it. */
  noted: boolean;
  /** The answers of people to what it asks. */
  readonly answers: CallAnswers;
}

export interface HeldBatch {
  readonly session_id: SessionId;
  readonly batch_id: BatchId;
  readonly plan_hash: Digest;
  /** As it was leased; null when the grant of its calls did not include it. */
  readonly plan: ToolBatchPlan | null;
  /** Calls that this bridge holds and that are not durably settled. */
  readonly open: Map<CallId, HeldCall>;
  /** Calls that this bridge has settled durably. */
  readonly settled: Set<CallId>;
  /** The last recorded attempt of each call that may be tried again. */
  readonly tried: Map<CallId, number>;
}

export const newHeldBatch = ({ session_id, batch_id, plan_hash }: ToolCall, plan: ToolBatchPlan | null): HeldBatch => ({
  session_id,
  batch_id,
  plan_hash,
  plan,
  open: new Map(),
  settled: new Set(),
  tried: new Map(),
});

/** Adds a waiting call; returns null when this attempt is held already or has ended, or the call was settled here. */
export function holdCall(batch: HeldBatch, effect: ToolCall): HeldCall | null {
  const { call_id, attempt, after } = effect;
  // A grant sent before the end of an attempt may arrive after it.
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
    noted: effect.resume?.handle !== undefined,
    answers: newCallAnswers(),
  };
  batch.open.set(call_id, call);
  return call;
}

/** The call is durably settled: other calls no longer wait for it. */
export function markSettled({ batch, effect: { call_id } }: HeldCall): void {
  batch.settled.add(call_id);
  for (const other of batch.open.values()) other.waitsFor.delete(call_id);
}

/** It waits for a call that another bridge holds, or that no bridge has leased yet. */
export const waitsForOtherBridge = ({ batch, waitsFor }: HeldCall): boolean =>
  [...waitsFor].some((id) => !batch.open.has(id));

/**
 * True when these settlements end the batch for certain: every call of the plan is settled by this bridge, or by the fold,
 * and none of them may be tried again. Of any other batch the engine says when it has ended (`batch.settle`).
 */
export function isEndedBy({ batch_id, plan, settled, open }: HeldBatch, events: readonly Ingress[]): boolean {
  if (plan === null) return false;
  const now = new Set<CallId>();
  for (const event of events) {
    if (event.kind !== 'ToolCallSettled' || event.batch_id !== batch_id || !open.has(event.call_id)) continue;
    if (event.retryable === true && !event.result.success) return false;
    now.add(event.call_id);
  }
  if (now.size === 0) return false;
  const isSettled = (id: CallId): boolean => now.has(id) || settled.has(id);
  return plan.planned_calls.every(
    ({ call_id, shares, executor, consent }) =>
      isSettled(shares ?? call_id) || (executor.kind === 'workflow' && consent?.ask !== 'person'),
  );
}
