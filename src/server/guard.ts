// Decides which requests the engine accepts (docs/design.md, "Safety"): the Host must be known, so that a web page cannot
// reach the engine by DNS rebinding; there must be no Origin header; and the bearer token must match.
import type { Context, MiddlewareHandler } from 'hono';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { pause } from '../turns.ts';
import { REQUESTS_OF_VIEWERS_MAX } from '../../schemas/limits.ts';
import type { RequestRoom } from './body-room.ts';
import type { Door } from './door.ts';
import { headerOf, incomingOf } from './headers.ts';
import { problemResponse } from './problem.ts';
import type { TokenHolder, Tokens } from './tokens.ts';
import { newTurnstile } from './turnstile.ts';

/** The host names of an engine on loopback. */
export const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

export const unauthorized = (): Rejection =>
  reject('unauthorized', '/authorization', 'send "Authorization: Bearer <token>"');

/** What the guard learns of a request, and the room for its bodies. */
export interface Guarded {
  Variables: { readonly holder: TokenHolder; readonly room: RequestRoom };
}

/** `door`: keeps the connections of those who name a token; without one, as in a test without a server, none is kept. */
export function guard(tokens: Tokens, hosts: readonly string[], door?: Door): MiddlewareHandler<Guarded> {
  const viewers = newTurnstile(REQUESTS_OF_VIEWERS_MAX);
  return async (context, next) => {
    const socket = incomingOf(context)?.socket;
    // Requests that came in one packet with the one for which the connection was closed.
    if (isGone(socket)) return refused(GONE);
    const host = (headerOf(context, 'host') ?? '').replace(/:\d+$/, '').toLowerCase();
    if (!hosts.includes(host)) {
      return refused(
        reject('forbidden', '/host', `the host "${host}" is not a name of this engine; use ${hosts[0] ?? ''}`),
      );
    }
    if (headerOf(context, 'origin') !== undefined) {
      return refused(
        reject(
          'forbidden',
          '/origin',
          'requests with an Origin header are refused: a web page must not use the engine; send none',
        ),
      );
    }
    const holder = holderOf(context, tokens);
    if (holder === null) return refused(unauthorized());
    context.set('holder', holder);
    if (door !== undefined && socket !== undefined && !door.admit(socket, holder.access.scope)) return refused(NO_SLOT);
    const rest = pause();
    if (rest !== null) await rest;
    if (holder.access.scope !== 'viewer') return await next();
    const leave = await viewers.enter();
    try {
      // Nobody reads the answer.
      return isGone(socket) ? refused(GONE) : await next();
    } finally {
      leave();
    }
  };
}

function holderOf(context: Context<Guarded>, tokens: Tokens): TokenHolder | null {
  const given = /^Bearer (\S+)$/.exec(headerOf(context, 'authorization') ?? '')?.[1];
  return given === undefined ? null : tokens.find(given);
}

const isGone = (socket?: { readonly destroyed: boolean }): boolean => socket?.destroyed === true;

const GONE = reject('queue_full', '', 'the connection is closed; wait for answers before sending more requests');

const NO_SLOT = reject(
  'queue_full',
  '',
  'every connection for a token of this scope is in use; close one, or try again later',
);

/** The connection of a refused request is closed: whoever has the token does not send such requests. */
function refused(rejection: Rejection): Response {
  const response = problemResponse(rejection);
  response.headers.set('connection', 'close');
  return response;
}
