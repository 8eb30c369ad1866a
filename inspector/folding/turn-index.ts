// Where the turns of a session are: the positions of each, and of the batches of its calls. A turn begins with the event after
// which its generate is owed, which may be the last event of the turn before it.
import type { BatchId, RunId } from '../../schemas/ids.ts';
import { callsMade } from '../../src/core/batch-steps.ts';
import type { FoldedEvent } from '../../src/core/index.ts';

export interface TurnEntry {
  readonly index: number;
  readonly run_id: RunId;
  readonly turn: number;
  /** The event after which its generate was owed. */
  readonly began: number;
  /** The first event that is in no earlier turn. */
  readonly first: number;
  /** The last event; null while it is open. */
  last: number | null;
  /** Where its calls were made; a batch without an id was refused as a whole. */
  readonly batches: BatchEntry[];
}

export interface BatchEntry {
  readonly batch_id: BatchId | null;
  readonly observed: number;
}

export interface TurnIndex {
  readonly length: number;
  add(folded: FoldedEvent): void;
  at(index: number): TurnEntry | undefined;
  /** The turn that contains a position, or the last one before it. */
  before(position: number): TurnEntry | undefined;
  named(run_id: RunId, turn: number): TurnEntry | undefined;
  /** The turn of a batch. */
  ofBatch(batch_id: BatchId): { readonly entry: TurnEntry; readonly batch: BatchEntry } | undefined;
}

export function newTurnIndex(): TurnIndex {
  const entries: TurnEntry[] = [];
  const byName = new Map<string, number>();
  const byBatch = new Map<BatchId, { readonly entry: TurnEntry; readonly batch: BatchEntry }>();
  let open: TurnEntry | null = null;

  function noteBatch(folded: FoldedEvent, entry: TurnEntry): void {
    if (callsMade(folded) === null) return;
    const batch_id = folded.after.active_tool_batch?.batch_id ?? null;
    const batch = { batch_id, observed: folded.position };
    entry.batches.push(batch);
    if (batch_id !== null) byBatch.set(batch_id, { entry, batch });
  }

  return {
    get length() {
      return entries.length;
    },
    add(folded) {
      const { position, after } = folded;
      const { run } = after;
      let first: number = position;
      if (open !== null) {
        noteBatch(folded, open);
        if (run?.run_id !== open.run_id || run.turn !== open.turn) {
          open.last = position;
          open = null;
          first = position + 1;
        }
      }
      if (open !== null || run === null || run.turn === 0) return;
      const { run_id, turn } = run;
      open = { index: entries.length, run_id, turn, began: position, first, last: null, batches: [] };
      byName.set(`${run_id} ${turn}`, open.index);
      entries.push(open);
    },
    at: (index) => entries[index],
    before(position) {
      let [low, high] = [0, entries.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((entries[middle]?.first ?? 0) <= position) low = middle + 1;
        else high = middle;
      }
      return entries[low - 1];
    },
    named: (run_id, turn) => entries[byName.get(`${run_id} ${turn}`) ?? -1],
    ofBatch: (batch_id) => byBatch.get(batch_id),
  };
}
