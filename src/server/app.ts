// The HTTP face of an engine: one route for each method of its client, and nothing that is not behind one.
import { Hono, type Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import type { SessionId } from '../../schemas/ids.ts';
import { Digest, type Position } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, READ_PAGE_RECORDS, SUBSCRIBERS_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { CreateSession, Heartbeat, LeaseRequest, Submit } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { readBody, readBytes } from './body.ts';
import { guard } from './guard.ts';
import { problemResponse } from './problem.ts';

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
    const request = await readBody(context, CreateSession);
    return isLeft(request) ? problemResponse(request.left) : answer(await client.createSession(request.right)(), 201);
  });
  addSessionRoutes(app, client);
  addLeaseRoutes(app, client);
  addBlobRoutes(app, client);
  return app;
}

function addSessionRoutes(app: Hono, client: EngineClient): void {
  let subscribers = 0;
  app.get('/v1/sessions/:id', async (context) => answer(await client.session(sessionOf(context))()));

  app.post('/v1/sessions/:id/events', async (context) => {
    const request = await readBody(context, Submit);
    if (isLeft(request)) return problemResponse(badEvent(request.left));
    return answer(await client.submit(sessionOf(context), request.right)());
  });

  app.get('/v1/sessions/:id/records', async (context) => {
    const from = numberOf(context, 'from');
    const limit = numberOf(context, 'limit') ?? READ_PAGE_RECORDS;
    return answer(await client.records(sessionOf(context), from as Position | undefined, limit)());
  });

  app.get('/v1/sessions/:id/events', async (context) => {
    const known = await client.session(sessionOf(context))();
    if (isLeft(known)) return problemResponse(known.left);
    if (subscribers >= SUBSCRIBERS_MAX) {
      return problemResponse(reject('queue_full', '', `${SUBSCRIBERS_MAX} subscribers follow already`));
    }
    // A reader that was cut off resumes after the last id it saw.
    const last = context.req.header('last-event-id');
    const from = last === undefined ? (numberOf(context, 'from') ?? 0) : Number(last) + 1;
    return streamSSE(context, async (stream) => {
      const over = new AbortController();
      stream.onAbort(() => over.abort());
      subscribers += 1;
      try {
        const events = client.follow(sessionOf(context), { from: from as Position, signal: over.signal });
        for await (const record of events) {
          await stream.writeSSE({ event: 'event', id: String(record.position), data: JSON.stringify(record) });
        }
      } finally {
        subscribers -= 1;
      }
    });
  });
}

function addLeaseRoutes(app: Hono, client: EngineClient): void {
  app.post('/v1/leases', async (context) => {
    const request = await readBody(context, LeaseRequest);
    if (isLeft(request)) return problemResponse(request.left);
    return answer(await client.lease(request.right, context.req.raw.signal)());
  });
  app.post('/v1/leases/heartbeat', async (context) => {
    const request = await readBody(context, Heartbeat);
    return isLeft(request) ? problemResponse(request.left) : answer(await client.heartbeat(request.right)());
  });
  app.post('/v1/leases/release', async (context) => {
    const request = await readBody(context, Heartbeat);
    return isLeft(request) ? problemResponse(request.left) : answer(await client.release(request.right)());
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
    const ref = decode(Digest, context.req.param('ref'));
    const blob = isLeft(ref) ? ref : await client.getBlob(ref.right)();
    if (isLeft(blob)) return problemResponse(blob.left);
    return new Response(new Uint8Array(blob.right), { headers: { 'content-type': 'application/octet-stream' } });
  });
}

const answer = <T>(result: Either<Rejection, T>, status = 200): Response =>
  isLeft(result) ? problemResponse(result.left) : Response.json(result.right, { status });

const sessionOf = (context: Context): SessionId => (context.req.param('id') ?? '') as SessionId;

function numberOf(context: Context, name: string): number | undefined {
  const text = context.req.query(name);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

// The union's own fault is more precise than "no list of events": an unknown kind is told as one.
const badEvent = (rejection: Rejection): Rejection =>
  /^\/events\/\d+\/kind$/.test(rejection.path) ? { ...rejection, code: 'unknown_kind' } : rejection;
