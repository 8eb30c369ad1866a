// Admission of a bridge's reports on calls: late, stale, misdirected and repeated reports are refused, each with a different
// code (docs/design.md, laws 4 and 10).
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { isInline } from '../schemas/content.ts';
import type { EventOfKind } from '../schemas/event.ts';
import type { BatchId, CallId, Digest } from '../schemas/ids.ts';
import type { PlannedToolCall } from '../schemas/plan.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../schemas/state.ts';
import { callStateOf, plannedOf } from './batch-index.ts';
import { admitDetached, detachedCall } from './detached.ts';
import { isElsewhere } from './host-session.ts';
import { isTerminal } from './call-status.ts';
import { openWaitsIn } from './waits.ts';

interface BatchReport {
  readonly batch_id: BatchId;
  readonly plan_hash?: Digest;
}

/** Null when the report names the open batch and its plan. */
export function findBatchFault(state: SessionState, report: BatchReport): Rejection | null {
  const batch = state.active_tool_batch;
  if (batch === null) return reject('batch_not_active', '/batch_id', 'no batch is open');
  if (report.batch_id !== batch.batch_id) {
    return reject('wrong_batch', '/batch_id', `${batch.batch_id} is open, not ${report.batch_id}`);
  }
  if (report.plan_hash !== undefined && report.plan_hash !== batch.plan.plan_hash) {
    return reject('plan_mismatch', '/plan_hash', `the hash of the recorded plan is ${batch.plan.plan_hash}`);
  }
  return null;
}

/** The call that an answer, or a report on a call that waits for one, names. */
export function findCall(
  state: SessionState,
  named: { readonly batch_id: BatchId; readonly call_id: CallId },
): Either<Rejection, CallState> {
  const fault = findBatchFault(state, { batch_id: named.batch_id });
  if (fault !== null) return left(fault);
  const batch = state.active_tool_batch as ActiveToolBatch;
  const call = callStateOf(batch, named.call_id);
  return call === undefined ? left(unknownCall(batch, named.call_id)) : right(call);
}

const unknownCall = ({ batch_id }: ActiveToolBatch, id: CallId): Rejection =>
  reject('unknown_call', '/call_id', `${batch_id} has no call "${id}"`);

/** Null when the digest is that of the arguments of the call. */
export function findDigestFault(
  state: SessionState,
  { call_id, arguments_digest }: { readonly call_id: CallId; readonly arguments_digest: Digest },
): Rejection | null {
  const planned = plannedOf((state.active_tool_batch as ActiveToolBatch).plan, call_id)?.call;
  if (planned?.arguments_digest === arguments_digest) return null;
  const recorded = planned?.arguments_digest ?? 'none';
  return reject('arguments_mismatch', '/arguments_digest', `the digest of the recorded arguments is ${recorded}`);
}

export interface OpenCall {
  readonly batch: ActiveToolBatch;
  readonly call: CallState;
  readonly planned: PlannedToolCall;
}

type CallReport = BatchReport & {
  readonly call_id: CallId;
  readonly attempt: number;
  readonly outcome?: EventOfKind<'ToolCallSettled'>['outcome'];
};

/** The call that a report names, unless it waits for a person or a time, or another call answers for it. */
export function findOpenCall(state: SessionState, report: CallReport): Either<Rejection, OpenCall> {
  const fault = findBatchFault(state, report);
  if (fault !== null) return left(fault);
  const batch = state.active_tool_batch as ActiveToolBatch;
  const call = callStateOf(batch, report.call_id);
  if (call === undefined) {
    return left(unknownCall(batch, report.call_id));
  }
  const planned = plannedOf(batch.plan, report.call_id)?.call;
  if (isTerminal(call.status) || planned === undefined) {
    return left(alreadySettled(call));
  }
  const waits = findWait(call, planned, report);
  if (waits !== null) return left(waits);
  if (planned.shares !== undefined) {
    return left(
      reject('shares_result', '/call_id', `the call shares the result of "${planned.shares}"; report that call`),
    );
  }
  if (report.attempt !== call.attempt) {
    return left(reject('stale_attempt', '/attempt', `the call is at attempt ${call.attempt}, not ${report.attempt}`));
  }
  return right({ batch, call, planned });
}

export const alreadySettled = (call: CallState): Rejection =>
  reject(
    'call_already_settled',
    '/call_id',
    `the call is ${call.status} already${whyRejected(call)}; its result is final`,
  );

/** Why a call was refused, in the words that the model reads; empty for every other call. */
export function whyRejected({ status, output }: CallState): string {
  return status !== 'rejected' || output === null || !isInline(output) ? '' : ` (${output.text})`;
}

/**
 * Refuses reports on calls that wait for a person or for the time of their next attempt. That the next attempt is not made
 * can be said before its time: a copy of the session says so of a call that is not made there.
 */
function findWait(call: CallState, planned: PlannedToolCall, { outcome }: CallReport): Rejection | null {
  const wait = (message: string): Rejection => reject('waits_for_person', '/call_id', message);
  if (call.question?.state !== undefined) return wait('the call waits for the answer to its question');
  if (call.status === 'waiting') return wait('the call waits for the confirmation of a person');
  if (call.status === 'queued' && planned.executor.kind === 'custom') {
    return wait('a person or an application fulfils this call');
  }
  if (call.not_before_ms === undefined || outcome === 'cancelled') return null;
  return reject('call_not_ready', '/call_id', `the next attempt is not due before ${call.not_before_ms}`);
}

export function admitStarted(state: SessionState, event: EventOfKind<'ToolCallStarted'>): Rejection | null {
  const found = findOpenCall(state, event);
  if (isLeft(found)) return found.left;
  const { batch, call } = found.right;
  if (call.status !== 'queued') return reject('call_not_queued', '/call_id', `the call is ${call.status}, not queued`);
  if (event.place !== undefined && isElsewhere(state.tool_runtime_context, event.place)) {
    return reject('other_place', '/place', 'the call was allowed in another workspace, or under another sandbox');
  }
  const [open] = openWaitsIn(batch, event.call_id);
  return open === undefined ? null : reject('call_not_ready', '/call_id', `the call waits for "${open}" to settle`);
}

export function admitSettled(state: SessionState, event: EventOfKind<'ToolCallSettled'>): Rejection | null {
  const detached = detachedCall(state, event);
  if (detached !== undefined) return admitDetached(detached, event) ?? findContradiction(event);
  const found = findOpenCall(state, event);
  if (isLeft(found)) return found.left;
  return findContradiction(event) ?? findUnlawfulRun(found.right, event);
}

/**
 * Refuses the outcome of a call that ran before one it must wait for, or without its start on record
 * (docs/design.md, laws 3 and 11). A call that was cancelled, or whose outcome is unknown, need not have run.
 */
function findUnlawfulRun({ batch, call, planned }: OpenCall, event: EventOfKind<'ToolCallSettled'>): Rejection | null {
  if (call.status !== 'queued' || event.outcome === 'cancelled' || event.outcome === 'unknown') return null;
  const [open] = openWaitsIn(batch, event.call_id);
  if (open !== undefined) {
    const message = `the call must wait for "${open}", which has not settled; report the outcome again after it`;
    return reject('call_not_ready', '/call_id', message);
  }
  if (planned.read_only || planned.executor.kind === 'custom') return null;
  return reject('call_not_started', '/call_id', 'the call is not read-only, and its start is not recorded');
}

function findContradiction({ outcome, result }: EventOfKind<'ToolCallSettled'>): Rejection | null {
  if (outcome === undefined || (outcome === 'succeeded') === result.success) return null;
  return reject('inconsistent_result', '/outcome', `the outcome is ${outcome}, but success is ${result.success}`);
}

export function admitLeaseExpired(state: SessionState, event: EventOfKind<'LeaseExpired'>): Rejection | null {
  const detached = detachedCall(state, event);
  if (detached !== undefined) return admitDetached(detached, event);
  const found = findOpenCall(state, event);
  if (isLeft(found)) return found.left;
  const { status } = found.right.call;
  return status === 'running' ? null : reject('wrong_phase', '/call_id', `the call is ${status}, not running`);
}
