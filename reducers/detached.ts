// Calls that an interrupt leaves running by themselves (`interrupt_behavior: continue`): the run does not wait for them
// and the model is told so. What they report later is recorded, and changes nothing else.
import type { EventOfKind } from '../schemas/event.ts';
import { DETACHED_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { DetachedCall, SessionState } from '../schemas/state.ts';
import { editBatch } from './batch-edit.ts';
import { plannedOf } from './batch-index.ts';
import { type NextState, openBatchOf } from './next-state.ts';

const LEFT_RUNNING =
  'error: left_running: A person changed direction while this call ran. It goes on by itself, and its result will not ' +
  'be told. Look at the state of things when it matters.';

/** Lets go of the running calls that may go on by themselves, as far as there is room to remember them. */
export function detachCalls(next: NextState): void {
  if (next.consent === undefined) return;
  const batch = openBatchOf(next);
  const edit = editBatch(next);
  const detached: DetachedCall[] = [...(next.detached ?? [])];
  for (const [position, { call_id }] of batch.observed.entries()) {
    const call = edit.at(position);
    const planned = plannedOf(batch.plan, call_id)?.call;
    if (call.status !== 'running' || planned?.interrupt_behavior !== 'continue') continue;
    if (detached.length >= DETACHED_MAX) break;
    const { attempt, owner } = call;
    detached.push({ batch_id: batch.batch_id, call_id, plan_hash: batch.plan.plan_hash, attempt, owner });
    const output = { text: LEFT_RUNNING };
    edit.settle(call_id, { status: 'unknown', output, code: 'left_running', terminal: false });
  }
  edit.finish();
  if (detached.length > 0) next.detached = detached;
}

type Report = Pick<EventOfKind<'ToolCallSettled'>, 'batch_id' | 'call_id'>;

/** The detached call a report speaks of. */
export const detachedCall = (
  state: Pick<SessionState, 'detached'>,
  { batch_id, call_id }: Report,
): DetachedCall | undefined => state.detached?.find((call) => call.batch_id === batch_id && call.call_id === call_id);

/** Whether a report on a detached call is the one that ends it. */
export function admitDetached(
  call: DetachedCall,
  report: EventOfKind<'ToolCallSettled'> | EventOfKind<'LeaseExpired'>,
): Rejection | null {
  if (report.attempt !== call.attempt) {
    return reject('stale_attempt', '/attempt', `the call is at attempt ${call.attempt}`);
  }
  return report.kind === 'LeaseExpired' || report.plan_hash === call.plan_hash
    ? null
    : reject('plan_mismatch', '/plan_hash', `the recorded plan is ${call.plan_hash}`);
}

/** It has ended, or nobody will ever hear of it. */
export function forgetDetached(next: NextState, report: Report): void {
  const ended = detachedCall(next, report);
  const rest = (next.detached ?? []).filter((call) => call !== ended);
  if (rest.length === 0) delete next.detached;
  else next.detached = rest;
}
