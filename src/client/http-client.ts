// The client of an engine in another process, over HTTP.
import { type Either, isLeft, left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Codec, decode, list, shape } from '../../schemas/codec.ts';
import { Digest, Position, SessionId } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, LEASE_WAIT_MS_MAX, READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import {
  EngineInfo,
  HeartbeatReply,
  LeaseGrant,
  SessionSummary,
  SessionView,
  SubmitReceipt,
} from '../../schemas/wire.ts';
import type { EngineClient } from './client.ts';
import { FollowRefused } from './follow-refused.ts';
import { followEvents } from './http-follow.ts';
import { newTransport } from './http-transport.ts';
import { newSubmitBatch } from './submit-batch.ts';

/**
 * A client of the engine at `url`, with its bearer token: those that `refold serve` prints, or that were given to `serve`.
 * Connects when it is first used. Throws a TypeError when the URL or the token can be none.
 */
export function connect(url: string, token: string): EngineClient {
  const transport = newTransport(url, token);
  const { call } = transport;
  const submit = newSubmitBatch(transport, (id, text) =>
    call(SubmitReceipt, { method: 'POST', path: `${session(id)}/events`, text }),
  );

  // An id becomes a part of the address, so that only an id may.
  const on = <A, B>(
    codec: Codec<A>,
    id: unknown,
    work: (id: A) => TaskEither<Rejection, B>,
  ): TaskEither<Rejection, B> => {
    const decoded = decode(codec, id);
    return isLeft(decoded) ? refused(decoded) : work(decoded.right);
  };

  return {
    info: () => call(EngineInfo, { method: 'GET', path: '/v1' }),
    createSession: (request = {}) => call(SessionSummary, { method: 'POST', path: '/v1/sessions', json: request }),
    fork: (id, request = {}) =>
      on(SessionId, id, (known) =>
        call(SessionSummary, { method: 'POST', path: `${session(known)}/forks`, json: wired(request) }),
      ),
    sessions: () => call(SessionSummaries, { method: 'GET', path: '/v1/sessions' }),
    session: (id) => on(SessionId, id, (known) => call(SessionView, { method: 'GET', path: session(known) })),
    submit: (id, request) => on(SessionId, id, (known) => submit(known, request)),
    records: (id, from, limit) =>
      on(SessionId, id, (known) => {
        const query = new URLSearchParams();
        if (from !== undefined) query.set('from', String(from));
        if (limit !== undefined) query.set('limit', String(limit));
        return call(StreamRecords, { method: 'GET', path: `${session(known)}/records?${query.toString()}` });
      }),
    async *follow(id, { from = 0, signal } = {}) {
      const known = decode(SessionId, id);
      if (isLeft(known)) throw new FollowRefused(known.left);
      const position = decode(Position, from);
      if (isLeft(position)) throw new FollowRefused({ ...position.left, path: '/from' });
      yield* followEvents(transport, { path: session(known.right), from: position.right, signal });
    },
    lease: (request, signal) =>
      call(LeaseGrant, {
        method: 'POST',
        path: '/v1/leases',
        json: wired(request),
        signal,
        waitMs: LEASE_WAIT_MS_MAX,
      }),
    heartbeat: (request) =>
      call(HeartbeatReply, { method: 'POST', path: '/v1/leases/heartbeat', json: wired(request) }),
    release: (request) => call(HeartbeatReply, { method: 'POST', path: '/v1/leases/release', json: wired(request) }),
    putBlob: (bytes) => async () => {
      if (bytes.length > BLOB_BYTES_MAX) {
        return left(reject('too_large', '', `a blob of ${bytes.length} bytes; at most ${BLOB_BYTES_MAX} are kept`));
      }
      const stored = await call(StoredBlob, { method: 'POST', path: '/v1/blobs', bytes })();
      return isLeft(stored) ? stored : { ...stored, right: stored.right.ref };
    },
    getBlob: (ref) => on(Digest, ref, (known) => transport.bytes({ method: 'GET', path: `/v1/blobs/${known}` })),
    close: () => {
      transport.close();
      return Promise.resolve();
    },
  };
}

const SessionSummaries = list(SessionSummary, Number.MAX_SAFE_INTEGER);
const StreamRecords = list(StreamRecord, READ_PAGE_RECORDS + 1);
const StoredBlob = shape('StoredBlob', { ref: Digest });

const refused =
  <B>(refusal: Either<Rejection, B>): TaskEither<Rejection, B> =>
  () =>
    Promise.resolve(refusal);

// No request at all is a value that is refused, not a request without a body.
const wired = (request: unknown): unknown => request ?? null;

const session = (id: SessionId): string => `/v1/sessions/${encodeURIComponent(id)}`;
