// Look-ups in an open batch by call id. They are derived from the frozen plan and the frozen observed calls, computed once
// for each and collected with it; the state holds lists only.
import type { CallId } from '../schemas/ids.ts';
import { CALL_PAGE_SIZE, PREVIEW_MS } from '../schemas/limits.ts';
import type { PlannedToolCall, ToolBatchPlan } from '../schemas/plan.ts';
import type { ActiveToolBatch, CallState } from '../schemas/state.ts';

export interface PlannedAt {
  readonly call: PlannedToolCall;
  readonly group: number;
}

/** A call with a time that begins when everything the call waits for has settled. */
export interface TimedCall {
  readonly call_id: CallId;
  /** Among the planned calls. */
  readonly place: number;
  /** The time to fulfil a custom call, or to say what a call would do that waits for a person. */
  readonly timeFor: 'answer' | 'preview';
  readonly withinMs: number;
}

const positions = new WeakMap<ActiveToolBatch['observed'], ReadonlyMap<CallId, number>>();
const sharers = new WeakMap<ToolBatchPlan, ReadonlyMap<CallId, readonly CallId[]>>();
const timed = new WeakMap<ToolBatchPlan, ReadonlyMap<CallId, TimedCall>>();
const dependents = new WeakMap<ToolBatchPlan, ReadonlyMap<CallId, readonly CallId[]>>();
const plans = new WeakMap<ToolBatchPlan, ReadonlyMap<CallId, PlannedAt>>();

/** The index of a call among the observed calls; of two calls with the same id, the first. */
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

/** The calls that share the result of this one. */
export function sharersOf(plan: ToolBatchPlan, id: CallId): readonly CallId[] {
  let known = sharers.get(plan);
  if (known === undefined) {
    const lists = new Map<CallId, CallId[]>();
    for (const { call_id, shares } of plan.planned_calls) {
      if (shares !== undefined) listOf(lists, shares).push(call_id);
    }
    known = lists;
    sharers.set(plan, known);
  }
  return known.get(id) ?? [];
}

/** The calls that wait directly for this one. */
export function dependentsOf(plan: ToolBatchPlan, id: CallId): readonly CallId[] {
  let known = dependents.get(plan);
  if (known === undefined) {
    const lists = new Map<CallId, CallId[]>();
    for (const { call_id } of plan.planned_calls) {
      for (const earlier of plan.execution_plan.after[call_id] ?? []) listOf(lists, earlier).push(call_id);
    }
    known = lists;
    dependents.set(plan, known);
  }
  return known.get(id) ?? [];
}

function listOf(lists: Map<CallId, CallId[]>, id: CallId): CallId[] {
  let list = lists.get(id);
  if (list === undefined) lists.set(id, (list = []));
  return list;
}

/** The calls that have a time once nothing is open that they wait for, by id, in the order of the plan. */
export function timedCallsOf(plan: ToolBatchPlan): ReadonlyMap<CallId, TimedCall> {
  let known = timed.get(plan);
  if (known === undefined) {
    known = new Map(
      plan.planned_calls.flatMap(({ call_id, answer_within_ms: within, preview }, place): [CallId, TimedCall][] => {
        if (within !== undefined) return [[call_id, { call_id, place, timeFor: 'answer', withinMs: within }]];
        return preview === true ? [[call_id, { call_id, place, timeFor: 'preview', withinMs: PREVIEW_MS }]] : [];
      }),
    );
    timed.set(plan, known);
  }
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

/** The positions of the changed calls. Unchanged pages are shared by both states and are skipped. */
export function* changedBetween(was: ActiveToolBatch, now: ActiveToolBatch): Generator<number> {
  for (const [page, calls] of now.pages.entries()) {
    if (calls === was.pages[page]) continue;
    for (const slot of calls.keys()) {
      if (calls[slot] !== was.pages[page]?.[slot]) yield page * CALL_PAGE_SIZE + slot;
    }
  }
}
