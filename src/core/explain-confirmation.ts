// What people said about one call, as `explain` tells it: who, when, and what more they allowed.
import type { CallId, Digest } from '../../schemas/ids.ts';
import type { EventRecord } from '../../schemas/record.ts';

/** Where in the stream something happened to a call. */
export interface Moment {
  readonly position: number;
  readonly at_ms: number;
}

export interface Confirmation extends Moment {
  readonly result: 'allow' | 'deny';
  /** Who said it, as the client knew them. */
  readonly by: string | null;
  readonly message: string | null;
  /** The exact arguments that it was said about. */
  readonly arguments_digest: Digest;
  /** They allowed more of its kind. */
  readonly granted: boolean;
  /** The call that was to be made in its place. */
  readonly instead: CallId | null;
}

export const momentOf = ({ position, event }: EventRecord): Moment => ({ position, at_ms: event.at_ms });

/** What an event says about a call of the open batch; one word at most. */
export function confirmationsIn(record: EventRecord, id: CallId): readonly Confirmation[] {
  const { event } = record;
  if (event.kind !== 'user.tool_confirmation' || event.call_id !== id) return [];
  const { result, by = null, message = null, arguments_digest, grant, instead } = event;
  const told = { result, by, message, arguments_digest };
  return [{ ...momentOf(record), ...told, granted: grant !== undefined, instead: instead?.call_id ?? null }];
}
