// How things are addressed, windows of lists, and refusals.
import type { BatchId, CallId, RunId } from '../../schemas/ids.ts';
import type { RejectionCode } from '../../schemas/rejection.ts';

export type Nothing = Readonly<Record<string, never>>;

export interface OfSource {
  /** The number of an opened source. */
  readonly source: number;
}

export interface Window {
  /** The first item wanted, from 0. */
  readonly from: number;
  /** At most so many; the worker gives no more than `WINDOW_MAX`. */
  readonly limit: number;
}

export interface TurnAddress {
  readonly run_id: RunId;
  readonly turn: number;
}

export interface CallAddress {
  /** Null when its turn was refused as a whole. */
  readonly batch_id: BatchId | null;
  readonly call_id: CallId;
  /** The position of the event that made it; needed where `batch_id` is null. */
  readonly observed: number;
  /** Its place among the calls of its batch; null for the first one with this id (an id may occur twice in a batch). */
  readonly index: number | null;
}

/** Why an ask has no answer. `unreadable`: the source cannot be read; `not_folded`: the stream does not fold so far. */
export interface Refusal {
  readonly code: RejectionCode | 'no_source' | 'no_engine' | 'unreadable' | 'not_folded' | 'unknown_turn' | 'cannot';
  /** What is wrong, for people. */
  readonly message: string;
  /** What to do next; empty when there is nothing to say. */
  readonly advice: string;
}
