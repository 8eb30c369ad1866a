// The journal port: where the event streams of sessions are stored. A journal stores each append completely and in order,
// or refuses it. It is not trusted for integrity: the engine verifies the chain of every stream that it loads
// (docs/design.md, "Bytes and digests").
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest, EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Snapshots } from './snapshots.ts';

/** One stored event: its canonical text (RFC 8785), and the digests of the state and the chain after it. */
export interface JournalRecord {
  readonly event: string;
  readonly event_id: EventId;
  readonly state_digest: Digest;
  readonly chain: Digest;
}

/** The version of a stream, and whether its session owed effects after its last append. */
export interface SessionHead {
  readonly session_id: SessionId;
  readonly version: Version;
  readonly owing: boolean;
}

/**
 * Every failure is a rejection: `unknown_session`, `session_exists`, `version_conflict`, `queue_full`, `too_large`,
 * `storage_failed` and `storage_full` (nothing was recorded), `storage_unknown` (look the event id up with `find`),
 * `damaged`, `closing`.
 */
export interface Journal {
  /** Creates a stream with its genesis text. Refused as `session_exists` when the stream exists. */
  create(session: SessionId, genesis: string): TaskEither<Rejection, void>;

  genesis(session: SessionId): TaskEither<Rejection, string>;

  /**
   * Appends all records (1 to EVENTS_PER_APPEND_MAX) in one durable, atomic write and returns the new version. Refused as
   * `version_conflict` unless the stream is at `expected` and contains none of the event ids. `owing`: whether the session
   * owes effects afterwards; stored in the same write.
   */
  append(
    session: SessionId,
    expected: Version,
    records: readonly JournalRecord[],
    owing: boolean,
  ): TaskEither<Rejection, Version>;

  /** The records from `from` on: at most `limit` and READ_PAGE_RECORDS of them, fewer only at the end of the stream. */
  read(session: SessionId, from: Position, limit: number): TaskEither<Rejection, readonly JournalRecord[]>;

  head(session: SessionId): TaskEither<Rejection, SessionHead>;

  /** The position of an event id in a stream, or null. Shows whether an append of unknown outcome was recorded. */
  find(session: SessionId, event: EventId): TaskEither<Rejection, Position | null>;

  /** Every session, by id in byte order. */
  sessions(): TaskEither<Rejection, readonly SessionHead[]>;

  /** Snapshots, which only make loading faster. */
  readonly snapshots: Snapshots;

  /** Waits for accepted appends; refuses later requests as `closing`. */
  close(): Promise<void>;
}
