// Who may speak to the engine at all (DESIGN section 7): a known Host on every request, so that a rebound name of some
// web page does not reach it; no page at all as Origin; and the bearer token.
import type { MiddlewareHandler } from 'hono';
import { reject } from '../../schemas/rejection.ts';
import { headerOf } from './headers.ts';
import { problemResponse } from './problem.ts';
import { tokenCheck } from './token.ts';

/** Hosts under which an engine on loopback may be addressed. */
export const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

export function guard(token: string, hosts: readonly string[]): MiddlewareHandler {
  const isToken = tokenCheck(token);
  return async (context, next) => {
    const host = (headerOf(context, 'host') ?? '').replace(/:\d+$/, '').toLowerCase();
    if (!hosts.includes(host)) {
      return problemResponse(reject('forbidden', '/host', `the host "${host}" is not one of this engine's`));
    }
    if (headerOf(context, 'origin') !== undefined) {
      return problemResponse(reject('forbidden', '/origin', 'requests of web pages are not taken'));
    }
    const given = /^Bearer (\S+)$/.exec(headerOf(context, 'authorization') ?? '')?.[1];
    if (given === undefined || !isToken(given)) {
      return problemResponse(reject('unauthorized', '/authorization', 'send "Authorization: Bearer <token>"'));
    }
    return await next();
  };
}
