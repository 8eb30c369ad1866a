// The HTTP API of an engine: the routes of `schemas/access.ts`, one for each method of its client, and one for several submits
// at once. What each takes and gives is in `api/route-shapes.ts`; what it does is in `route-handlers.ts`, for streams as well.
import { Hono, type Context } from 'hono';
import { type Either, isLeft, left } from 'fp-ts/lib/Either.js';
import { ROUTES, type RouteName } from '../../schemas/access.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import type { FrameRoute } from '../client/frames/frame-texts.ts';
import { refuseRoute } from '../client/with-access.ts';
import type { RouteShape } from './api/route-shape.ts';
import { ROUTE_SHAPES } from './api/route-shapes.ts';
import type { RequestRoom } from './body-room.ts';
import { readBytes, readJson } from './body.ts';
import { streamBackup } from './backup-stream.ts';
import { followingHandlers } from './following-handlers.ts';
import { type GuardOptions, type Guarded, guard, unauthorized } from './guard.ts';
import type { Asked, HttpHandler, HttpHandlers } from './handler.ts';
import { incomingOf, outgoingOf } from './headers.ts';
import { handlerResponse } from './http-answer.ts';
import { type McpDoor, addMcpRoute } from './mcp-route.ts';
import { type Operations, metricsResponse, reloadedCatalog } from './operations.ts';
import { pageHandlers } from './page-handlers.ts';
import type { Pages } from './pages.ts';
import { internalFault, problemResponse } from './problem.ts';
import { queryOf } from './query.ts';
import { type Routes, newRoutes } from './route-handlers.ts';

export interface AppOptions extends GuardOptions {
  readonly onError?: (error: unknown) => void;
  /** Serves `/metrics` and `/admin/reload-catalog`. */
  readonly operations?: Operations;
  /** What speaks MCP, loaded with the first request for it; without it, there is no such route. */
  readonly mcp?: () => Promise<McpDoor>;
  /** The pages that have a token; without them, none can get one. */
  readonly pages?: Pages;
}

/** The routes, under `/v1`. `routes`: those that streams have, too. */
export function newApp(
  client: EngineClient,
  options: AppOptions,
  { handlers: shared, room, clientOf }: Routes = newRoutes(client),
): Hono<Guarded> {
  const { onError, mcp } = options;
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
    return problemResponse(internalFault());
  });
  if (mcp !== undefined) addMcpRoute(app, { open: mcp, room, clientOf });
  const handlers: HttpHandlers<RouteName> = { ...shared, ...httpHandlers(options) };
  for (const name of Object.keys(ROUTES) as readonly RouteName[]) {
    const { method, path } = ROUTES[name];
    const given: RouteShape = ROUTE_SHAPES[name];
    // The query is decoded by the shape of this very route.
    const handler = handlers[name] as HttpHandler<RouteName>;
    app.on(method, path, async (context) => {
      const { access } = context.get('holder');
      const refusal = refuseRoute(access, name);
      if (refusal !== null) return problemResponse(refusal);
      const query = queryOf(context, given.query);
      if (isLeft(query)) return problemResponse(query.left);
      const own = room.enter(access.scope, outgoingOf(context));
      context.set('room', own);
      try {
        const answer = await handler({
          ...askedOver(context, own),
          context,
          client: clientOf(access),
          query: query.right,
          get signal() {
            return context.req.raw.signal;
          },
        });
        return await handlerResponse(given, answer, () => context.req.raw.signal);
      } finally {
        own.done();
      }
    });
  }
  return app;
}

/** What only HTTP has: streams of other kinds, and what is for people. */
const httpHandlers = ({ onError, operations, pages }: AppOptions): HttpHandlers<Exclude<RouteName, FrameRoute>> => ({
  ...followingHandlers(),
  backup: ({ context, client, holder }) =>
    streamBackup(client.backup(), holder, undefined, (error) => {
      onError?.(error);
      incomingOf(context)?.socket.destroy();
    }),
  metrics: async () =>
    operations === undefined
      ? left(reject('not_found', '', 'this server was started without figures'))
      : metricsResponse(operations),
  reloadCatalog: () => reloadedCatalog(operations),
  ...pageHandlers(pages),
});

function askedOver(
  context: Context<Guarded>,
  room: RequestRoom,
): Pick<Asked<RouteName>, 'holder' | 'of' | 'room' | 'body' | 'bytes'> {
  return {
    holder: context.get('holder'),
    of: context.req.param('id') ?? context.req.param('ref') ?? '',
    room,
    body: () => whileCurrent(context, readJson(context)) as Promise<Either<Rejection, never>>,
    bytes: (bytesMax) => whileCurrent(context, readBytes(context, bytesMax)),
  };
}

/** What was read, unless the token was replaced meanwhile: a body may take long to arrive. */
async function whileCurrent<T>(
  context: Context<Guarded>,
  reading: Promise<Either<Rejection, T>>,
): Promise<Either<Rejection, T>> {
  const read = await reading;
  return context.get('holder').isCurrent() ? read : left(unauthorized());
}
