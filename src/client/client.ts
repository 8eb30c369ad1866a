// The one interface to an engine, the same in process and over HTTP. Every failure that concerns the caller is a Rejection
// in a TaskEither; call the task to run it: `await client.submit(id, {...})()`.
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import type { CommitRecord, StreamEvent, StreamRecord } from '../../schemas/record.ts';
import type { Tombstone } from '../../schemas/session-head.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type {
  BackupPart,
  CreateSession,
  DeletedPage,
  DeltaFrame,
  DeltasTaken,
  EngineInfo,
  ForkRequest,
  Heartbeat,
  HeartbeatReply,
  JoinBlobs,
  LeaseGrant,
  LeaseRequest,
  ListDeleted,
  ListSessions,
  PostDeltas,
  PutBlobOptions,
  Release,
  SessionPage,
  SessionSummary,
  SessionView,
  Submit,
  SubmitReceipt,
} from '../../schemas/wire.ts';

export interface FollowOptions {
  /** The position of the first event, from 0; 0 by default. */
  readonly from?: number;
  /** Ends the iteration when it aborts. */
  readonly signal?: AbortSignal;
}

/** A state that is stored, and the chain value there. */
export interface StoredStart {
  /** The state after some commit. */
  readonly state: SessionState;
  /** The chain value after that commit. */
  readonly chain: Digest;
}

export interface EngineClient {
  /** The name, version and limits of the engine. */
  info(): TaskEither<Rejection, EngineInfo>;
  /** Creates a session; `session_exists` when the id is taken. */
  createSession(request?: CreateSession): TaskEither<Rejection, SessionSummary>;
  /** Creates a session from the first events of another one. What runs there does not run again unless requested. */
  fork(id: SessionId, request?: ForkRequest): TaskEither<Rejection, SessionSummary>;
  /** One page of the sessions, by id in byte order; `allSessions` reads all pages. */
  sessions(request?: ListSessions): TaskEither<Rejection, SessionPage>;
  /**
   * Deletes an idle session for good; its tombstone stays, and its id stays taken. `session_busy` when it has work. Blobs
   * that no other session needs are left to `refold gc`.
   */
  deleteSession(id: SessionId): TaskEither<Rejection, Tombstone>;
  /** One page of the deleted sessions, by id in byte order. */
  deletedSessions(request?: ListDeleted): TaskEither<Rejection, DeletedPage>;
  /** State, digest and chain as of the last durable event. */
  session(id: SessionId): TaskEither<Rejection, SessionView>;
  /**
   * The state of a session at this version, or the nearest stored one before it, and the chain value there; null when none is
   * stored. Of an engine in this process alone: a reader that resumes folds from there and not from the first event.
   */
  storedStart?(id: SessionId, version: number): TaskEither<Rejection, StoredStart | null>;
  /** Appends facts, all or none; durable when it resolves. A recorded event sent again gets its first answer. */
  submit(id: SessionId, request: Submit): TaskEither<Rejection, SubmitReceipt>;
  /**
   * The commits from the one that contains position `from` on, until they contain `limit` events from there or a page is full:
   * only a page without commits is the end. Without `from` the tool package, the genesis record and the first commits.
   */
  records(id: SessionId, from?: number, limit?: number): TaskEither<Rejection, readonly StreamRecord[]>;
  /** Events from a position (0 by default), then each new one as it becomes durable, until aborted. */
  follow(id: SessionId, options?: FollowOptions): AsyncIterable<StreamEvent>;
  /** The same as whole commits, with their digests, from the one that contains position `from`. */
  followCommits(id: SessionId, options?: FollowOptions): AsyncIterable<CommitRecord>;
  /** The same, and between the commits what the model writes, which is never recorded. */
  followLive(id: SessionId, options?: FollowOptions): AsyncIterable<CommitRecord | DeltaFrame>;
  /** Shows what a model writes to those who follow live; `stale_lease` without a lease on the generate. */
  postDeltas(id: SessionId, request: PostDeltas): TaskEither<Rejection, DeltasTaken>;
  /**
   * Leases effects; waits for the first. An aborted request is granted nothing. With `onGrant`, an engine that can push goes on
   * until it has granted `max` effects or `wait_ms` have passed, and every grant but the last is passed to it as it comes.
   */
  lease(
    request: LeaseRequest,
    signal?: AbortSignal,
    onGrant?: (grant: LeaseGrant) => void,
  ): TaskEither<Rejection, LeaseGrant>;
  /** Extends leases; those that are lost are named in the reply. */
  heartbeat(request: Heartbeat): TaskEither<Rejection, HeartbeatReply>;
  /** Ends leases, so that another bridge may lease the effects at once; with `all`, every lease of the owner. */
  release(request: Release): TaskEither<Rejection, HeartbeatReply>;
  /** All that a backup needs, as of one moment, while the engine goes on; blobs are read with `getBlob`. Throws {@link FollowRefused} when reading fails. */
  backup(signal?: AbortSignal): AsyncIterable<BackupPart>;
  /** Stores bytes under their digest; with `durable: false` without waiting for the disk, so that a crash may lose them. */
  putBlob(bytes: Uint8Array, options?: PutBlobOptions): TaskEither<Rejection, Digest>;
  /** Stores the bytes of stored blobs, one after the other, as one blob; `uploadBlob` sends a large blob this way. */
  joinBlobs(request: JoinBlobs): TaskEither<Rejection, Digest>;
  /** The bytes of a blob, whose digest the engine has checked; `unknown_blob` when it does not exist. */
  getBlob(ref: Digest): TaskEither<Rejection, Uint8Array>;
  /** Ends what this client follows. Of an engine in this process, the engine goes on. */
  close(): Promise<void>;
}
