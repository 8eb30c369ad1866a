// What a call still waits for. A plan names the fewest calls it can: of a chain only the last. A call that ended
// without ever having waited (a person denied it, or it was settled inside the fold) says nothing of those before it,
// so that what waits for it goes on waiting for them.
import type { CallId } from '../schemas/ids.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import type { ActiveToolBatch, CallStatus } from '../schemas/state.ts';
import { callStateOf, plannedOf } from './batch-index.ts';
import { isTerminal } from './call-status.ts';

type StatusOf = (id: CallId) => CallStatus | undefined;

/** The calls that must settle before this one may start, each once; none when it may start. */
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

/** Whether a call that has ended says nothing of those before it. */
export const hasNotWaited = (plan: ToolBatchPlan, id: CallId, status: CallStatus): boolean =>
  status === 'denied' || plannedOf(plan, id)?.call.executor.kind === 'workflow';

/** The same, in a batch as state has it. */
export const openWaitsIn = (batch: ActiveToolBatch, id: CallId): readonly CallId[] =>
  openWaits(batch.plan, id, (other) => callStateOf(batch, other)?.status);
