// What one event of a stream does to a batch: the calls it adds, and the batch after it.
import { cancelCalls, loseCall, settleCall } from '../../reducers/batch.ts';
import { detachCalls } from '../../reducers/detached.ts';
import type { NextState } from '../../reducers/next-state.ts';
import type { IngressKind } from '../../schemas/event.ts';
import type { RunId } from '../../schemas/ids.ts';
import type { ActiveToolBatch, SessionState } from '../../schemas/state.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import { upcast } from '../../schemas/upcast.ts';
import type { FoldedEvent } from './folded-event.ts';

/** The calls that an event adds, and where they were made. */
export interface MadeCalls {
  readonly calls: readonly ToolCallObserved[];
  readonly run_id: RunId;
  readonly turn: number;
}

/** The calls an event adds: those of a turn, or those that a person approved with changed arguments. */
export function callsMade({ event, before, after }: FoldedEvent): MadeCalls | null {
  if (event.kind === 'ToolCallsObserved') return event;
  const batch = after.active_tool_batch;
  if (batch === null || batch.batch_id === before.active_tool_batch?.batch_id) return null;
  return { calls: batch.observed, run_id: batch.run_id, turn: batch.turn };
}

/** Why a whole turn was refused: the ending of the run it ended. */
export function refusedTurn({ run_history }: SessionState): { readonly code: string; readonly message: string } {
  const ending = run_history.at(-1)?.ending;
  return { code: ending?.code ?? 'run_ended', message: ending?.message ?? 'the run has ended' };
}

/** The outcome of a run that an event ends. */
const ENDINGS: Partial<Record<IngressKind, 'interrupted' | 'cancelled'>> = {
  'user.interrupt': 'interrupted',
  RunCancelled: 'cancelled',
};

/** The batch after an event. An event that closes the batch removes it from state, so it is folded again here. */
export function batchAfter({ event: recorded, before, after }: FoldedEvent): ActiveToolBatch | null {
  const event = upcast(recorded);
  const open = before.active_tool_batch;
  if (open === null || after.active_tool_batch?.batch_id === open.batch_id) return after.active_tool_batch;
  const next: NextState = { ...before };
  if (event.kind === 'ToolCallSettled') settleCall(next, event);
  else if (event.kind === 'LeaseExpired') loseCall(next, event);
  else if (event.kind !== 'ToolBatchSettled') {
    if (event.kind === 'user.interrupt') detachCalls(next);
    cancelCalls(next, ENDINGS[event.kind] ?? 'failed');
  }
  return next.active_tool_batch;
}
