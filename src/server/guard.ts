// Decides which requests the engine accepts (docs/design.md, "Safety"): the Host must be known, so that a web page cannot
// reach the engine by DNS rebinding; there must be no Origin header; and the bearer token must match.
import type { MiddlewareHandler } from 'hono';
import { reject } from '../../schemas/rejection.ts';
import { headerOf } from './headers.ts';
import { problemResponse } from './problem.ts';
import { tokenCheck } from './token.ts';

/** The host names of an engine on loopback. */
export const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

export function guard(token: string, hosts: readonly string[]): MiddlewareHandler {
  const isToken = tokenCheck(token);
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
    if (given === undefined || !isToken(given)) {
      return problemResponse(reject('unauthorized', '/authorization', 'send "Authorization: Bearer <token>"'));
    }
    return await next();
  };
}
