// Decides which requests the engine accepts (docs/design.md, "Safety"): the Host must be known, so that a web page cannot
// reach the engine by DNS rebinding; an Origin header must be that of the engine's own page; and the bearer token must match.
import type { Socket } from 'node:net';
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { Context, MiddlewareHandler } from 'hono';
import { refuseConnectingStranger } from '../files/connecting-user.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { refuseRoute } from '../client/with-access.ts';
import { pause } from '../turns.ts';
import { REQUESTS_OF_VIEWERS_MAX } from '../../schemas/limits.ts';
import type { RequestRoom } from './body-room.ts';
import type { Door } from './door.ts';
import { headerOf, incomingOf } from './headers.ts';
import { problemResponse } from './problem.ts';
import type { TokenHolder } from './token-holder.ts';
import type { Tokens } from './tokens.ts';
import { newTurnstile } from './turnstile.ts';

/** The host names of an engine on loopback. */
export const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

export const unauthorized = (): Rejection =>
  reject('unauthorized', '/authorization', 'send "Authorization: Bearer <token>"');

/** What the guard learns of a request, and the room for its bodies. */
export interface Guarded {
  Variables: { readonly holder: TokenHolder; readonly room: RequestRoom };
}

/** A page of this engine, as a browser says; else a program, or a browser that says nothing. */
export type Sender = 'page' | 'program';

/** Answers a request that needs no token; null for every other one. */
export type OpenRoutes = (context: Context<Guarded>, sender: Sender) => Promise<Response> | null;

export interface GuardOptions {
  readonly tokens: Tokens;
  /** Host names that a request may name. */
  readonly hosts: readonly string[];
  /** Keeps the connections of those who name a token; without one, as in a test without a server, none is kept. */
  readonly door?: Door | undefined;
  readonly openRoutes?: OpenRoutes | undefined;
}

export function guard({ tokens, hosts, door, openRoutes }: GuardOptions): MiddlewareHandler<Guarded> {
  const viewers = newTurnstile(REQUESTS_OF_VIEWERS_MAX);
  return async (context, next) => {
    const socket = incomingOf(context)?.socket;
    // Requests that came in one packet with the one for which the connection was closed.
    if (isGone(socket)) return refusalResponse(GONE);
    const header = (name: string): string | undefined => headerOf(context, name);
    const sender = senderOf(header, hosts);
    if (sender !== 'program' && sender !== 'page') return refusalResponse(sender);
    const opened = openRoutes?.(context, sender) ?? null;
    if (opened !== null) return await opened;
    const holder = holderOf(header, tokens);
    if (holder === null) return refusalResponse(unauthorized());
    context.set('holder', holder);
    const refused = socket === undefined ? null : connectionRefused(socket, holder, door);
    if (refused !== null) return refusalResponse(refused);
    const rest = pause();
    if (rest !== null) await rest;
    if (holder.access.scope !== 'viewer') return await next();
    const leave = await viewers.enter();
    try {
      // Nobody reads the answer.
      return isGone(socket) ? refusalResponse(GONE) : await next();
    } finally {
      leave();
    }
  };
}

type Header = (name: string) => string | undefined;

/** The holder of the token of a program that asks for a connection of its own, or why it is refused: by the same checks. */
export function holderAt(
  socket: Socket,
  header: Header,
  { tokens, hosts, door }: Pick<GuardOptions, 'tokens' | 'hosts' | 'door'>,
): Either<Rejection, TokenHolder> {
  const sender = senderOf(header, hosts);
  if (sender !== 'program') return left(sender === 'page' ? OTHER_ORIGIN : sender);
  const holder = holderOf(header, tokens);
  if (holder === null) return left(unauthorized());
  const refusal = refuseRoute(holder.access, 'lease') ?? connectionRefused(socket, holder, door);
  return refusal === null ? right(holder) : left(refusal);
}

/** Why the connection of a holder of a token is refused, or null. */
function connectionRefused(socket: Socket, { access, isPage }: TokenHolder, door?: Door): Rejection | null {
  // Who listened at this address while no engine did may have been sent the token of a page, which a browser sends unasked.
  const stranger = isPage === true ? strangerAt(socket) : null;
  if (stranger !== null) return reject('forbidden', '', stranger);
  return door === undefined || door.admit(socket, access.scope) ? null : NO_SLOT;
}

/** {@link refuseConnectingStranger}, once for each connection. */
function strangerAt(socket: Socket): string | null {
  const known = LOOKED_AT.get(socket);
  if (known !== undefined) return known;
  const stranger = refuseConnectingStranger(socket);
  LOOKED_AT.set(socket, stranger);
  return stranger;
}

const LOOKED_AT = new WeakMap<Socket, string | null>();

/** Who sends a request, or why it is refused: it names another host, or it comes from another page. */
function senderOf(header: Header, hosts: readonly string[]): Sender | Rejection {
  const address = (header('host') ?? '').toLowerCase();
  const host = address.replace(/:\d+$/, '');
  if (!hosts.includes(host)) {
    return reject('forbidden', '/host', `the host "${host}" is not a name of this engine; use ${hosts[0] ?? ''}`);
  }
  const origin = header('origin');
  if (origin === undefined) return 'program';
  // A page elsewhere cannot set either of the two. A browser sends the second only where no one in between can change it.
  const isOwn = origin === `http://${address}` && header('sec-fetch-site') === 'same-origin';
  return isOwn ? 'page' : OTHER_ORIGIN;
}

function holderOf(header: Header, tokens: Tokens): TokenHolder | null {
  const given = /^Bearer (\S+)$/.exec(header('authorization') ?? '')?.[1];
  return given === undefined ? null : tokens.find(given);
}

const OTHER_ORIGIN = reject(
  'forbidden',
  '/origin',
  'no page but that of this engine, in a browser that sends Sec-Fetch-Site, may use it; send no Origin header',
);

const isGone = (socket?: { readonly destroyed: boolean }): boolean => socket?.destroyed === true;

const GONE = reject('queue_full', '', 'the connection is closed; wait for answers before sending more requests');

const NO_SLOT = reject(
  'queue_full',
  '',
  'every connection for a token of this scope is in use; close one, or try again later',
);

/** The connection of a refused request is closed: whoever has the token does not send such requests. */
export function refusalResponse(rejection: Rejection): Response {
  const response = problemResponse(rejection);
  response.headers.set('connection', 'close');
  return response;
}
