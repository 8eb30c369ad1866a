// The HTTP face of an engine: one route for each method of its client, and nothing that is not behind one. The client
// decodes what it is given; this file only knows where to find it.
import { Hono, type Context } from 'hono';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { integer, decode } from '../../schemas/codec.ts';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, SUBMITS_TOGETHER_MAX, SUBSCRIBERS_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { CreateSession, ForkSession, Heartbeat, LeaseRequest, Release, Submit } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { ownWire, ownWireBytes } from '../client/wire-text.ts';
import { readBytes, readJson } from './body.ts';
import { streamEvents } from './event-stream.ts';
import { guard } from './guard.ts';
import { problemOf, problemResponse } from './problem.ts';
import { grantText, receiptText } from './receipt-text.ts';

export interface AppOptions {
  readonly token: string;
  /** Hosts under which the engine may be addressed. */
  readonly hosts: readonly string[];
}

/** The routes, under `/v1`. */
export function newApp(client: EngineClient, { token, hosts }: AppOptions): Hono {
  const app = new Hono();
  app.use('*', guard(token, hosts));
  app.notFound(() => problemResponse(reject('not_found', '', 'there is no such route; see the README')));
  // Whatever is thrown is a fault of ours: said so, without its insides.
  app.onError(() => problemResponse(reject('storage_failed', '', 'the request failed inside the engine')));

  app.get('/v1', async () => answer(await client.info()()));
  app.get('/v1/sessions', async () => answer(await client.sessions()()));
  app.post('/v1/sessions', async (context) => {
    const request = await readJson(context);
    if (isLeft(request)) return problemResponse(request.left);
    return answer(await client.createSession(request.right as CreateSession)(), 201);
  });
  addSubmits(app, client);
  addSessionRoutes(app, client);
  addLeaseRoutes(app, client);
  addBlobRoutes(app, client);
  return app;
}

/** Submits to many sessions in one request, as {@link SubmitsReply} answers them: taken side by side, each for itself. */
function addSubmits(app: Hono, client: EngineClient): void {
  app.post('/v1/submits', async (context) => {
    const body = await readJson(context);
    if (isLeft(body)) return problemResponse(body.left);
    const submits = isPlainObject(body.right) ? body.right['submits'] : undefined;
    if (!Array.isArray(submits) || submits.length > SUBMITS_TOGETHER_MAX || !submits.every(isPlainObject)) {
      const most = `must be a list of at most ${SUBMITS_TOGETHER_MAX} submits`;
      return problemResponse(reject('invalid_shape', '/submits', most));
    }
    const bytes = Math.ceil((ownWireBytes(body.right) ?? 0) / submits.length);
    const answers = await Promise.all(
      submits.map(async ({ session_id, request }) => {
        const submit = ownWire(request as Submit, bytes);
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

  app.post('/v1/sessions/:id/events', async (context) => {
    const request = await readJson(context);
    if (isLeft(request)) return problemResponse(request.left);
    return answer(await client.submit(sessionOf(context), request.right as unknown as Submit)(), 200, receiptText);
  });

  app.post('/v1/sessions/:id/forks', async (context) => {
    const request = await readJson(context);
    if (isLeft(request)) return problemResponse(request.left);
    return answer(await client.fork(sessionOf(context), request.right as ForkSession)(), 201);
  });

  app.get('/v1/sessions/:id/records', async (context) => {
    const from = numberOf('from', context.req.query('from'));
    if (isLeft(from)) return problemResponse(from.left);
    const limit = numberOf('limit', context.req.query('limit'));
    if (isLeft(limit)) return problemResponse(limit.left);
    return answer(await client.records(sessionOf(context), from.right, limit.right)());
  });

  app.get('/v1/sessions/:id/events', async (context) => {
    // A reader that was cut off resumes after the last id it saw.
    const last = numberOf('last-event-id', context.req.header('last-event-id'));
    if (isLeft(last)) return problemResponse(last.left);
    const asked = numberOf('from', context.req.query('from'));
    if (isLeft(asked)) return problemResponse(asked.left);
    const known = await client.session(sessionOf(context))();
    if (isLeft(known)) return problemResponse(known.left);
    if (subscribers >= SUBSCRIBERS_MAX) {
      return problemResponse(reject('queue_full', '', `${SUBSCRIBERS_MAX} subscribers follow already`));
    }
    subscribers += 1;
    const from = last.right === undefined ? (asked.right ?? 0) : last.right + 1;
    return streamEvents((signal) => client.follow(sessionOf(context), { from, signal }), {
      gone: context.req.raw.signal,
      onEnd: () => {
        subscribers -= 1;
      },
    });
  });
}

function addLeaseRoutes(app: Hono, client: EngineClient): void {
  app.post('/v1/leases', async (context) => {
    const request = await readJson(context);
    if (isLeft(request)) return problemResponse(request.left);
    return answer(
      await client.lease(request.right as unknown as LeaseRequest, context.req.raw.signal)(),
      200,
      grantText,
    );
  });
  app.post('/v1/leases/heartbeat', async (context) => {
    const request = await readJson(context);
    if (isLeft(request)) return problemResponse(request.left);
    return answer(await client.heartbeat(request.right as unknown as Heartbeat)());
  });
  app.post('/v1/leases/release', async (context) => {
    const request = await readJson(context);
    if (isLeft(request)) return problemResponse(request.left);
    return answer(await client.release(request.right as unknown as Release)());
  });
}

function addBlobRoutes(app: Hono, client: EngineClient): void {
  app.post('/v1/blobs', async (context) => {
    const bytes = await readBytes(context, BLOB_BYTES_MAX);
    if (isLeft(bytes)) return problemResponse(bytes.left);
    const stored = await client.putBlob(bytes.right)();
    return isLeft(stored) ? problemResponse(stored.left) : Response.json({ ref: stored.right }, { status: 201 });
  });
  app.get('/v1/blobs/:ref', async (context) => {
    const blob = await client.getBlob(context.req.param('ref') as Digest)();
    if (isLeft(blob)) return problemResponse(blob.left);
    return new Response(new Uint8Array(blob.right), { headers: { 'content-type': 'application/octet-stream' } });
  });
}

const answer = <T>(
  result: Either<Rejection, T>,
  status = 200,
  write: (value: T) => string = JSON.stringify,
): Response => (isLeft(result) ? problemResponse(result.left) : jsonResponse(write(result.right), status));

const jsonResponse = (text: string, status = 200): Response =>
  new Response(text, { status, headers: { 'content-type': 'application/json' } });

const sessionOf = (context: Context): SessionId => (context.req.param('id') ?? '') as SessionId;

const Count = integer('a number', 0);

/** A number in the query or in a header, when it is given. */
function numberOf(name: string, text: string | undefined): Either<Rejection, number | undefined> {
  if (text === undefined) return right(undefined);
  const decoded = decode(Count, /^\d{1,16}$/.test(text) ? Number(text) : text);
  return isLeft(decoded) ? left({ ...decoded.left, path: `/${name}` }) : decoded;
}
