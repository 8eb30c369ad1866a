// The one interface to an engine, the same in process and over HTTP. Everything that can go wrong for the caller is a
// Rejection in a TaskEither; call the task to run it: `await client.submit(id, {...})()`.
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import type { EventRecord, StreamRecord } from '../../schemas/record.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type {
  CreateSession,
  EngineInfo,
  ForkRequest,
  Heartbeat,
  HeartbeatReply,
  LeaseGrant,
  LeaseRequest,
  Release,
  SessionSummary,
  SessionView,
  Submit,
  SubmitReceipt,
} from '../../schemas/wire.ts';

export interface EngineClient {
  info(): TaskEither<Rejection, EngineInfo>;
  /** Creates a session; `session_exists` when the id is taken. */
  createSession(request?: CreateSession): TaskEither<Rejection, SessionSummary>;
  /** Makes a new session of the first events of another one; nothing of what runs there is run again unasked. */
  fork(id: SessionId, request?: ForkRequest): TaskEither<Rejection, SessionSummary>;
  sessions(): TaskEither<Rejection, readonly SessionSummary[]>;
  /** State, digest and chain as of the last durable event. */
  session(id: SessionId): TaskEither<Rejection, SessionView>;
  /** Appends facts, all or none. Done means durable. An event id that is there already gets the first answer again. */
  submit(id: SessionId, request: Submit): TaskEither<Rejection, SubmitReceipt>;
  /** The stream from the genesis record (only when `from` is absent) or from a position, at most `limit` events. */
  records(id: SessionId, from?: number, limit?: number): TaskEither<Rejection, readonly StreamRecord[]>;
  /** Events from a position on (0 by default), and then each new one as it becomes durable, until aborted. */
  follow(
    id: SessionId,
    options?: { readonly from?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<EventRecord>;
  /** Takes effects to do; waits for the first. An aborted request hands nothing out. */
  lease(request: LeaseRequest, signal?: AbortSignal): TaskEither<Rejection, LeaseGrant>;
  heartbeat(request: Heartbeat): TaskEither<Rejection, HeartbeatReply>;
  /** Gives leases back, so that somebody else may take them at once; with `all`, everything that owner holds. */
  release(request: Release): TaskEither<Rejection, HeartbeatReply>;
  /** Keeps bytes under their digest. */
  putBlob(bytes: Uint8Array): TaskEither<Rejection, Digest>;
  getBlob(ref: Digest): TaskEither<Rejection, Uint8Array>;
  close(): Promise<void>;
}
