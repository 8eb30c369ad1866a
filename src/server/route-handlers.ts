// What the routes do that answer at once, over HTTP and in the frames of a stream. The client decodes the arguments; a handler only
// finds them in the request.
import { type Either, isLeft, left } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { Access } from '../../schemas/access.ts';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { LEASES_WAITING_MAX, SUBMITS_TOGETHER_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { LeaseGrant, LeaseRequest, Submit } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import type { FrameRoute } from '../client/frames/frame-texts.ts';
import { withAccess } from '../client/with-access.ts';
import { markUnshared, unsharedBytes } from '../client/wire-text.ts';
import { ROUTE_SHAPES } from './api/route-shapes.ts';
import { type BodyRoom, newBodyRoom } from './body-room.ts';
import { unauthorized } from './guard.ts';
import type { Answer, Asked, Handler, Handlers, InParts } from './handler.ts';
import { jsonParts } from './json-parts.ts';
import { problemOf } from './problem.ts';
import { answersParts, grantParts, receiptParts } from './receipt-text.ts';

/** What HTTP and streams share: the handlers with their counts, and the room for bodies. */
export interface Routes {
  readonly handlers: Handlers<FrameRoute>;
  readonly room: BodyRoom;
  readonly clientOf: (access: Access) => EngineClient;
}

export function newRoutes(client: EngineClient): Routes {
  const clients = new WeakMap<Access, EngineClient>();
  return {
    handlers: { ...HANDLERS, lease: newLeasing() },
    room: newBodyRoom(),
    clientOf(access) {
      const known = clients.get(access) ?? withAccess(client, access);
      clients.set(access, known);
      return known;
    },
  };
}

const HANDLERS: Handlers<Exclude<FrameRoute, 'lease'>> = {
  info: ({ client }) => client.info()(),
  sessions: ({ client, query }) => client.sessions(query)(),
  createSession: (asked) => withBody(asked, (request) => asked.client.createSession(request)),
  deleteSession: ({ client, of }) => client.deleteSession(of as SessionId)(),
  deletedSessions: ({ client, query }) => client.deletedSessions(query)(),
  session: async ({ client, of }) => inParts(await client.session(of as SessionId)(), jsonParts),
  submit: async (asked) =>
    inParts(await withBody(asked, (request) => asked.client.submit(asked.of as SessionId, request)), receiptParts),
  submits: submitAll,
  fork: (asked) => withBody(asked, (request) => asked.client.fork(asked.of as SessionId, request)),
  records: ({ client, of, query }) => client.records(of as SessionId, query.from, query.limit)(),
  postDeltas: (asked) => withBody(asked, (request) => asked.client.postDeltas(asked.of as SessionId, request)),
  heartbeat: (asked) => withBody(asked, (request) => asked.client.heartbeat(request)),
  release: (asked) => withBody(asked, (request) => asked.client.release(request)),
  putBlob: ({ client, query: { durable = true }, bytes }) =>
    pipe(
      () => bytes(ROUTE_SHAPES.putBlob.body.bytesMax),
      TE.chain((read) => client.putBlob(read, { durable })),
      TE.map((ref) => ({ ref })),
    )(),
  joinBlobs: (asked) =>
    pipe(
      () => withBody(asked, (request) => asked.client.joinBlobs(request)),
      TE.map((ref) => ({ ref })),
    )(),
  getBlob: async ({ client, of, room }) => {
    const blob = await room.read(async () => {
      const read = await client.getBlob(of as Digest)();
      const full = isLeft(read) ? null : room.take(read.right.length);
      return full === null ? read : left(full);
    });
    return isLeft(blob) ? blob : { _tag: 'Bytes', bytes: blob.right };
  },
};

/** Submits to many sessions in one request, concurrently and independently; {@link SubmitsReply} has the answers. */
async function submitAll({ client, body: read }: Asked<'submits'>): Promise<Answer<never>> {
  const body: Either<Rejection, unknown> = await read();
  if (isLeft(body)) return body;
  const submits: unknown = isPlainObject(body.right) ? body.right['submits'] : undefined;
  if (!Array.isArray(submits) || submits.length > SUBMITS_TOGETHER_MAX || !submits.every(isPlainObject)) {
    const most = `submits must be a list of at most ${SUBMITS_TOGETHER_MAX} objects`;
    return left(reject('invalid_shape', '/submits', most));
  }
  const bytes = Math.ceil((unsharedBytes(body.right) ?? 0) / submits.length);
  const answers = await Promise.all(
    submits.map(async ({ session_id, request }) => {
      const submit = markUnshared(request as Submit, bytes);
      const receipt = await client.submit(session_id as SessionId, submit)();
      return isLeft(receipt) ? jsonParts(problemOf(receipt.left)) : receiptParts(receipt.right);
    }),
  );
  return { _tag: 'Parts', parts: answersParts(answers) };
}

/** Requests for work wait, so their number is bounded. */
function newLeasing(): Handler<'lease'> {
  let waiting = 0;
  return async (asked) => {
    if (waiting >= LEASES_WAITING_MAX) {
      const message = `${LEASES_WAITING_MAX} requests wait for work already; try again later`;
      return left(reject('queue_full', '', message));
    }
    waiting += 1;
    try {
      const granted = await withBody(asked, (request) => () => leaseAndPush(asked, request));
      // The token may have been replaced while the request waited: then the leases expire, and another bridge gets them.
      return asked.holder.isCurrent() ? inParts(granted, grantParts) : left(unauthorized());
    } finally {
      waiting -= 1;
    }
  };
}

/** Where grants can be pushed, all that the request may be granted until its time is over; else the first grant. */
async function leaseAndPush(
  { client, holder, signal, push }: Asked<'lease'>,
  request: LeaseRequest,
): Promise<Either<Rejection, LeaseGrant>> {
  const beganMs = performance.now();
  let answer = await client.lease(request, signal)();
  if (push === undefined || isLeft(answer)) return answer;
  for (let { max } = request; !isLeft(answer);) {
    const waitMs = Math.floor(request.wait_ms - (performance.now() - beganMs));
    max -= answer.right.effects.length;
    if (answer.right.effects.length === 0 || max <= 0 || waitMs <= 0 || !holder.isCurrent()) break;
    push(grantParts(answer.right));
    answer = await client.lease({ ...request, max, wait_ms: waitMs }, signal)();
  }
  return answer;
}

/** Reads the body of a request, then runs `work` with it. */
async function withBody<Body, T>(
  { body }: { readonly body: () => Promise<Either<Rejection, Body>> },
  work: (request: Body) => TE.TaskEither<Rejection, T>,
): Promise<Either<Rejection, T>> {
  const request = await body();
  return isLeft(request) ? request : await work(request.right)();
}

/** An answer that may be large. */
const inParts = <T>(
  result: Either<Rejection, T>,
  write: (value: T) => Iterable<string>,
): InParts | Either<Rejection, never> => (isLeft(result) ? result : { _tag: 'Parts', parts: write(result.right) });
