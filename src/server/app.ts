// The HTTP API of an engine: one route for each method of its client, and one for several submits at once. The client
// decodes its arguments; this file only finds them in the request.
import { Hono, type Context } from 'hono';
import { type Either, bind, bindTo, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { integer, decode } from '../../schemas/codec.ts';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { type Json, isPlainObject } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, LEASES_WAITING_MAX, SUBMITS_TOGETHER_MAX, SUBSCRIBERS_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type {
  CreateSession,
  ForkSession,
  Heartbeat,
  LeaseRequest,
  ListSessions,
  Release,
  Submit,
} from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { markUnshared, unsharedBytes } from '../client/wire-text.ts';
import { readBytes, readJson } from './body.ts';
import type { Door } from './door.ts';
import { streamEvents } from './event-stream.ts';
import { guard } from './guard.ts';
import { problemOf, problemResponse } from './problem.ts';
import { grantText, receiptText } from './receipt-text.ts';

export interface AppOptions {
  readonly token: string;
  /** Host names that a request may name. */
  readonly hosts: readonly string[];
  /** Keeps the connections of those who name the token. */
  readonly door?: Door;
}

/** The routes, under `/v1`. */
export function newApp(client: EngineClient, { token, hosts, door }: AppOptions): Hono {
  const app = new Hono();
  app.use('*', guard(token, hosts, door));
  app.notFound(() =>
    problemResponse(
      reject('not_found', '', 'there is no such route; docs/bridge.md lists the routes and their methods'),
    ),
  );
  // An error thrown here is an internal error; its details are not reported.
  app.onError(() => problemResponse(reject('storage_failed', '', 'the request failed inside the engine')));

  app.get('/v1', async () => answer(await client.info()()));
  app.get('/v1/sessions', async (context) => {
    const request = listRequest(context);
    return isLeft(request) ? problemResponse(request.left) : answer(await client.sessions(request.right)());
  });
  app.post('/v1/sessions', async (context) =>
    answer(await withBody(context, (request) => client.createSession(request as CreateSession)), 201),
  );
  addSubmits(app, client);
  addSessionRoutes(app, client);
  addLeaseRoutes(app, client);
  addBlobRoutes(app, client);
  return app;
}

/** Submits to many sessions in one request, concurrently and independently; {@link SubmitsReply} has the answers. */
function addSubmits(app: Hono, client: EngineClient): void {
  app.post('/v1/submits', async (context) => {
    const body = await readJson(context);
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
        return isLeft(receipt) ? JSON.stringify(problemOf(receipt.left)) : receiptText(receipt.right);
      }),
    );
    return jsonResponse(`{"answers":[${answers.join(',')}]}`);
  });
}

function addSessionRoutes(app: Hono, client: EngineClient): void {
  let subscribers = 0;
  app.get('/v1/sessions/:id', async (context) => answer(await client.session(sessionOf(context))()));

  app.post('/v1/sessions/:id/events', async (context) =>
    answer(
      await withBody(context, (request) => client.submit(sessionOf(context), request as unknown as Submit)),
      200,
      receiptText,
    ),
  );

  app.post('/v1/sessions/:id/forks', async (context) =>
    answer(await withBody(context, (request) => client.fork(sessionOf(context), request as ForkSession)), 201),
  );

  app.get('/v1/sessions/:id/records', async (context) => {
    const range = pipe(
      numberOf('from', context.req.query('from')),
      bindTo('from'),
      bind('limit', () => numberOf('limit', context.req.query('limit'))),
    );
    if (isLeft(range)) return problemResponse(range.left);
    return answer(await client.records(sessionOf(context), range.right.from, range.right.limit)());
  });

  app.get('/v1/sessions/:id/events', async (context) => {
    const start = await pipe(
      TE.fromEither(followFrom(context)),
      // Once the stream has begun, its status cannot change, so an unknown session is refused here.
      TE.chainFirst(() => client.session(sessionOf(context))),
    )();
    if (isLeft(start)) return problemResponse(start.left);
    if (subscribers >= SUBSCRIBERS_MAX) {
      const message = `${SUBSCRIBERS_MAX} readers follow sessions already; try again later`;
      return problemResponse(reject('queue_full', '', message));
    }
    subscribers += 1;
    const from = start.right;
    return streamEvents((signal) => client.followCommits(sessionOf(context), { from, signal }), {
      disconnected: context.req.raw.signal,
      onEnd: () => {
        subscribers -= 1;
      },
    });
  });
}

function addLeaseRoutes(app: Hono, client: EngineClient): void {
  let waiting = 0;
  app.post('/v1/leases', async (context) => {
    if (waiting >= LEASES_WAITING_MAX) {
      const message = `${LEASES_WAITING_MAX} requests wait for work already; try again later`;
      return problemResponse(reject('queue_full', '', message));
    }
    waiting += 1;
    try {
      const { signal } = context.req.raw;
      const granted = await withBody(context, (request) => client.lease(request as unknown as LeaseRequest, signal));
      return answer(granted, 200, grantText);
    } finally {
      waiting -= 1;
    }
  });
  app.post('/v1/leases/heartbeat', async (context) =>
    answer(await withBody(context, (request) => client.heartbeat(request as unknown as Heartbeat))),
  );
  app.post('/v1/leases/release', async (context) =>
    answer(await withBody(context, (request) => client.release(request as unknown as Release))),
  );
}

function addBlobRoutes(app: Hono, client: EngineClient): void {
  app.post('/v1/blobs', async (context) => {
    const stored = await pipe(
      () => readBytes(context, BLOB_BYTES_MAX),
      TE.chain((bytes) => client.putBlob(bytes)),
    )();
    return isLeft(stored) ? problemResponse(stored.left) : Response.json({ ref: stored.right }, { status: 201 });
  });
  app.get('/v1/blobs/:ref', async (context) => {
    const blob = await client.getBlob(context.req.param('ref') as Digest)();
    if (isLeft(blob)) return problemResponse(blob.left);
    const headers = { 'content-type': 'application/octet-stream', 'content-length': String(blob.right.length) };
    return new Response(blob.right.length === 0 ? null : inParts(blob.right), { headers });
  });
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
  context: Context,
  work: (request: Json) => TE.TaskEither<Rejection, T>,
): Promise<Either<Rejection, T>> {
  const request = await readJson(context);
  return isLeft(request) ? request : await work(request.right)();
}

/** The position from which a reader follows. A reader that reconnects resumes after the last id it saw. */
const followFrom = (context: Context): Either<Rejection, number> =>
  pipe(
    numberOf('last-event-id', context.req.header('last-event-id')),
    bindTo('last'),
    bind('from', () => numberOf('from', context.req.query('from'))),
    map(({ last, from }) => (last === undefined ? (from ?? 0) : last + 1)),
  );

const answer = <T>(
  result: Either<Rejection, T>,
  status = 200,
  write: (value: T) => string = JSON.stringify,
): Response => (isLeft(result) ? problemResponse(result.left) : jsonResponse(write(result.right), status));

const jsonResponse = (text: string, status = 200): Response =>
  new Response(text, { status, headers: { 'content-type': 'application/json' } });

/** The query of a list. Values and names that it does not know are left for the client to refuse. */
const listRequest = (context: Context): Either<Rejection, ListSessions> =>
  pipe(
    numberOf('limit', context.req.query('limit')),
    map((limit) => {
      const values = Object.entries(context.req.query()).map(([name, value]) => [name, FLAGS.get(value) ?? value]);
      return { ...Object.fromEntries(values), ...(limit === undefined ? {} : { limit }) } as ListSessions;
    }),
  );

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

const sessionOf = (context: Context): SessionId => (context.req.param('id') ?? '') as SessionId;

const Count = integer('a number', 0);

/** A number in the query or in a header; undefined when it is absent. */
function numberOf(name: string, text: string | undefined): Either<Rejection, number | undefined> {
  if (text === undefined) return right(undefined);
  const decoded = decode(Count, /^\d{1,16}$/.test(text) ? Number(text) : text);
  return isLeft(decoded) ? left({ ...decoded.left, path: `/${name}` }) : decoded;
}
