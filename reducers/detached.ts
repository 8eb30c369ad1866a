// Detached calls: calls that an interrupt leaves running (`interrupt_behavior: continue`). The run does not wait for them,
// and the model reads that. Their later reports are recorded and change nothing else.
import type { EventOfKind } from '../schemas/event.ts';
import { DETACHED_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { DetachedCall, SessionState } from '../schemas/state.ts';
import { answered } from './batch.ts';
import { editBatch } from './batch-edit.ts';
import { plannedOf } from './batch-index.ts';
import { withoutQuestion } from './call-attempts.ts';
import { type NextState, openBatchOf } from './next-state.ts';
import { rulesOf } from './rules/known-rules.ts';
import { codedText } from './rules/rule-set.ts';

/** Detaches the running calls that may continue without the run, up to DETACHED_MAX of them. */
export function detachCalls(next: NextState): void {
  const batch = openBatchOf(next);
  const edit = editBatch(next);
  const rules = rulesOf(next);
  const left = answered('unknown', rules, codedText(rules, 'left_running', {}));
  const detached: DetachedCall[] = [...(next.detached ?? [])];
  for (const [position, { call_id }] of batch.observed.entries()) {
    const call = edit.at(position);
    const planned = plannedOf(batch.plan, call_id)?.call;
    if (call.status !== 'running' || planned?.interrupt_behavior !== 'continue') continue;
    if (detached.length >= DETACHED_MAX) break;
    const { answer, attempt, owner } = withoutQuestion(call);
    // In canonical order, as everywhere in state.
    detached.push({
      ...(answer === undefined ? {} : { answer }),
      attempt,
      batch_id: batch.batch_id,
      call_id,
      owner,
      plan_hash: batch.plan.plan_hash,
    });
    edit.settle(call_id, left);
  }
  edit.finish();
  if (detached.length > 0) next.detached = detached;
}

type Report = Pick<EventOfKind<'ToolCallSettled'>, 'batch_id' | 'call_id'>;

/** The detached call that a report names. */
export const detachedCall = (
  state: Pick<SessionState, 'detached'>,
  { batch_id, call_id }: Report,
): DetachedCall | undefined => state.detached?.find((call) => call.batch_id === batch_id && call.call_id === call_id);

/** Null when a report ends the detached call; otherwise why it does not. */
export function admitDetached(
  call: DetachedCall,
  report: EventOfKind<'ToolCallSettled'> | EventOfKind<'LeaseExpired'>,
): Rejection | null {
  if (report.attempt !== call.attempt) {
    return reject('stale_attempt', '/attempt', `the call is at attempt ${call.attempt}, not ${report.attempt}`);
  }
  return report.kind === 'LeaseExpired' || report.plan_hash === call.plan_hash
    ? null
    : reject('plan_mismatch', '/plan_hash', `the hash of the recorded plan is ${call.plan_hash}`);
}

/** Removes a detached call that has ended or whose bridge is gone. */
export function forgetDetached(next: NextState, report: Report): void {
  const ended = detachedCall(next, report);
  const rest = (next.detached ?? []).filter((call) => call !== ended);
  if (rest.length === 0) delete next.detached;
  else next.detached = rest;
}
