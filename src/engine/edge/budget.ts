// What one request may cost at the edge, whatever its events are. Every check takes from it.
import { type ClaimRoom, newClaimRoom } from '../../../reducers/claims.ts';
import {
  ARGUMENT_BYTES_REQUEST_MAX,
  SCHEMA_CHECK_MS_MAX,
  SCHEMA_STEPS_REQUEST_MAX,
  UNDO_SEARCH_CHARS_MAX,
} from '../../../schemas/limits.ts';
import type { ThreadAnswer } from './schema-thread.ts';

/** How a request waits for checks on the other thread. */
export interface CheckWaits {
  /** The checks that the request began, by schema and value. A request that is stepped again does not begin them again. */
  readonly begun: Map<string, Promise<ThreadAnswer>>;
  /** Awaits work; it rejects when the request is to be stepped again later. */
  readonly wait: <T>(work: Promise<T>) => Promise<T>;
}

export interface RequestBudget extends CheckWaits {
  /** Steps of checks against schemas on the engine's own thread. */
  schemaSteps: number;
  /** Milliseconds of such checks on the other thread. */
  schemaMs: number;
  /** Bytes of arguments and of data that are read from blobs. */
  argumentBytes: number;
  /** Characters of events that are searched for the calls to undo. */
  undoChars: number;
  /** Recorded claims: those of arguments in blobs. */
  readonly claims: ClaimRoom;
}

export const newRequestBudget = (waits: CheckWaits = { begun: new Map(), wait: (work) => work }): RequestBudget => ({
  begun: waits.begun,
  wait: waits.wait,
  schemaSteps: SCHEMA_STEPS_REQUEST_MAX,
  schemaMs: SCHEMA_CHECK_MS_MAX,
  argumentBytes: ARGUMENT_BYTES_REQUEST_MAX,
  undoChars: UNDO_SEARCH_CHARS_MAX,
  claims: newClaimRoom(),
});
