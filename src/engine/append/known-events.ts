// Finds events that are recorded already. The same event sent again gets its first answer; a different event under a known
// id is refused.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { Ingress, IngressEvent } from '../../../schemas/event.ts';
import type { EventId, Position, SessionId, Version } from '../../../schemas/ids.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import { upcast } from '../../../schemas/upcast.ts';
import type { SubmitReceipt } from '../../../schemas/wire.ts';
import type { Journal } from '../../journal/journal.ts';
import type { PendingSteps } from './pending-steps.ts';
import { recordedEvent } from '../sessions/records.ts';
import { type DigestArguments, findOtherFact } from './same-event.ts';

/** The answer to one event of a submit: its id and position, and whether it was recorded before. */
export type EventAnswer = Either<Rejection, SubmitReceipt['events'][number]>;

/** The event with the id of this one in steps that are not durable yet, or null. `durable`: the number of durable events. */
export function findPending(sent: Ingress, durable: Version, pending: readonly PendingSteps[]): Known | null {
  const { event_id } = sent;
  if (event_id === undefined) return null;
  let first: number = durable;
  for (const { events } of pending) {
    for (let index = 0; index < events.length; index += 1) {
      const recorded = events[index] as IngressEvent;
      if (recorded.event_id === event_id) return { event_id, position: first + index, recorded };
    }
    first += events.length;
  }
  return null;
}

/** The answer when the journal contains the event id; the rejection when the journal cannot be read; else null. */
export async function findRecorded(
  journal: Journal,
  session: SessionId,
  sent: Ingress,
  digestOf: DigestArguments,
): Promise<EventAnswer | null> {
  const { event_id } = sent;
  if (event_id === undefined) return null;
  const found = await journal.find(session, event_id)();
  if (isLeft(found)) return found;
  const position = found.right;
  if (position === null) return null;
  return await pipe(
    () => recordedEvent(journal, session, position),
    TE.chain(
      (recorded) => async () =>
        recorded === null
          ? right({ event_id, position, repeated: true })
          : await answerKnown(sent, { event_id, position, recorded: upcast(recorded) }, digestOf),
    ),
  )();
}

/** An event under a known id. */
export interface Known {
  readonly event_id: EventId;
  readonly position: number;
  readonly recorded: IngressEvent;
}

/** The answer to an event that is sent under a known id. */
export async function answerKnown(
  sent: Ingress,
  { event_id, position, recorded }: Known,
  digestOf: DigestArguments,
): Promise<EventAnswer> {
  const other = await findOtherFact(sent, recorded, digestOf);
  return other === null ? right({ event_id, position: position as Position, repeated: true }) : left(other);
}
