// The journal port: where the event streams of sessions are stored. A journal stores each append completely and in order,
// or refuses it. It is not trusted for integrity: the engine verifies the chain of every stream that it loads
// (docs/design.md, "Bytes and digests").
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest, EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { HeadFacts, Tombstone } from '../../schemas/session-head.ts';
import type { ListSessions, SessionPage } from '../../schemas/wire.ts';
import type { Snapshots } from './snapshots.ts';
import type { Put } from './store.ts';

/** One stored event. */
export interface JournalEvent {
  /** Its canonical text (RFC 8785). */
  readonly text: string;
  /** Unique in its stream. */
  readonly event_id: EventId;
}

/** One stored commit: its events, and the digests of the state and the chain after the last of them. */
export interface JournalCommit {
  /** The position of its first event: the version of the stream before it. */
  readonly position: Position;
  /** 1 to EVENTS_PER_COMMIT_MAX. */
  readonly events: readonly JournalEvent[];
  /** The digest of the state after its last event. */
  readonly state_digest: Digest;
  /** The chain value after it. */
  readonly chain: Digest;
}

/** A tool package as it is stored, once for all sessions that name its digest. */
export interface StoredPackage {
  /** The SHA-256 digest of its text. */
  readonly digest: Digest;
  /** Its canonical text. */
  readonly text: string;
}

/** A sealed page of a transcript as it is stored, once for all sessions that refer to it. */
export interface StoredPage {
  /** The SHA-256 digest of its bytes. */
  readonly digest: Digest;
  /** Its canonical text in UTF-8; nothing may change them. */
  readonly bytes: Uint8Array;
}

/** The version of a stream, and the facts that were stored with its last append. */
export interface SessionHead extends HeadFacts {
  /** The stream. */
  readonly session_id: SessionId;
  /** The number of its events. */
  readonly version: Version;
}

/** A request for a page, with its limit. */
export type SessionsRequest = ListSessions & {
  /** The most sessions of the page, at least 1. */
  readonly limit: number;
  /** Only sessions of these partitions; of all when absent. */
  readonly partitions?: readonly number[];
};

/** A session and the next time that it waits for. */
export interface Wake {
  /** The session that waits. */
  readonly session_id: SessionId;
  /** In milliseconds since 1970. */
  readonly at_ms: number;
}

/**
 * Every failure is a rejection: `unknown_session`, `session_deleted`, `session_exists`, `version_conflict`, `queue_full`, `too_large`,
 * `storage_failed` and `storage_full` (nothing was recorded), `storage_unknown` (look the event id up with `find`),
 * `damaged`, `closing`.
 */
export interface Journal {
  /**
   * Creates a stream with its genesis text, and stores the tool package that it names unless it is stored already, in one
   * write. Refused as `session_exists` when the stream exists, and as `session_deleted` when it did. With a head of the status
   * `incomplete` it creates an incomplete copy: `genesis` refuses it until a head of any other status is stored.
   */
  create(
    session: SessionId,
    genesis: string,
    tool_package: StoredPackage,
    head: HeadFacts,
  ): TaskEither<Rejection, void>;

  /** The text of the genesis record of a stream; `damaged` for an incomplete copy, so that no caller takes it for a session. */
  genesis(session: SessionId): TaskEither<Rejection, string>;

  /** The text of the genesis record of an incomplete copy; `session_exists` for a complete stream. */
  genesisOfCopy(session: SessionId): TaskEither<Rejection, string>;

  /** The text of a tool package that a stored genesis names; `damaged` when it is missing. The caller checks its digest. */
  toolPackage(digest: Digest): TaskEither<Rejection, string>;

  /**
   * Appends commits that follow each other in one durable, atomic write and returns the new version. Refused as
   * `version_conflict` unless the stream is at the position of the first one and contains none of the event ids. `head`: the
   * facts after the last commit; stored in the same write. A complete stream does not become incomplete again. `pages`: what
   * the commits sealed, none by default; stored in the same write, and not when the append is refused.
   */
  append(
    session: SessionId,
    commits: readonly JournalCommit[],
    head: HeadFacts,
    pages?: readonly StoredPage[],
  ): TaskEither<Rejection, Version>;

  /**
   * Whole commits, from the one that contains `from` on, until they contain `limit` or READ_PAGE_EVENTS events from there, or
   * have READ_PAGE_BYTES: at least one, and none only at the end of the stream. Only then is it read whole.
   */
  read(session: SessionId, from: Position, limit: number): TaskEither<Rejection, readonly JournalCommit[]>;

  /** The version of a stream, and the facts of its last append. */
  head(session: SessionId): TaskEither<Rejection, SessionHead>;

  /** The position of an event id in a stream, or null. Shows whether an append of unknown outcome was recorded. */
  find(session: SessionId, event: EventId): TaskEither<Rejection, Position | null>;

  /**
   * Writes the facts of a head anew, without an append: a rebuilt journal may not know them. Refused as `version_conflict`
   * unless the stream is at this version. It completes a copy, and stores pages, as an append does.
   */
  restate(
    session: SessionId,
    version: Version,
    head: HeadFacts,
    pages?: readonly StoredPage[],
  ): TaskEither<Rejection, void>;

  /** The bytes of a page; null when none is stored under this digest. The caller checks it, and must not change the bytes. */
  page(digest: Digest): TaskEither<Rejection, Uint8Array | null>;

  /** The digests of the stored pages after this one, in order, at most `limit`. */
  pages(after: Digest | null, limit: number): TaskEither<Rejection, readonly Digest[]>;

  /** Deletes those of these pages that are stored. When it resolves, no byte of them is left in the store. */
  deletePages(digests: readonly Digest[]): TaskEither<Rejection, void>;

  /**
   * Deletes a stream: its genesis, commits, head, index entries and snapshots; its tombstone stays. Refused as
   * `version_conflict` unless the stream is at the version of the tombstone. From the first write on the session is
   * deleted; when it resolves, no byte of it is left in the store. An interrupted deletion is completed by the next opening.
   */
  delete(tombstone: Tombstone): TaskEither<Rejection, void>;

  /** Deletes a session that cannot be loaded, with what can still be read of its head and last commit in the tombstone. */
  deleteDamaged(session: SessionId, deletedAtMs: number): TaskEither<Rejection, Tombstone>;

  /** The tombstones of the deleted sessions after this one, by id in byte order, at most `limit`. */
  tombstones(after: SessionId | null, limit: number): TaskEither<Rejection, readonly Tombstone[]>;

  /** One page of the sessions. */
  sessions(request: SessionsRequest): TaskEither<Rejection, SessionPage>;

  /**
   * The sessions whose next time is not after `untilMs`, in order of time, then of id: at most `limit`, and only those that
   * come after `after` in this order.
   */
  due(untilMs: number, limit: number, after?: Wake): TaskEither<Rejection, readonly Wake[]>;

  /** Every entry of the journal as of one moment, in pages, for a backup; null where nothing is stored. */
  entries(): AsyncIterable<readonly Put[]> | null;

  /** Whether writes are accepted now; makes a small one when the last one failed, so that the answer is not outdated. */
  probe(): TaskEither<Rejection, void>;

  /** Snapshots, which only make loading faster. */
  readonly snapshots: Snapshots;

  /** Waits for accepted appends; refuses later requests as `closing`. */
  close(): Promise<void>;
}
