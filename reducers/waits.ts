// The calls that a call still waits for. A plan names the minimal set: of a chain of calls only the last. A call that may
// have ended without having waited (it was denied, cancelled or lost, or the fold settled it) does not prove that the calls
// before it have ended, so calls that wait for it also wait for those.
import type { CallId } from '../schemas/ids.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import type { ActiveToolBatch, CallStatus } from '../schemas/state.ts';
import { callStateOf, plannedOf } from './batch-index.ts';
import { isTerminal } from './call-status.ts';

type StatusOf = (id: CallId) => CallStatus | undefined;

/** The calls that must settle before this call may start, without repeats; empty when it may start. */
export function openWaits(plan: ToolBatchPlan, id: CallId, statusOf: StatusOf): readonly CallId[] {
  const open = new Set<CallId>();
  const seen = new Set<CallId>();
  const waiting = [id];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const earlier of plan.execution_plan.after[next] ?? []) {
      if (seen.has(earlier)) continue;
      seen.add(earlier);
      const status = statusOf(earlier) ?? 'queued';
      if (!isTerminal(status)) open.add(earlier);
      else if (hasNotWaited(plan, earlier, status)) waiting.push(earlier);
    }
  }
  return [...open];
}

/** Whether a call may have ended without waiting for the calls before it. */
export const hasNotWaited = (plan: ToolBatchPlan, id: CallId, status: CallStatus): boolean =>
  (status !== 'succeeded' && status !== 'failed') || plannedOf(plan, id)?.call.executor.kind === 'workflow';

/** {@link openWaits} for a call of an open batch. */
export const openWaitsIn = (batch: ActiveToolBatch, id: CallId): readonly CallId[] =>
  openWaits(batch.plan, id, (other) => callStateOf(batch, other)?.status);
