// The plan was kept: it covers every call, orders the calls that conflict, never changes, and is what ran
// (docs/design.md, laws 10 and 11).
import { digestJson } from '../../../schemas/canonical.ts';
import type { CallId } from '../../../schemas/ids.ts';
import type { ToolBatchPlan } from '../../../schemas/plan.ts';
import type { ActiveToolBatch } from '../../../schemas/state.ts';
import { type LawBreach, type LawCase, breachOf } from './breach.ts';
import { unorderedIn } from './conflicts.ts';
import { type BatchReading, type CallReading, isSameCall } from './reading.ts';
import { isWork } from './results.ts';

export function checkPlanKept(judged: LawCase): readonly LawBreach[] {
  return [...checkPlan(judged), ...checkHash(judged), ...checkNamed(judged), ...checkWaits(judged)];
}

const broken = (judged: LawCase, against: number, message: string): readonly LawBreach[] => [
  breachOf('plan_kept', judged, { against, message }),
];

/** The plan of a batch that this event opens, or the plan that it changes. */
function checkPlan(judged: LawCase): readonly LawBreach[] {
  const { folded, reading } = judged;
  const { event, position, after } = folded;
  const batch = after.active_tool_batch;
  if (batch === null) return [];
  if (batch.batch_id === reading.open?.batch_id) {
    const { plan, openedAt } = reading.open;
    if (batch.plan === plan || digestOf(batch.plan) === digestOf(plan)) return [];
    return broken(judged, openedAt, `after ${event.kind}, the plan of ${batch.batch_id} is another one`);
  }
  if (event.kind !== 'ToolCallsObserved' && event.kind !== 'ToolBatchSettled') {
    const against = reading.closed?.position ?? -1;
    return broken(judged, against, `${batch.batch_id} is opened by ${event.kind}, which makes no calls`);
  }
  return faultsOf(batch).flatMap((fault) => broken(judged, position, `the plan of ${batch.batch_id}: ${fault}`));
}

const digestOf = ({ execution_plan, planned_calls, rejected }: ToolBatchPlan): string =>
  digestJson({ execution_plan, planned_calls, rejected });

function faultsOf({ observed, plan }: ActiveToolBatch): readonly string[] {
  const faults: string[] = [];
  if (digestOf(plan) !== plan.plan_hash) faults.push(`its digest is not its plan_hash ${plan.plan_hash}`);
  const rejected = new Set(plan.rejected.map(({ index }) => index));
  const planned = plan.planned_calls.map(({ call_id }) => call_id);
  const made = observed.filter((_, index) => !rejected.has(index)).map(({ call_id }) => call_id);
  const strayed = made.findIndex((id, index) => id !== planned[index]);
  if (strayed !== -1) faults.push(`the call "${made[strayed]}" is neither planned in its place nor rejected`);
  else if (planned.length > made.length) faults.push(`it has the call "${planned[made.length]}", which was not made`);
  return [...faults, ...unorderedIn(plan)];
}

/** A report names the plan that was recorded. */
function checkHash(judged: LawCase): readonly LawBreach[] {
  const { folded, reading, batch, detached } = judged;
  const { event } = folded;
  if (!('plan_hash' in event)) return [];
  const left = detached && 'call_id' in event ? reading.detached.find((call) => isSameCall(call, event)) : undefined;
  const due = left?.plan_hash ?? batch?.plan.plan_hash;
  if (due === undefined || event.plan_hash === due) return [];
  const against = left?.leftAt ?? batch?.openedAt ?? -1;
  return broken(judged, against, `${event.kind} names the plan ${event.plan_hash}; the recorded plan is ${due}`);
}

/** A report is about a planned call of the open batch. A start in a batch that is not open has no plan at all. */
function checkNamed(judged: LawCase): readonly LawBreach[] {
  const { folded, reading, batch, call, detached } = judged;
  const { event } = folded;
  if (!isReport(event) || detached) return [];
  if (batch === null) {
    if (event.kind !== 'ToolCallStarted') return [];
    const against = reading.open?.openedAt ?? reading.closed?.position ?? -1;
    return broken(judged, against, `the call "${event.call_id}" begins, but ${event.batch_id} is not open`);
  }
  if (call === null) {
    return broken(
      judged,
      batch.openedAt,
      `${event.kind} names "${event.call_id}", which ${batch.batch_id} does not have`,
    );
  }
  if (call.planned !== null || (call.rejected !== null && DENIALS.has(call.rejected.code))) return [];
  const why = call.rejected === null ? 'is not in the plan' : `was rejected (${call.rejected.code})`;
  return broken(judged, batch.openedAt, `${event.kind} names "${call.call_id}", which ${why}`);
}

const isReport = (event: LawCase['folded']['event']): event is Extract<typeof event, { readonly call_id: CallId }> =>
  event.kind === 'ToolCallStarted' ||
  event.kind === 'ToolCallSettled' ||
  event.kind === 'LeaseExpired' ||
  event.kind === 'user.custom_tool_result';

/** Rejections that are denials: `deny_won` reports their breaches. */
export const DENIALS: ReadonlySet<string> = new Set([
  'permission_denied',
  'tool_disabled',
  'tool_unavailable',
  'tool_unknown',
  'tool_not_offered',
]);

/** A call begins, or returns something, only when every call it waits for has its result. */
function checkWaits(judged: LawCase): readonly LawBreach[] {
  const { folded, batch, call } = judged;
  if (batch === null || call === null || call.planned === null || call.result !== null) return [];
  // An outcome whose start is on record broke the law there, if it did.
  if (!isWork(folded.event) || (folded.event.kind !== 'ToolCallStarted' && call.running)) return [];
  const open = openBefore(batch, call);
  if (open === null) return [];
  const does = folded.event.kind === 'ToolCallStarted' ? 'begins' : 'has an outcome';
  const message = `the call "${call.call_id}" ${does}, but "${open.call_id}", which it waits for, has no result`;
  return broken(judged, batch.openedAt, message);
}

/** A call without a result that this one waits for: through calls that never ran, because they prove no order. */
function openBefore(batch: BatchReading, call: CallReading): CallReading | null {
  const seen = new Set<CallId>();
  const due: CallId[] = [call.call_id];
  for (let id = due.pop(); id !== undefined; id = due.pop()) {
    for (const earlier of batch.plan.execution_plan.after[id] ?? []) {
      if (seen.has(earlier)) continue;
      seen.add(earlier);
      const found = batch.byId.get(earlier);
      if (found === undefined) continue;
      if (found.result === null) return found;
      if (neverRan(found)) due.push(earlier);
    }
  }
  return null;
}

const neverRan = ({ result, startedAt, planned }: CallReading): boolean =>
  planned?.executor.kind === 'workflow' ||
  (startedAt === null && result?.status !== 'succeeded' && result?.status !== 'failed');
