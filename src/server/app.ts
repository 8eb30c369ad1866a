// The HTTP API of an engine: the routes of `schemas/access.ts`, one for each method of its client, and one for several submits
// at once. What each takes and gives is in `api/route-shapes.ts`; the client decodes its arguments, and this file only finds them
// in the request.
import { Hono, type Context } from 'hono';
import { type Either, isLeft, left } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { type Access, ROUTES, type RouteName } from '../../schemas/access.ts';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { LEASES_WAITING_MAX, SUBMITS_TOGETHER_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Submit } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { refuseRoute, withAccess } from '../client/with-access.ts';
import { markUnshared, unsharedBytes } from '../client/wire-text.ts';
import { pause } from '../turns.ts';
import type { RouteShape } from './api/route-shape.ts';
import { ROUTE_SHAPES } from './api/route-shapes.ts';
import { newBodyRoom } from './body-room.ts';
import { readBytes, readJson } from './body.ts';
import { streamBackup } from './backup-stream.ts';
import { type FollowingRoute, followingHandlers } from './following-handlers.ts';
import { type GuardOptions, type Guarded, guard, unauthorized } from './guard.ts';
import { type Asked, type Handler, type Handlers, handlerResponse } from './handler.ts';
import { jsonInParts, jsonParts } from './json-parts.ts';
import { incomingOf, outgoingOf } from './headers.ts';
import { type McpDoor, addMcpRoute } from './mcp-route.ts';
import { type Operations, metricsResponse, reloadedCatalog } from './operations.ts';
import { type PageRoute, pageHandlers } from './page-handlers.ts';
import type { Pages } from './pages.ts';
import { problemOf, problemResponse } from './problem.ts';
import { queryOf } from './query.ts';
import { answersParts, grantParts, receiptParts } from './receipt-text.ts';

export interface AppOptions extends GuardOptions {
  readonly onError?: (error: unknown) => void;
  /** Serves `/metrics` and `/admin/reload-catalog`. */
  readonly operations?: Operations;
  /** What speaks MCP, loaded with the first request for it; without it, there is no such route. */
  readonly mcp?: () => Promise<McpDoor>;
  /** The pages that have a token; without them, none can get one. */
  readonly pages?: Pages;
}

/** The routes, under `/v1`. */
export function newApp(client: EngineClient, options: AppOptions): Hono<Guarded> {
  const { onError, operations, pages, mcp } = options;
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
  const handlers: Handlers<RouteName> = {
    ...HANDLERS,
    ...followingHandlers(),
    lease: newLeasing(),
    backup: ({ context, client: its }) =>
      streamBackup(its.backup(), context.get('holder'), undefined, (error) => {
        onError?.(error);
        incomingOf(context)?.socket.destroy();
      }),
    metrics: async () =>
      operations === undefined
        ? left(reject('not_found', '', 'this server was started without figures'))
        : metricsResponse(operations),
    reloadCatalog: () => reloadedCatalog(operations),
    ...pageHandlers(pages),
  };
  if (mcp !== undefined) addMcpRoute(app, { open: mcp, room, clientOf });
  for (const name of Object.keys(ROUTES) as readonly RouteName[]) {
    const { method, path } = ROUTES[name];
    const given: RouteShape = ROUTE_SHAPES[name];
    // The query is decoded by the shape of this very route.
    const handler = handlers[name] as Handler<RouteName>;
    app.on(method, path, async (context) => {
      const { access } = context.get('holder');
      const refusal = refuseRoute(access, name);
      if (refusal !== null) return problemResponse(refusal);
      const query = queryOf(context, given.query);
      if (isLeft(query)) return problemResponse(query.left);
      const own = room.enter(access.scope, outgoingOf(context));
      context.set('room', own);
      const body = (): Promise<Either<Rejection, never>> =>
        whileCurrent(context, readJson(context)) as Promise<Either<Rejection, never>>;
      try {
        return handlerResponse(given, await handler({ context, client: clientOf(access), query: query.right, body }));
      } finally {
        own.done();
      }
    });
  }
  return app;
}

const HANDLERS: Handlers<
  Exclude<RouteName, FollowingRoute | 'lease' | 'backup' | 'metrics' | 'reloadCatalog' | PageRoute>
> = {
  info: ({ client }) => client.info()(),
  sessions: ({ client, query }) => client.sessions(query)(),
  createSession: (asked) => withBody(asked, (request) => asked.client.createSession(request)),
  deleteSession: ({ context, client }) => client.deleteSession(sessionOf(context))(),
  deletedSessions: ({ client, query }) => client.deletedSessions(query)(),
  session: async ({ context, client }) => answerInParts(context, await client.session(sessionOf(context))(), jsonParts),
  submit: async (asked) => {
    const id = sessionOf(asked.context);
    return answerInParts(
      asked.context,
      await withBody(asked, (request) => asked.client.submit(id, request)),
      receiptParts,
    );
  },
  submits: submitAll,
  fork: (asked) => withBody(asked, (request) => asked.client.fork(sessionOf(asked.context), request)),
  records: ({ context, client, query }) => client.records(sessionOf(context), query.from, query.limit)(),
  postDeltas: (asked) => withBody(asked, (request) => asked.client.postDeltas(sessionOf(asked.context), request)),
  heartbeat: (asked) => withBody(asked, (request) => asked.client.heartbeat(request)),
  release: (asked) => withBody(asked, (request) => asked.client.release(request)),
  putBlob: ({ context, client, query: { durable = true } }) =>
    pipe(
      () => whileCurrent(context, readBytes(context, ROUTE_SHAPES.putBlob.body.bytesMax)),
      TE.chain((bytes) => client.putBlob(bytes, { durable })),
      TE.map((ref) => ({ ref })),
    )(),
  joinBlobs: (asked) =>
    pipe(
      () => withBody(asked, (request) => asked.client.joinBlobs(request)),
      TE.map((ref) => ({ ref })),
    )(),
  getBlob: async ({ context, client }) => {
    const room = context.get('room');
    const blob = await room.read(async () => {
      const read = await client.getBlob((context.req.param('ref') ?? '') as Digest)();
      const full = isLeft(read) ? null : room.take(read.right.length);
      return full === null ? read : left(full);
    });
    if (isLeft(blob)) return blob;
    const headers = {
      'content-type': ROUTE_SHAPES.getBlob.answer.type,
      'content-length': String(blob.right.length),
    };
    return new Response(blob.right.length === 0 ? null : inParts(blob.right), { headers });
  },
};

/** Submits to many sessions in one request, concurrently and independently; {@link SubmitsReply} has the answers. */
async function submitAll({ context, client, body: read }: Asked<'submits'>): Promise<Response> {
  const body: Either<Rejection, unknown> = await read();
  if (isLeft(body)) return problemResponse(body.left);
  const submits: unknown = isPlainObject(body.right) ? body.right['submits'] : undefined;
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
function newLeasing(): Handler<'lease'> {
  let waiting = 0;
  return async (asked) => {
    const { context, client } = asked;
    if (waiting >= LEASES_WAITING_MAX) {
      const message = `${LEASES_WAITING_MAX} requests wait for work already; try again later`;
      return problemResponse(reject('queue_full', '', message));
    }
    waiting += 1;
    try {
      const { signal } = context.req.raw;
      const granted = await withBody(asked, (request) => client.lease(request, signal));
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
async function withBody<Body, T>(
  { body }: { readonly body: () => Promise<Either<Rejection, Body>> },
  work: (request: Body) => TE.TaskEither<Rejection, T>,
): Promise<Either<Rejection, T>> {
  const request = await body();
  return isLeft(request) ? request : await work(request.right)();
}

/** What was read, unless the token was replaced meanwhile: a body may take long to arrive. */
async function whileCurrent<T>(
  context: Context<Guarded>,
  reading: Promise<Either<Rejection, T>>,
): Promise<Either<Rejection, T>> {
  const read = await reading;
  return context.get('holder').isCurrent() ? read : left(unauthorized());
}

/** An answer that may be large. */
const answerInParts = async <T>(
  context: Context<Guarded>,
  result: Either<Rejection, T>,
  write: (value: T) => Iterable<string>,
): Promise<Response> =>
  isLeft(result)
    ? problemResponse(result.left)
    : await jsonInParts(write(result.right), { pause, signal: context.req.raw.signal });

const sessionOf = (context: Context): SessionId => (context.req.param('id') ?? '') as SessionId;
