// Which calls people asked to undo, and how that ended.
import type { BatchId, CallId } from '../../schemas/ids.ts';
import type { FoldedEvent } from '../../src/core/index.ts';

export interface UndoFound {
  readonly requested: number;
  settled: { readonly position: number; readonly success: boolean; readonly message: string | null } | null;
}

export interface UndoIndex {
  add(folded: FoldedEvent): void;
  /** The last undo of a call. */
  of(batch_id: BatchId | null, call_id: CallId): UndoFound | undefined;
}

export function newUndoIndex(): UndoIndex {
  const found = new Map<string, UndoFound>();
  const nameOf = (batch_id: BatchId | null | undefined, call_id: CallId): string => `${batch_id ?? ''} ${call_id}`;
  return {
    add({ position, event }) {
      if (event.kind === 'UndoRequested') {
        found.set(nameOf(event.batch_id, event.call_id), { requested: position, settled: null });
      }
      if (event.kind !== 'UndoSettled') return;
      const undo = found.get(nameOf(event.batch_id, event.call_id));
      const { success, message = null } = event;
      if (undo?.requested === event.position) undo.settled = { position, success, message };
    },
    of: (batch_id, call_id) => found.get(nameOf(batch_id, call_id)),
  };
}
