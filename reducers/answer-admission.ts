// Admission of what people say: an answer must name the open batch, a call of it that waits for just this, and the
// digest of the arguments the person saw (DESIGN section 2, law 9). Everything else is refused and changes nothing.
import type { EventOfKind } from '../schemas/event.ts';
import { AMENDED_MAX, GRANTS_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { ActiveToolBatch, SessionState } from '../schemas/state.ts';
import { findBatchFault } from './batch-admission.ts';
import { callStateOf, plannedOf } from './batch-index.ts';
import { isTerminal } from './call-status.ts';
import { openWaitsIn } from './waits.ts';

type Confirmation = EventOfKind<'user.tool_confirmation'>;
type CustomResult = EventOfKind<'user.custom_tool_result'>;

export function admitConfirmation(state: SessionState, event: Confirmation): Rejection | null {
  const status = statusOf(state, event);
  if (typeof status !== 'string') return status;
  if (status !== 'waiting') return reject('not_confirmable', '/call_id', `the call is ${status}`);
  return findDigestFault(state, event) ?? findGrantFault(state, event) ?? findAmendmentFault(state, event);
}

export function admitCustomResult(state: SessionState, event: CustomResult): Rejection | null {
  const status = statusOf(state, event);
  if (typeof status !== 'string') return status;
  const batch = state.active_tool_batch as ActiveToolBatch;
  if (isTerminal(status)) return reject('call_already_settled', '/call_id', `it is ${status}; the first result stands`);
  if (status === 'waiting') return reject('waits_for_person', '/call_id', 'nobody has said yet whether it may run');
  const planned = plannedOf(batch.plan, event.call_id)?.call;
  if (planned?.executor.kind !== 'custom' || status !== 'queued') {
    return reject('not_answerable', '/call_id', 'a bridge runs this call');
  }
  if (planned.shares !== undefined) {
    return reject('shares_result', '/call_id', `"${planned.shares}" is answered for it`);
  }
  const [open] = openWaitsIn(batch, event.call_id);
  if (open !== undefined) return reject('call_not_ready', '/call_id', `it waits for "${open}"`);
  const verdict = event.output_verdict;
  if (verdict?.valid === false) {
    return reject('result_invalid', `/result/data${verdict.path ?? ''}`, verdict.message ?? 'it does not fit');
  }
  return findDigestFault(state, event);
}

type Status = ActiveToolBatch['pages'][number][number]['status'];

function statusOf(state: SessionState, event: Confirmation | CustomResult): Status | Rejection {
  const fault = findBatchFault(state, event);
  if (fault !== null) return fault;
  const batch = state.active_tool_batch as ActiveToolBatch;
  const call = callStateOf(batch, event.call_id);
  return call?.status ?? reject('unknown_call', '/call_id', `${batch.batch_id} has no call "${event.call_id}"`);
}

function findDigestFault(state: SessionState, event: Confirmation | CustomResult): Rejection | null {
  const planned = plannedOf((state.active_tool_batch as ActiveToolBatch).plan, event.call_id)?.call;
  if (planned?.arguments_digest === event.arguments_digest) return null;
  return reject('arguments_mismatch', '/arguments_digest', `the call has ${planned?.arguments_digest ?? 'none'}`);
}

function findGrantFault(state: SessionState, { grant, result }: Confirmation): Rejection | null {
  if (grant === undefined) return null;
  if (result !== 'allow') return reject('grant_invalid', '/grant', 'a denial grants nothing');
  if ((grant.argument === undefined) !== (grant.pattern === undefined)) {
    return reject('grant_invalid', '/grant', 'argument and pattern are given together, or neither');
  }
  const full = (state.consent?.grants.length ?? 0) >= GRANTS_MAX;
  return full ? reject('grants_full', '/grant', `${GRANTS_MAX} grants are remembered already`) : null;
}

function findAmendmentFault(state: SessionState, { instead, result, call_id }: Confirmation): Rejection | null {
  if (instead === undefined) return null;
  const at = (field: string, message: string) => reject('amendment_invalid', `/instead${field}`, message);
  if (result !== 'deny') return at('', 'approving with other arguments is a denial and a new call');
  const batch = state.active_tool_batch as ActiveToolBatch;
  const amended = state.run?.amended ?? [];
  if (amended.length >= AMENDED_MAX) return at('', `${AMENDED_MAX} calls wait already`);
  const planned = plannedOf(batch.plan, call_id)?.call;
  if (instead.tool_name !== planned?.tool_name) return at('/tool_name', `the call is to "${planned?.tool_name}"`);
  const taken = [...batch.observed, ...amended].some((call) => call.call_id === instead.call_id);
  if (taken) return at('/call_id', `the id "${instead.call_id}" is taken`);
  const verdict = instead.arguments_verdict;
  return verdict?.valid === false ? at(`/arguments${verdict.path ?? ''}`, verdict.message ?? 'they do not fit') : null;
}
