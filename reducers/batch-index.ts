// Look-ups in an open batch by call id. They are derived from the frozen plan and the frozen observed calls, so they
// are computed once for each and forgotten with them; state itself holds lists only.
import type { CallId } from '../schemas/ids.ts';
import { CALL_PAGE_SIZE } from '../schemas/limits.ts';
import type { PlannedToolCall, ToolBatchPlan } from '../schemas/plan.ts';
import type { ActiveToolBatch, CallState } from '../schemas/state.ts';

export interface PlannedAt {
  readonly call: PlannedToolCall;
  readonly group: number;
}

const positions = new WeakMap<ActiveToolBatch['observed'], ReadonlyMap<CallId, number>>();
const sharers = new WeakMap<ToolBatchPlan, ReadonlyMap<CallId, readonly CallId[]>>();
const customs = new WeakMap<ToolBatchPlan, readonly PlannedToolCall[]>();
const plans = new WeakMap<ToolBatchPlan, ReadonlyMap<CallId, PlannedAt>>();

/** The index of a call among the observed ones (of two calls with one id, the first). */
export function positionOf(batch: ActiveToolBatch, id: CallId): number | undefined {
  let known = positions.get(batch.observed);
  if (known === undefined) {
    known = new Map(batch.observed.map((call, index) => [call.call_id, index] as const).reverse());
    positions.set(batch.observed, known);
  }
  return known.get(id);
}

/** A planned call and its group; undefined when the call was rejected or is not in the batch. */
export function plannedOf(plan: ToolBatchPlan, id: CallId): PlannedAt | undefined {
  let known = plans.get(plan);
  if (known === undefined) {
    const groups = new Map(
      plan.execution_plan.groups.flatMap((ids, group) => ids.map((call) => [call, group] as const)),
    );
    known = new Map(plan.planned_calls.map((call) => [call.call_id, { call, group: groups.get(call.call_id) ?? 0 }]));
    plans.set(plan, known);
  }
  return known.get(id);
}

/** The calls that are answered with the result of this one. */
export function sharersOf(plan: ToolBatchPlan, id: CallId): readonly CallId[] {
  let known = sharers.get(plan);
  if (known === undefined) {
    const lists = new Map<CallId, CallId[]>();
    for (const { call_id, shares } of plan.planned_calls) {
      if (shares !== undefined) lists.set(shares, [...(lists.get(shares) ?? []), call_id]);
    }
    known = lists;
    sharers.set(plan, known);
  }
  return known.get(id) ?? [];
}

/** The calls that a person must fulfil in time. */
export function timedCustomsOf(plan: ToolBatchPlan): readonly PlannedToolCall[] {
  const known = customs.get(plan) ?? plan.planned_calls.filter((call) => call.answer_within_ms !== undefined);
  customs.set(plan, known);
  return known;
}

export const pageOf = (position: number): number => Math.floor(position / CALL_PAGE_SIZE);
export const slotOf = (position: number): number => position % CALL_PAGE_SIZE;

/** The state of the call at a position. */
export const callStateAt = (batch: ActiveToolBatch, position: number): CallState | undefined =>
  batch.pages[pageOf(position)]?.[slotOf(position)];

/** The state of a call by its id. */
export function callStateOf(batch: ActiveToolBatch, id: CallId): CallState | undefined {
  const position = positionOf(batch, id);
  return position === undefined ? undefined : callStateAt(batch, position);
}
