// The state that an event leads to, while it is folded. Its slots are replaced as wholes, and what is in them is never
// written to: it may be shared with the state before. A slot that changes in many places is written with immer.
import { type Draft, produce } from 'immer';
import { invariant } from '../schemas/rejection.ts';
import type { RunState } from '../schemas/run.ts';
import type { ActiveToolBatch, SessionState } from '../schemas/state.ts';

export type NextState = { -readonly [Slot in keyof SessionState]: SessionState[Slot] };

/**
 * The same fields in canonical order, for what gets one that it mostly lacks: everything in a state is in that order, so
 * that nothing of it is sorted to be digested.
 */
export function inOrder<T extends object>(value: T): T {
  const ordered: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) ordered[key] = (value as Readonly<Record<string, unknown>>)[key];
  return ordered as T;
}

export function liveRun({ run }: Pick<SessionState, 'run'>): RunState {
  invariant(run !== null, 'no run is active');
  return run;
}

/** Writes the live run with immer: for events that are rare and change or remove several of its fields. */
export function editRun(next: NextState, edit: (run: Draft<RunState>) => void): void {
  const run = liveRun(next);
  next.run = inOrder(produce(run, edit));
}

export function openBatchOf({ active_tool_batch: batch }: Pick<SessionState, 'active_tool_batch'>): ActiveToolBatch {
  invariant(batch !== null, 'no batch is open');
  return batch;
}
