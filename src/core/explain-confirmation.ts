// The confirmations of one call by people, as `explain` reports them: who answered, when, and what they granted.
import type { CallId, Digest } from '../../schemas/ids.ts';
import type { StreamEvent } from '../../schemas/record.ts';

/** Where in the stream something happened to a call. */
export interface Moment {
  readonly position: number;
  readonly at_ms: number;
}

export interface Confirmation extends Moment {
  readonly result: 'allow' | 'deny';
  /** The name of the person, as the client knew it. */
  readonly by: string | null;
  readonly message: string | null;
  /** The digest of the exact arguments that were confirmed. */
  readonly arguments_digest: Digest;
  /** The answer carried a grant. */
  readonly granted: boolean;
  /** The call to make instead. */
  readonly instead: CallId | null;
}

export const momentOf = ({ position, event }: StreamEvent): Moment => ({ position, at_ms: event.at_ms });

/** The confirmation of a call in an event; at most one. */
export function confirmationsIn(recorded: StreamEvent, id: CallId): readonly Confirmation[] {
  const { event } = recorded;
  if (event.kind !== 'user.tool_confirmation' || event.call_id !== id) return [];
  const { result, by = null, message = null, arguments_digest, grant, instead } = event;
  const given = { result, by, message, arguments_digest };
  return [{ ...momentOf(recorded), ...given, granted: grant !== undefined, instead: instead?.call_id ?? null }];
}
