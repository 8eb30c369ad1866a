// The journal port: where streams are kept. A journal stores what it is given, whole and in order, or says that it
// did not; it is not trusted for integrity, so whoever loads a stream verifies its chain (DESIGN section 6).
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest, EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Snapshots } from './snapshots.ts';

/** One stored event: its canonical text (RFC 8785) and what the fold made of it. */
export interface JournalRecord {
  readonly event: string;
  readonly event_id: EventId;
  readonly state_digest: Digest;
  readonly chain: Digest;
}

/** Where a stream stands, and whether its session owed effects after its last append. */
export interface SessionHead {
  readonly session_id: SessionId;
  readonly version: Version;
  readonly owing: boolean;
}

/**
 * Every failure is a rejection: `unknown_session`, `session_exists`, `version_conflict`, `queue_full`, `too_large`,
 * `storage_failed` and `storage_full` (not recorded), `storage_unknown` (look the event id up with `find`), `damaged`, `closing`.
 */
export interface Journal {
  /** Creates a stream with its genesis text. `session_exists` when there is one. */
  create(session: SessionId, genesis: string): TaskEither<Rejection, void>;

  genesis(session: SessionId): TaskEither<Rejection, string>;

  /**
   * Appends all records (1 to EVENTS_PER_APPEND_MAX) in one durable, atomic write and gives the new version, when the
   * stream is at `expected` and holds none of the event ids; else `version_conflict`. `owing`: whether the session
   * owes effects afterwards, kept in the same write.
   */
  append(
    session: SessionId,
    expected: Version,
    records: readonly JournalRecord[],
    owing: boolean,
  ): TaskEither<Rejection, Version>;

  /** The records from `from` on: at most `limit`, at most READ_PAGE_RECORDS, fewer only at the end of the stream. */
  read(session: SessionId, from: Position, limit: number): TaskEither<Rejection, readonly JournalRecord[]>;

  head(session: SessionId): TaskEither<Rejection, SessionHead>;

  /** The position of an event id in a stream, or null: answers repeated and unknown appends. */
  find(session: SessionId, event: EventId): TaskEither<Rejection, Position | null>;

  /** Every session, by id in byte order. */
  sessions(): TaskEither<Rejection, readonly SessionHead[]>;

  /** Hints that make loading short. */
  readonly snapshots: Snapshots;

  /** Waits for accepted appends; what comes later is refused as `closing`. */
  close(): Promise<void>;
}
