// What one request may cost at the edge, whatever its events are. Every check takes from it.
import { type ClaimRoom, newClaimRoom } from '../../../reducers/claims.ts';
import { ARGUMENT_BYTES_REQUEST_MAX, SCHEMA_CHECK_MS_MAX, SCHEMA_STEPS_REQUEST_MAX } from '../../../schemas/limits.ts';

export interface RequestBudget {
  /** Steps of checks against schemas on the engine's own thread. */
  schemaSteps: number;
  /** Milliseconds of such checks on the other thread. */
  schemaMs: number;
  /** Bytes of arguments that are read from blobs. */
  argumentBytes: number;
  /** Recorded claims: those of arguments in blobs. */
  readonly claims: ClaimRoom;
}

export const newRequestBudget = (): RequestBudget => ({
  schemaSteps: SCHEMA_STEPS_REQUEST_MAX,
  schemaMs: SCHEMA_CHECK_MS_MAX,
  argumentBytes: ARGUMENT_BYTES_REQUEST_MAX,
  claims: newClaimRoom(),
});
