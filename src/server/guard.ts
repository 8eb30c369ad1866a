// Decides which requests the engine accepts (docs/design.md, "Safety"): the Host must be known, so that a web page cannot
// reach the engine by DNS rebinding; there must be no Origin header; and the bearer token must match.
import type { MiddlewareHandler } from 'hono';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { headerOf } from './headers.ts';
import { problemResponse } from './problem.ts';
import type { TokenHolder, Tokens } from './tokens.ts';

/** The host names of an engine on loopback. */
export const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

export const unauthorized = (): Rejection =>
  reject('unauthorized', '/authorization', 'send "Authorization: Bearer <token>"');

/** What the guard learns of a request. */
export interface Guarded {
  Variables: { readonly holder: TokenHolder };
}

export function guard(tokens: Tokens, hosts: readonly string[]): MiddlewareHandler<Guarded> {
  return async (context, next) => {
    const host = (headerOf(context, 'host') ?? '').replace(/:\d+$/, '').toLowerCase();
    if (!hosts.includes(host)) {
      return problemResponse(
        reject('forbidden', '/host', `the host "${host}" is not a name of this engine; use ${hosts[0] ?? ''}`),
      );
    }
    if (headerOf(context, 'origin') !== undefined) {
      return problemResponse(
        reject(
          'forbidden',
          '/origin',
          'requests with an Origin header are refused: a web page must not use the engine; send none',
        ),
      );
    }
    const given = /^Bearer (\S+)$/.exec(headerOf(context, 'authorization') ?? '')?.[1];
    const holder = given === undefined ? null : tokens.find(given);
    if (holder === null) return problemResponse(unauthorized());
    context.set('holder', holder);
    return await next();
  };
}
