// The next state while an event is folded. Its slots are replaced whole; a value in a slot is never mutated, because the
// state before may share it. Slots of which rare events change several fields are written with immer.
import { type Draft, produce } from 'immer';
import { invariant } from '../schemas/rejection.ts';
import type { RunState } from '../schemas/run.ts';
import type { ActiveToolBatch, SessionState } from '../schemas/state.ts';

export type NextState = { -readonly [Slot in keyof SessionState]: SessionState[Slot] };

/**
 * The same fields in canonical order, for an object that gained an optional field. Every object in a state is in that
 * order, so that nothing is sorted to be digested.
 */
export function inOrder<T extends object>(value: T): T {
  const fields = value as Readonly<Record<string, unknown>>;
  // One assignment by name after another would make V8 keep a state as a hash table, which takes 1.5 kB more.
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, fields[key]]),
  ) as T;
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
