// The HTTP API of an engine: the routes of `schemas/access.ts`, one for each method of its client, and one for several submits
// at once. The client decodes its arguments; this file only finds them in the request.
import { Hono, type Context } from 'hono';
import { type Either, bind, bindTo, isLeft, left } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { type Access, ROUTES, type RouteName } from '../../schemas/access.ts';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { type Json, isPlainObject } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, LEASES_WAITING_MAX, SUBMITS_TOGETHER_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type {
  CreateSession,
  ForkSession,
  Heartbeat,
  JoinBlobs,
  LeaseRequest,
  PostDeltas,
  Release,
  Submit,
} from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { refuseRoute, withAccess } from '../client/with-access.ts';
import { markUnshared, unsharedBytes } from '../client/wire-text.ts';
import { pause } from '../turns.ts';
import { newBodyRoom } from './body-room.ts';
import { readBytes, readJson } from './body.ts';
import { streamBackup } from './backup-stream.ts';
import { type FollowingRoute, followingHandlers } from './following-handlers.ts';
import { type GuardOptions, type Guarded, guard, unauthorized } from './guard.ts';
import { jsonInParts, jsonParts } from './json-parts.ts';
import { incomingOf, outgoingOf } from './headers.ts';
import { type Operations, metricsResponse, reloadResponse } from './operations.ts';
import { type PageRoute, pageHandlers } from './page-handlers.ts';
import type { Pages } from './pages.ts';
import { problemOf, problemResponse } from './problem.ts';
import { listRequest, numberOf } from './query.ts';
import { answersParts, grantParts, receiptParts } from './receipt-text.ts';

export interface AppOptions extends GuardOptions {
  readonly onError?: (error: unknown) => void;
  /** Serves `/metrics` and `/admin/reload-catalog`. */
  readonly operations?: Operations;
  /** The pages that have a token; without them, none can get one. */
  readonly pages?: Pages;
}

type Asked = Context<Guarded>;

/** Answers a request, with the client that its token allows. */
type Handler = (context: Asked, client: EngineClient) => Promise<Response>;

/** The routes, under `/v1`. */
export function newApp(client: EngineClient, options: AppOptions): Hono<Guarded> {
  const { onError, operations, pages } = options;
  const app = new Hono<Guarded>();
  app.use('*', guard(options));
  app.notFound(() =>
    problemResponse(
      reject('not_found', '', 'there is no such route; docs/bridge.md lists the routes and their methods'),
    ),
  );
  // An error thrown here is an internal error; its details are not reported.
  app.onError((error) => {
    onError?.(error);
    return problemResponse(
      reject('internal', '', 'the request failed inside the engine; read the session before you send it again'),
    );
  });

  const room = newBodyRoom();
  const clients = new WeakMap<Access, EngineClient>();
  const clientOf = (access: Access): EngineClient => {
    const known = clients.get(access) ?? withAccess(client, access);
    clients.set(access, known);
    return known;
  };
  const handlers: Readonly<Record<RouteName, Handler>> = {
    ...HANDLERS,
    ...followingHandlers(),
    lease: newLeasing(),
    backup: (context, client) =>
      streamBackup(client.backup(), context.get('holder'), undefined, (error) => {
        onError?.(error);
        incomingOf(context)?.socket.destroy();
      }),
    metrics: async () =>
      operations === undefined
        ? problemResponse(reject('not_found', '', 'this server was started without figures'))
        : metricsResponse(operations),
    reloadCatalog: () => reloadResponse(operations),
    ...pageHandlers(pages),
  };
  for (const name of Object.keys(ROUTES) as readonly RouteName[]) {
    const { method, path } = ROUTES[name];
    app.on(method, path, async (context) => {
      const { access } = context.get('holder');
      const refusal = refuseRoute(access, name);
      if (refusal !== null) return problemResponse(refusal);
      const own = room.enter(access.scope, outgoingOf(context));
      context.set('room', own);
      try {
        return await handlers[name](context, clientOf(access));
      } finally {
        own.done();
      }
    });
  }
  return app;
}

const HANDLERS: Readonly<
  Record<Exclude<RouteName, FollowingRoute | 'lease' | 'backup' | 'metrics' | 'reloadCatalog' | PageRoute>, Handler>
> = {
  info: async (_context, client) => answer(await client.info()()),
  sessions: async (context, client) => {
    const request = listRequest(context);
    return isLeft(request) ? problemResponse(request.left) : answer(await client.sessions(request.right)());
  },
  createSession: async (context, client) =>
    answer(await withBody(context, (request) => client.createSession(request as CreateSession)), 201),
  deleteSession: async (context, client) => answer(await client.deleteSession(sessionOf(context))()),
  deletedSessions: async (context, client) => {
    const request = listRequest(context);
    return isLeft(request) ? problemResponse(request.left) : answer(await client.deletedSessions(request.right)());
  },
  session: async (context, client) => answerInParts(context, await client.session(sessionOf(context))(), jsonParts),
  submit: async (context, client) =>
    answerInParts(
      context,
      await withBody(context, (request) => client.submit(sessionOf(context), request as unknown as Submit)),
      receiptParts,
    ),
  submits: submitAll,
  fork: async (context, client) =>
    answer(await withBody(context, (request) => client.fork(sessionOf(context), request as ForkSession)), 201),
  records: async (context, client) => {
    const range = pipe(
      numberOf('from', context.req.query('from')),
      bindTo('from'),
      bind('limit', () => numberOf('limit', context.req.query('limit'))),
    );
    if (isLeft(range)) return problemResponse(range.left);
    return answer(await client.records(sessionOf(context), range.right.from, range.right.limit)());
  },
  postDeltas: async (context, client) =>
    answer(
      await withBody(context, (request) => client.postDeltas(sessionOf(context), request as unknown as PostDeltas)),
    ),
  heartbeat: async (context, client) =>
    answer(await withBody(context, (request) => client.heartbeat(request as unknown as Heartbeat))),
  release: async (context, client) =>
    answer(await withBody(context, (request) => client.release(request as unknown as Release))),
  putBlob: async (context, client) => {
    const stored = await pipe(
      () => whileCurrent(context, readBytes(context, BLOB_BYTES_MAX)),
      TE.chain((bytes) => client.putBlob(bytes, { durable: context.req.query('durable') !== 'false' })),
    )();
    return isLeft(stored) ? problemResponse(stored.left) : Response.json({ ref: stored.right }, { status: 201 });
  },
  joinBlobs: async (context, client) => {
    const joined = await withBody(context, (request) => client.joinBlobs(request as unknown as JoinBlobs));
    return isLeft(joined) ? problemResponse(joined.left) : Response.json({ ref: joined.right }, { status: 201 });
  },
  getBlob: async (context, client) => {
    const room = context.get('room');
    const blob = await room.read(async () => {
      const read = await client.getBlob((context.req.param('ref') ?? '') as Digest)();
      const full = isLeft(read) ? null : room.take(read.right.length);
      return full === null ? read : left(full);
    });
    if (isLeft(blob)) return problemResponse(blob.left);
    const headers = { 'content-type': 'application/octet-stream', 'content-length': String(blob.right.length) };
    return new Response(blob.right.length === 0 ? null : inParts(blob.right), { headers });
  },
};

/** Submits to many sessions in one request, concurrently and independently; {@link SubmitsReply} has the answers. */
async function submitAll(context: Asked, client: EngineClient): Promise<Response> {
  const body = await whileCurrent(context, readJson(context));
  if (isLeft(body)) return problemResponse(body.left);
  const submits = isPlainObject(body.right) ? body.right['submits'] : undefined;
  if (!Array.isArray(submits) || submits.length > SUBMITS_TOGETHER_MAX || !submits.every(isPlainObject)) {
    const most = `submits must be a list of at most ${SUBMITS_TOGETHER_MAX} objects`;
    return problemResponse(reject('invalid_shape', '/submits', most));
  }
  const bytes = Math.ceil((unsharedBytes(body.right) ?? 0) / submits.length);
  const answers = await Promise.all(
    submits.map(async ({ session_id, request }) => {
      const submit = markUnshared(request as Submit, bytes);
      const receipt = await client.submit(session_id as SessionId, submit)();
      return isLeft(receipt) ? jsonParts(problemOf(receipt.left)) : receiptParts(receipt.right);
    }),
  );
  return await jsonInParts(answersParts(answers), { pause, signal: context.req.raw.signal });
}

/** Requests for work wait, so their number is bounded. */
function newLeasing(): Handler {
  let waiting = 0;
  return async (context, client) => {
    if (waiting >= LEASES_WAITING_MAX) {
      const message = `${LEASES_WAITING_MAX} requests wait for work already; try again later`;
      return problemResponse(reject('queue_full', '', message));
    }
    waiting += 1;
    try {
      const { signal } = context.req.raw;
      const granted = await withBody(context, (request) => client.lease(request as unknown as LeaseRequest, signal));
      // The token may have been replaced while the request waited: then the leases expire, and another bridge gets them.
      return context.get('holder').isCurrent()
        ? answerInParts(context, granted, grantParts)
        : problemResponse(unauthorized());
    } finally {
      waiting -= 1;
    }
  };
}

/** Bytes in parts, each of which is sent by itself: to copy and send a large blob at once would hold the event loop. */
function inParts(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at + PART_BYTES));
      at += PART_BYTES;
      if (at >= bytes.length) controller.close();
    },
  });
}

const PART_BYTES = 262_144;

/** Reads the body of a request, then runs `work` with it. */
async function withBody<T>(
  context: Asked,
  work: (request: Json) => TE.TaskEither<Rejection, T>,
): Promise<Either<Rejection, T>> {
  const request = await whileCurrent(context, readJson(context));
  return isLeft(request) ? request : await work(request.right)();
}

/** What was read, unless the token was replaced meanwhile: a body may take long to arrive. */
async function whileCurrent<T>(context: Asked, reading: Promise<Either<Rejection, T>>): Promise<Either<Rejection, T>> {
  const read = await reading;
  return context.get('holder').isCurrent() ? read : left(unauthorized());
}

const answer = <T>(result: Either<Rejection, T>, status = 200): Response =>
  isLeft(result) ? problemResponse(result.left) : Response.json(result.right, { status });

/** An answer that may be large. */
const answerInParts = async <T>(
  context: Asked,
  result: Either<Rejection, T>,
  write: (value: T) => Iterable<string>,
): Promise<Response> =>
  isLeft(result)
    ? problemResponse(result.left)
    : await jsonInParts(write(result.right), { pause, signal: context.req.raw.signal });

const sessionOf = (context: Context): SessionId => (context.req.param('id') ?? '') as SessionId;
