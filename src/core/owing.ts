// Whether a session has work for a bridge, and whether a person must answer: the head of a session states both with every
// append, so a batch of ten thousand calls must not be examined anew for each of them. For a batch in which calls wait for
// people or times, the position of one call that answers the question is kept beside its plan. When that call has changed,
// only calls that have changed since, or that wait for those, and calls that were never examined, can take its place.
import { callStateAt, dependentsOf, plannedOf, positionOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import { hasNotWaited, openWaitsIn } from '../../reducers/waits.ts';
import type { CallId } from '../../schemas/ids.ts';
import { CALL_PAGE_SIZE } from '../../schemas/limits.ts';
import type { ToolBatchPlan } from '../../schemas/plan.ts';
import { type RunPhase, isExternal } from '../../schemas/run.ts';
import type { ActiveToolBatch, SessionState } from '../../schemas/state.ts';

/**
 * True when an effect is owed that a bridge does, or when a bridge holds a call that runs: the session must be in memory, so
 * that effects are leased and a lost bridge is noticed. Questions to people and times do not count.
 */
export function owesBridge({ run, undos, detached, active_tool_batch: batch }: SessionState): boolean {
  if (undos !== undefined || detached !== undefined) return true;
  if (run === null) return false;
  if (run.phase === 'opening') return true;
  if (run.phase === 'generating') return !isExternal(run) && (run.retry?.not_before_ms ?? null) === null;
  return batch !== null && (batch.running > 0 || batchOwes(run.phase, batch));
}

/** Whether a batch without running calls owes a bridge anything. */
function batchOwes(phase: RunPhase, batch: ActiveToolBatch): boolean {
  if (phase !== 'executing' && phase !== 'paused_executing') return false;
  // A batch whose calls have all settled is to be closed, also in a pause. So are questions asked, and shown with a preview.
  if (batch.queued + (batch.waiting ?? 0) === 0 || batch.previews !== undefined) return true;
  return phase === 'executing' && batch.queued > 0 && (isPlain(batch) || seek(batch, OWED));
}

/** True when an effect is owed that only a person can settle. */
export function needsPerson({ run, active_tool_batch: batch }: SessionState): boolean {
  if (batch === null || (run?.phase !== 'executing' && run?.phase !== 'paused_executing')) return false;
  if (batch.questions !== undefined) return true;
  return (batch.waiting ?? 0) > 0 || (batch.queued > 0 && hasCustom(batch.plan) && seek(batch, ASKED));
}

/** Whether every queued call of a batch is owed: no call in it waits for a person or a time. */
const isPlain = (batch: ActiveToolBatch): boolean =>
  (batch.waiting ?? 0) === 0 && batch.timed === undefined && !hasCustom(batch.plan);

const customs = new WeakMap<ToolBatchPlan, boolean>();

function hasCustom(plan: ToolBatchPlan): boolean {
  const known = customs.get(plan);
  if (known !== undefined) return known;
  const found = plan.planned_calls.some(({ executor }) => executor.kind === 'custom');
  customs.set(plan, found);
  return found;
}

/** A question about the calls of a batch, and what is known of its answer for each plan. */
interface Question {
  /** Whether the call at a position answers the question with yes. */
  readonly holds: (batch: ActiveToolBatch, position: number, blocked: Map<CallId, boolean>) => boolean;
  readonly known: WeakMap<ToolBatchPlan, Sought>;
}

interface Sought {
  /** The pages that the rest describes. */
  pages: ActiveToolBatch['pages'];
  /** No call before this position holds, except perhaps the candidates. */
  cursor: number;
  candidates: Set<number>;
}

/** A queued call for a bridge that waits for no time, and for no call that waits for a person. */
const OWED: Question = {
  known: new WeakMap(),
  holds(batch, position, blocked) {
    const call = callStateAt(batch, position);
    const id = plannedAt(batch, position);
    if (id === null || call?.status !== 'queued' || call.not_before_ms !== undefined || isCustom(batch, id))
      return false;
    return !isBlocked(batch, id, blocked);
  },
};

/** A custom call that waits for nothing but the person who fulfils it. */
const ASKED: Question = {
  known: new WeakMap(),
  holds(batch, position) {
    const id = plannedAt(batch, position);
    if (id === null || callStateAt(batch, position)?.status !== 'queued' || !isCustom(batch, id)) return false;
    return openWaitsIn(batch, id).length === 0;
  },
};

/** The planned call at a position, unless another call answers for it. */
function plannedAt(batch: ActiveToolBatch, position: number): CallId | null {
  const id = batch.observed[position]?.call_id;
  if (id === undefined || positionOf(batch, id) !== position) return null;
  const planned = plannedOf(batch.plan, id)?.call;
  return planned === undefined || planned.shares !== undefined ? null : id;
}

const isCustom = (batch: ActiveToolBatch, id: CallId): boolean =>
  plannedOf(batch.plan, id)?.call.executor.kind === 'custom';

function seek(batch: ActiveToolBatch, { holds, known }: Question): boolean {
  const sought = known.get(batch.plan) ?? { pages: [], cursor: 0, candidates: new Set<number>() };
  known.set(batch.plan, sought);
  noteChanges(batch, sought);
  const blocked = new Map<CallId, boolean>();
  for (const position of sought.candidates) {
    if (holds(batch, position, blocked)) return true;
    sought.candidates.delete(position);
  }
  for (; sought.cursor < batch.observed.length; sought.cursor += 1) {
    if (holds(batch, sought.cursor, blocked)) return true;
  }
  return false;
}

/** Adds the calls before the cursor that may hold now: those that changed, and those that wait for them. */
function noteChanges(batch: ActiveToolBatch, sought: Sought): void {
  const { pages, cursor } = sought;
  sought.pages = batch.pages;
  if (cursor === 0) return;
  for (const [index, page] of batch.pages.entries()) {
    const before = pages[index];
    if (page === before) continue;
    for (const [slot, call] of page.entries()) {
      if (call !== before?.[slot]) addChanged(batch, index * CALL_PAGE_SIZE + slot, sought);
    }
  }
}

function addChanged(batch: ActiveToolBatch, changed: number, { cursor, candidates }: Sought): void {
  const waiting = [changed];
  for (let position = waiting.pop(); position !== undefined; position = waiting.pop()) {
    // A call waits only for earlier ones, so none from the cursor on leads back to one before it.
    if (position >= cursor) continue;
    candidates.add(position);
    const id = batch.observed[position]?.call_id;
    const status = callStateAt(batch, position)?.status;
    if (id === undefined || status === undefined) continue;
    // A call that ended without having waited stands between the calls after it and those before it.
    if (position !== changed && !(isTerminal(status) && hasNotWaited(batch.plan, id, status))) continue;
    for (const later of dependentsOf(batch.plan, id)) waiting.push(positionOf(batch, later) as number);
  }
}

/** Whether a call waits, directly or through other calls, for one that waits for a person. */
function isBlocked(batch: ActiveToolBatch, id: CallId, known: Map<CallId, boolean>): boolean {
  // Not recursive: ten thousand calls may wait for each other in a row.
  const path: { readonly id: CallId; readonly open: readonly CallId[] }[] = [{ id, open: openWaitsIn(batch, id) }];
  for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
    const next = last.open.find((other) => !known.has(other) && !isForPerson(batch, other));
    if (next !== undefined) {
      path.push({ id: next, open: isShared(batch, next) ? [] : openWaitsIn(batch, next) });
      continue;
    }
    known.set(
      last.id,
      last.open.some((other) => isForPerson(batch, other) || known.get(other) === true),
    );
    path.pop();
  }
  return known.get(id) === true;
}

const isShared = (batch: ActiveToolBatch, id: CallId): boolean => plannedOf(batch.plan, id)?.call.shares !== undefined;

/** Whether the call itself waits for a person; one that shares the result of another does not. */
function isForPerson(batch: ActiveToolBatch, id: CallId): boolean {
  if (isShared(batch, id)) return false;
  const status = callStateAt(batch, positionOf(batch, id) as number)?.status;
  return status === 'waiting' || (status === 'queued' && isCustom(batch, id));
}
