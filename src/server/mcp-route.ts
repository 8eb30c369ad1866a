// `/mcp`: hosts that speak MCP, behind the guards of every other route. What speaks the protocol is given by who starts the
// server, and is loaded with the first request.
import { type Either, isLeft, right } from 'fp-ts/lib/Either.js';
import type { Context, Hono } from 'hono';
import type { Access } from '../../schemas/access.ts';
import type { Json } from '../../schemas/json.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import { refuseRoute } from '../client/with-access.ts';
import type { BodyRoom } from './body-room.ts';
import { readJson } from './body.ts';
import { type Guarded, unauthorized } from './guard.ts';
import { outgoingOf } from './headers.ts';
import { problemResponse } from './problem.ts';

/** What speaks the protocol. */
export interface McpDoor {
  /** Answers one request of a host. */
  answer(asked: HostRequest): Promise<Response>;
}

/** A request of a host, which the guards let through. */
interface HostRequest {
  /** As it came, without its body. */
  readonly request: Request;
  /** Its body; undefined when it has none. */
  readonly body: Json | undefined;
  /** The client that its token allows. */
  readonly client: EngineClient;
  /** Names the holder of the token: hosts without a connection that have one token share a session. */
  readonly sender: string;
}

interface McpRouteOptions {
  readonly open: () => Promise<McpDoor>;
  readonly room: BodyRoom;
  readonly clientOf: (access: Access) => EngineClient;
}

export function addMcpRoute(app: Hono<Guarded>, { open, room, clientOf }: McpRouteOptions): void {
  app.on(['POST', 'GET', 'DELETE'], '/mcp', async (context) => {
    const { access, file } = context.get('holder');
    // A host makes sessions and runs: it needs what creating a session needs.
    const refusal = refuseRoute(access, 'createSession');
    if (refusal !== null) return problemResponse(refusal);
    const own = room.enter(access.scope, outgoingOf(context));
    context.set('room', own);
    try {
      const body = await bodyOf(context);
      if (isLeft(body)) return problemResponse(body.left);
      if (!context.get('holder').isCurrent()) return problemResponse(unauthorized());
      const door = await open();
      const sender = file?.digest ?? access.name ?? access.scope;
      return await door.answer({ request: context.req.raw, body: body.right, client: clientOf(access), sender });
    } finally {
      own.done();
    }
  });
}

const bodyOf = async (context: Context<Guarded>): Promise<Either<Rejection, Json | undefined>> =>
  context.req.method === 'POST' ? await readJson(context) : right(undefined);
