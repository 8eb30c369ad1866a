// The client of an engine in another process, over HTTP.
import { isLeft, left } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { type Codec, decode, list, shape } from '../../schemas/codec.ts';
import { Digest, SessionId } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, DELETE_WAIT_MS_MAX, LEASE_WAIT_MS_MAX, READ_PAGE_EVENTS } from '../../schemas/limits.ts';
import { type CommitRecord, StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { Tombstone } from '../../schemas/session-head.ts';
import {
  DeletedPage,
  type DeltaFrame,
  DeltasTaken,
  EngineInfo,
  HeartbeatReply,
  LeaseGrant,
  ListDeleted,
  ListSessions,
  SessionPage,
  SessionSummary,
  SessionView,
  SubmitReceipt,
} from '../../schemas/wire.ts';
import type { EngineClient, FollowOptions } from './client.ts';
import { eventsFrom } from './events-from.ts';
import { followStart } from './follow-start.ts';
import { readBackup } from './http-backup.ts';
import { followOver } from './http-follow.ts';
import { type Transport, type TransportOptions, newTransport } from './http-transport.ts';
import { newSubmitBatch } from './submit-batch.ts';

/**
 * A client of the engine at `url` with its bearer token: as printed by `refold serve`, or as passed to `serve`.
 * Connects when it is first used. Throws a TypeError when the URL or the token is invalid.
 */
export function connect(url: string, token: string, options: TransportOptions = {}): EngineClient {
  const transport = newTransport(url, token, options);
  const { call } = transport;
  const submit = newSubmitBatch(transport, (id, text) => call(SubmitReceipt, { route: 'submit', of: id, text }));

  // An id becomes part of the URL, so it is checked first.
  const withArgument = <A, B>(
    codec: Codec<A>,
    id: unknown,
    work: (id: A) => TE.TaskEither<Rejection, B>,
  ): TE.TaskEither<Rejection, B> => pipe(TE.fromEither(decode(codec, id)), TE.chain(work));

  return {
    info: () => call(EngineInfo, { route: 'info' }),
    createSession: (request = {}) => call(SessionSummary, { route: 'createSession', json: request }),
    fork: (id, request = {}) =>
      withArgument(SessionId, id, (known) => call(SessionSummary, { route: 'fork', of: known, json: orNull(request) })),
    sessions: (request = {}) =>
      withArgument(ListSessions, request, (asked) => call(SessionPage, { route: 'sessions', query: asked })),
    deleteSession: (id) =>
      withArgument(SessionId, id, (known) =>
        call(Tombstone, { route: 'deleteSession', of: known, waitMs: DELETE_WAIT_MS_MAX }),
      ),
    deletedSessions: (request = {}) =>
      withArgument(ListDeleted, request, (asked) => call(DeletedPage, { route: 'deletedSessions', query: asked })),
    session: (id) => withArgument(SessionId, id, (known) => call(SessionView, { route: 'session', of: known })),
    submit: (id, request) => withArgument(SessionId, id, (known) => submit(known, request)),
    records: (id, from, limit) =>
      withArgument(SessionId, id, (known) => {
        const query = { ...(from === undefined ? {} : { from }), ...(limit === undefined ? {} : { limit }) };
        return call(StreamRecords, { route: 'records', of: known, query });
      }),
    ...newFollowing(transport),
    postDeltas: (id, request) =>
      withArgument(SessionId, id, (known) =>
        call(DeltasTaken, { route: 'postDeltas', of: known, json: orNull(request) }),
      ),
    backup: (signal) => readBackup(transport, signal),
    ...leasing(call),
    putBlob: (bytes, { durable = true } = {}) => {
      if (bytes.length > BLOB_BYTES_MAX) {
        const message = `the blob has ${bytes.length} bytes; the limit is ${BLOB_BYTES_MAX}`;
        return () => Promise.resolve(left(reject('too_large', '', message)));
      }
      return pipe(
        call(StoredBlob, { route: 'putBlob', ...(durable ? {} : { query: { durable } }), bytes }),
        TE.map(({ ref }) => ref),
      );
    },
    joinBlobs: (request) =>
      pipe(
        call(StoredBlob, { route: 'joinBlobs', json: orNull(request) }),
        TE.map(({ ref }) => ref),
      ),
    getBlob: (ref) => withArgument(Digest, ref, (known) => transport.bytes({ route: 'getBlob', of: known })),
    close: () => {
      transport.close();
      return Promise.resolve();
    },
  };
}

type Following = Pick<EngineClient, 'follow' | 'followCommits' | 'followLive'>;

function newFollowing(transport: Transport): Following {
  async function* live(
    id: SessionId,
    { from = 0, signal }: FollowOptions,
    deltas = true,
  ): AsyncGenerator<CommitRecord | DeltaFrame> {
    const start = followStart(id, from);
    yield* followOver(transport, { path: session(start.id), from: start.from, signal, deltas });
  }

  async function* commits(id: SessionId, options: FollowOptions): AsyncGenerator<CommitRecord> {
    for await (const item of live(id, options, false)) if (item.kind === 'commit') yield item;
  }

  return {
    follow: (id, options = {}) => eventsFrom(commits(id, options), options.from ?? 0),
    followCommits: (id, options = {}) => commits(id, options),
    followLive: (id, options = {}) => live(id, options),
  };
}

type Leasing = Pick<EngineClient, 'lease' | 'heartbeat' | 'release'>;

const leasing = (call: Transport['call']): Leasing => ({
  lease: (request, signal, onGrant) =>
    call(LeaseGrant, {
      route: 'lease',
      json: orNull(request),
      signal,
      waitMs: LEASE_WAIT_MS_MAX,
      ...(onGrant === undefined ? {} : { onPushed: passGrants(onGrant) }),
    }),
  heartbeat: (request) => call(HeartbeatReply, { route: 'heartbeat', json: orNull(request) }),
  release: (request) => call(HeartbeatReply, { route: 'release', json: orNull(request) }),
});

// What is no grant is dropped, as an answer that does not arrive is: its leases expire.
const passGrants =
  (onGrant: (grant: LeaseGrant) => void) =>
  (value: unknown): void => {
    const grant = decode(LeaseGrant, value);
    if (!isLeft(grant)) onGrant(grant.right);
  };

const StreamRecords = list(StreamRecord, READ_PAGE_EVENTS + 2);
const StoredBlob = shape('StoredBlob', { ref: Digest });

// A request that is undefined is sent as null, which the engine refuses, and not as a request without a body.
const orNull = (request: unknown): unknown => request ?? null;

const session = (id: SessionId): string => `/v1/sessions/${encodeURIComponent(id)}`;
