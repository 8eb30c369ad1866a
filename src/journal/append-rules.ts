// The refusals that all adapters share, with the same messages.
import type { Digest, EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX } from '../../schemas/limits.ts';
import { versionAfter } from '../../schemas/record.ts';
import { type Rejection, invariant, reject } from '../../schemas/rejection.ts';
import { HeadFacts, isIncomplete } from '../../schemas/session-head.ts';
import type { JournalCommit } from './journal.ts';

export const unknownSession = (session: SessionId): Rejection =>
  reject('unknown_session', '', `there is no session ${session}`);

export const sessionExists = (session: SessionId): Rejection =>
  reject('session_exists', '', `session ${session} exists already; use another id`);

export const sessionDeleted = (session: SessionId): Rejection =>
  reject('session_deleted', '', `session ${session} was deleted; its id stays taken`);

/** A copy acts only once it has the facts of its own, which its last write stores. */
export const copyIncomplete = (session: SessionId): Rejection =>
  reject(
    'damaged',
    '',
    `session ${session} is a fork or an import that was cut off before it was stored completely; import its file again, or fork again under another id, or delete it: refold delete ${session}`,
  );

export const packageLost = (digest: Digest): Rejection =>
  reject(
    'damaged',
    '',
    `the journal has lost the tool package ${digest}; restore the data directory from a backup, or import an export of a session that names it`,
  );

export const versionConflict = (session: SessionId, expected: Version, actual: Version): Rejection =>
  reject('version_conflict', '', `session ${session} is at version ${actual}, not at the expected ${expected}`);

export const eventRepeated = (session: SessionId, event: EventId): Rejection =>
  reject('version_conflict', '', `session ${session} already contains the event id ${event}`);

/** Refuses facts that no head could be read with again. */
export const checkHead = (session: SessionId, head: HeadFacts): Rejection | null =>
  HeadFacts.is(head) ? null : reject('internal', '', `the facts of session ${session} do not fit into its head`);

/** What of a head says whether a copy is complete. */
export interface Stated {
  readonly card: Pick<HeadFacts['card'], 'status'>;
}

/** Refuses to make a complete stream incomplete again: a copy has one last write. */
export const checkStatus = (session: SessionId, before: Stated, after: Stated): Rejection | null =>
  isIncomplete(after) && !isIncomplete(before)
    ? reject('internal', '', `session ${session} is complete, and a write would make it an incomplete copy`)
    : null;

/** Refuses an append that no stream can accept: a commit with too many events, or the same event id twice. */
export function checkCommits(session: SessionId, commits: readonly JournalCommit[]): Rejection | null {
  invariant(commits.length > 0, `an append to session ${session} without commits`);
  const seen = new Set<EventId>();
  let next: number = commits[0]?.position ?? 0;
  for (const commit of commits) {
    const { position, events } = commit;
    invariant(
      position === (next as Position) && events.length > 0,
      `an append to session ${session} with a gap at ${next}`,
    );
    next = versionAfter(commit);
    if (events.length > EVENTS_PER_COMMIT_MAX) {
      const message = `${events.length} events; one commit takes at most ${EVENTS_PER_COMMIT_MAX}, so split it`;
      return reject('too_large', '', message);
    }
    for (const { event_id } of events) {
      if (seen.has(event_id)) return eventRepeated(session, event_id);
      seen.add(event_id);
    }
  }
  return null;
}
