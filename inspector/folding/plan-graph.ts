// The plan of a batch as a graph: groups are its columns, `after` its edges, each with the reason; and the chain of calls that
// took the longest.
import { callStateOf, plannedOf } from '../../reducers/batch-index.ts';
import type { CallId } from '../../schemas/ids.ts';
import type { ActiveToolBatch } from '../../schemas/state.ts';
import { type CallTimeline, type TurnTimeline, conflictBetween } from '../../src/core/index.ts';
import { describeConflict } from '../../src/shown/call-lines.ts';
import type { PlanEdge, PlanGraph, PlanNode } from '../protocol.ts';

export function planOf(batch: ActiveToolBatch, timeline: TurnTimeline | undefined): PlanGraph {
  const { plan } = batch;
  const planned = timeline?.calls.filter(({ group }) => group !== null) ?? [];
  const spans = new Map(planned.map((call) => [call.call.call_id, call.spans]));
  const calls = plan.planned_calls.flatMap((call): readonly PlanNode[] => {
    const { status = 'queued', code = null } = callStateOf(batch, call.call_id) ?? {};
    const group = plannedOf(plan, call.call_id)?.group ?? 0;
    return [{ ...call, group, status, code, spans: spans.get(call.call_id) ?? [] }];
  });
  return {
    batch_id: batch.batch_id,
    plan_hash: plan.plan_hash,
    groups: plan.execution_plan.groups,
    calls,
    edges: edgesOf(batch),
    rejected: plan.rejected,
    ...criticalPath(calls, plan.execution_plan.after),
  };
}

function edgesOf({ plan }: ActiveToolBatch): readonly PlanEdge[] {
  return Object.entries(plan.execution_plan.after).flatMap(([to, earlier]) =>
    earlier.map((from): PlanEdge => {
      const [a, b] = [plannedOf(plan, from)?.call, plannedOf(plan, to as CallId)?.call];
      const conflict = a === undefined || b === undefined ? null : conflictBetween(a, b);
      return { from, to: to as CallId, conflict, why: conflict === null ? '' : describeConflict(conflict) };
    }),
  );
}

type After = Readonly<Record<string, readonly CallId[]>>;

/**
 * The calls that the batch could not have been faster without: from the call that ended last, back to the one of those it
 * waited for that ended last, and so on.
 */
export function criticalPath(
  calls: readonly { readonly call_id: CallId; readonly spans: CallTimeline['spans'] }[],
  after: After,
): Pick<PlanGraph, 'critical' | 'critical_ms'> {
  const ends = new Map(calls.map(({ call_id, spans }) => [call_id, endOf(spans)]));
  const starts = new Map(calls.map(({ call_id, spans }) => [call_id, spans.find(isRun)?.from_ms]));
  const latest = (ids: readonly CallId[]): CallId | undefined =>
    ids
      .filter((id) => ends.get(id) !== undefined)
      .reduce<CallId | undefined>(
        (best, id) => (best === undefined || (ends.get(id) ?? 0) > (ends.get(best) ?? 0) ? id : best),
        undefined,
      );
  const path: CallId[] = [];
  for (let id = latest([...ends.keys()]); id !== undefined; id = latest(after[id] ?? [])) path.unshift(id);
  const [first] = path;
  const last = path.at(-1);
  if (first === undefined || last === undefined) return { critical: [], critical_ms: 0 };
  return { critical: path, critical_ms: (ends.get(last) ?? 0) - (starts.get(first) ?? 0) };
}

const isRun = ({ what }: CallTimeline['spans'][number]): boolean => what === 'run' || what === 'person';

/** When a call that ran was over; undefined while it runs, or when it never ran. */
function endOf(spans: CallTimeline['spans']): number | undefined {
  return spans.findLast((span) => isRun(span))?.to_ms ?? undefined;
}
