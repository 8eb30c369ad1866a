// The refusals that all adapters share, with the same messages.
import type { EventId, SessionId, Version } from '../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX } from '../../schemas/limits.ts';
import { type Rejection, invariant, reject } from '../../schemas/rejection.ts';
import type { JournalRecord } from './journal.ts';

export const unknownSession = (session: SessionId): Rejection =>
  reject('unknown_session', '', `there is no session ${session}`);

export const sessionExists = (session: SessionId): Rejection =>
  reject('session_exists', '', `session ${session} exists already; use another id`);

export const versionConflict = (session: SessionId, expected: Version, actual: Version): Rejection =>
  reject('version_conflict', '', `session ${session} is at version ${actual}, not at the expected ${expected}`);

export const eventRepeated = (session: SessionId, event: EventId): Rejection =>
  reject('version_conflict', '', `session ${session} already contains the event id ${event}`);

/** Refuses an append that no stream can accept: too many records, or the same event id twice. */
export function checkRecords(session: SessionId, records: readonly JournalRecord[]): Rejection | null {
  invariant(records.length > 0, `an append to session ${session} without records`);
  if (records.length > EVENTS_PER_APPEND_MAX) {
    return reject(
      'too_large',
      '',
      `${records.length} events; one append takes at most ${EVENTS_PER_APPEND_MAX}, so split it`,
    );
  }
  const seen = new Set<EventId>();
  for (const record of records) {
    if (seen.has(record.event_id)) return eventRepeated(session, record.event_id);
    seen.add(record.event_id);
  }
  return null;
}
