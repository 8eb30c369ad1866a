// What the handler of a route is given and gives, by the shape of the route.
import type { Context } from 'hono';
import type { Either } from 'fp-ts/lib/Either.js';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { RouteName } from '../../schemas/access.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import type { AnswerOf, BodyOf, QueryOf, RouteShape } from './api/route-shape.ts';
import type { RouteShapes } from './api/route-shapes.ts';
import type { Guarded } from './guard.ts';
import { problemResponse } from './problem.ts';

export interface Asked<Name extends RouteName> {
  readonly context: Context<Guarded>;
  /** The client that the token of the request allows. */
  readonly client: EngineClient;
  readonly query: QueryOf<RouteShapes[Name]>;
  /** Reads the JSON body, which the client decodes; refused when the token was replaced meanwhile. */
  readonly body: () => Promise<Either<Rejection, BodyOf<RouteShapes[Name]>>>;
}

/** An answer, which gets the status of the route; or the response, where it is large or a stream. */
export type Handler<Name extends RouteName> = (
  asked: Asked<Name>,
) => Promise<Response | Either<Rejection, AnswerOf<RouteShapes[Name]>>>;

export type Handlers<Name extends RouteName> = { readonly [N in Name]: Handler<N> };

/** The response with an answer of a handler. */
export function handlerResponse(shape: RouteShape, answer: Response | Either<Rejection, unknown>): Response {
  if (!('_tag' in answer)) return answer;
  const headers: Record<string, string> = shape.noStore === true ? { 'cache-control': 'no-store' } : {};
  return isLeft(answer) ? problemResponse(answer.left) : Response.json(answer.right, { status: shape.status, headers });
}
