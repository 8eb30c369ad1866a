// Undos that were requested and are not answered yet. The state holds only these. Which calls were undone before is in the
// stream; the engine's edge reads it before it records a request.
import type { EventOfKind } from '../schemas/event.ts';
import type { Position } from '../schemas/ids.ts';
import { UNDOS_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { ActiveToolBatch, SessionState } from '../schemas/state.ts';
import { callStateOf } from './batch-index.ts';
import type { NextState } from './next-state.ts';
import { phaseOf } from './run-phases.ts';

export function admitUndo(state: SessionState, event: EventOfKind<'UndoRequested'>): Rejection | null {
  const { batch_id, call_id, changes } = event;
  if (batch_id === undefined || changes === undefined) {
    return reject('nothing_to_undo', '/call_id', `the call "${call_id}" recorded no changes of files`);
  }
  const lost = changes.filter(({ before }) => before !== null && 'withheld' in before);
  if (lost.length > 0) {
    const named = lost.slice(0, 3).map(({ path }) => JSON.stringify(path.slice(0, 64).toWellFormed()));
    const count = `${lost.length} of ${changes.length} files`;
    return reject('undo_not_kept', '/call_id', `the content of ${count} was not kept: ${named.join(', ')}`);
  }
  const undos = state.undos ?? [];
  if (undos.some((undo) => undo.batch_id === batch_id && undo.call_id === call_id)) {
    return reject('undo_pending', '/call_id', `an undo of "${call_id}" waits for a bridge already`);
  }
  if (undos.length >= UNDOS_MAX) return reject('undo_queue_full', '', `${UNDOS_MAX} undos wait already`);
  const writing = findWriting(state);
  return writing === null ? null : reject('write_running', '/kind', `the call "${writing}" may be writing now`);
}

export function admitUndoSettled(state: SessionState, event: EventOfKind<'UndoSettled'>): Rejection | null {
  const { position, batch_id, call_id } = event;
  const undo = state.undos?.find((pending) => pending.position === position);
  if (undo?.batch_id === batch_id && undo.call_id === call_id) return null;
  return reject('undo_not_pending', '/position', `no undo of "${call_id}" requested at position ${position} waits`);
}

export function requestUndo(next: NextState, event: EventOfKind<'UndoRequested'>, state: SessionState): void {
  const { batch_id, call_id, changes, workspace } = event;
  if (batch_id === undefined || changes === undefined) return;
  const named = workspace === undefined ? {} : { workspace };
  const undo = { batch_id, call_id, changes, ...named, position: state.version as number as Position };
  next.undos = [...(next.undos ?? []), undo];
}

/** The slot is removed with its last undo, so that the state has the same bytes as one that never had an undo. */
export function settleUndo(next: NextState, { position }: EventOfKind<'UndoSettled'>): void {
  const left = (next.undos ?? []).filter((undo) => undo.position !== position);
  if (left.length === 0) delete next.undos;
  else next.undos = left;
}

/**
 * A call that may be writing, or may be started at any time; null when there is none. A detached call counts too: an
 * interrupt left it running, and the state does not keep what it does.
 */
function findWriting(state: SessionState): string | null {
  const { active_tool_batch: batch, detached = [] } = state;
  const [left] = detached;
  if (left !== undefined) return left.call_id;
  if (batch === null) return null;
  const starts = phaseOf(state) === 'executing';
  const writing = batch.plan.planned_calls.find(({ call_id, read_only }) => {
    if (read_only) return false;
    const status = statusOf(batch, call_id);
    return status === 'running' || (starts && status === 'queued');
  });
  return writing?.call_id ?? null;
}

const statusOf = (batch: ActiveToolBatch, call_id: Parameters<typeof callStateOf>[1]): string | undefined =>
  callStateOf(batch, call_id)?.status;
