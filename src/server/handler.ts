// What the handler of a route is given and gives, by the shape of the route.
import type { Context } from 'hono';
import type { Either } from 'fp-ts/lib/Either.js';
import type { RouteName } from '../../schemas/access.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import type { AnswerOf, BodyOf, QueryOf } from './api/route-shape.ts';
import type { RouteShapes } from './api/route-shapes.ts';
import type { RequestRoom } from './body-room.ts';
import type { Guarded } from './guard.ts';
import type { TokenHolder } from './token-holder.ts';

/** A request, over HTTP or in a frame. */
export interface Asked<Name extends RouteName> {
  readonly holder: TokenHolder;
  /** The client that the token of the request allows. */
  readonly client: EngineClient;
  /** The parameter of its path. */
  readonly of: string;
  readonly query: QueryOf<RouteShapes[Name]>;
  /** Reads the JSON body, which the client decodes; refused when the token was replaced meanwhile. */
  readonly body: () => Promise<Either<Rejection, BodyOf<RouteShapes[Name]>>>;
  /** Reads a body that is no JSON; refused likewise. */
  readonly bytes: (bytesMax: number) => Promise<Either<Rejection, Uint8Array>>;
  /** The room for its bodies. */
  readonly room: RequestRoom;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Sends something before the answer; absent where nothing can be. */
  readonly push?: (parts: Iterable<string>) => void;
}

/** JSON in parts, as it may be long. */
export interface InParts {
  readonly _tag: 'Parts';
  readonly parts: Iterable<string>;
}

export interface InBytes {
  readonly _tag: 'Bytes';
  readonly bytes: Uint8Array;
}

/** An answer, which gets the status of the route. */
export type Answer<T = unknown> = Either<Rejection, T> | InParts | InBytes;

/** What a route does, however it is asked. */
export type Handler<Name extends RouteName> = (asked: Asked<Name>) => Promise<Answer<AnswerOf<RouteShapes[Name]>>>;
export type Handlers<Name extends RouteName> = { readonly [N in Name]: Handler<N> };

/** What a route does that only HTTP has. Its response may be a stream. */
export type HttpHandler<Name extends RouteName> = (
  asked: Asked<Name> & { readonly context: Context<Guarded> },
) => Promise<Response | Answer<AnswerOf<RouteShapes[Name]>>>;
export type HttpHandlers<Name extends RouteName> = { readonly [N in Name]: HttpHandler<N> };
