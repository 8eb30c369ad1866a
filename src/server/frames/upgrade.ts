// Makes a stream of a connection that asks for one, after the checks of every request. A connection that asks for another
// protocol gets the answer that it would get without asking.
import { type IncomingMessage, STATUS_CODES, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import { STREAM_PATH, STREAM_PROTOCOL } from '../../client/frames/frame-texts.ts';
import { type GuardOptions, holderAt } from '../guard.ts';
import { rawHeader } from '../headers.ts';
import { problemOf } from '../problem.ts';
import type { Routes } from '../route-handlers.ts';
import type { TokenHolder } from '../token-holder.ts';
import { serveFrames } from './frame-session.ts';

/** Takes the connections of a server that ask for another protocol. */
export type Upgrade = (server: Server, incoming: IncomingMessage, socket: Socket, head: Buffer) => void;

interface UpgradeOptions extends Pick<GuardOptions, 'tokens' | 'hosts' | 'door'> {
  /** Once the engine is open. */
  readonly routes: Promise<Routes>;
  readonly onError: (error: unknown) => void;
}

export function newUpgrade({ routes, onError, ...guarding }: UpgradeOptions): Upgrade {
  return (server, incoming, socket, head) => {
    socket.on('error', () => socket.destroy());
    const header = (name: string): string | undefined => rawHeader(incoming.rawHeaders, name);
    if (header('upgrade')?.toLowerCase() !== STREAM_PROTOCOL) {
      serveWithout(server, incoming, socket, head);
      return;
    }
    const holder = holderAt(socket, header, guarding);
    if (isLeft(holder)) {
      refuse(socket, holder.left);
      return;
    }
    if (incoming.method !== 'GET' || incoming.url !== STREAM_PATH) {
      refuse(socket, reject('not_found', '', `a stream is opened with GET ${STREAM_PATH}`));
      return;
    }
    guarding.door?.keepOpen(socket);
    void begin(socket, head, { holder: holder.right, routes, onError });
  };
}

/** Begins the stream when the engine is open; a connection to one that does not open ends. */
async function begin(
  socket: Socket,
  head: Buffer,
  { holder, routes, onError }: Pick<UpgradeOptions, 'routes' | 'onError'> & { readonly holder: TokenHolder },
): Promise<void> {
  const opened = await routes.catch(() => null);
  if (opened === null) socket.destroy();
  if (opened === null || socket.destroyed) return;
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${STREAM_PROTOCOL}\r\n\r\n`);
  serveFrames(socket, head, { holder, routes: opened, onError });
}

/** Who has no token for a stream has none: 401 for its scope as well. */
function refuse(socket: Socket, rejection: Rejection): void {
  const problem = problemOf(rejection);
  const status = rejection.code === 'forbidden_scope' ? 401 : problem.status;
  const body = JSON.stringify({ ...problem, status });
  const headers = [
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${headers.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), REFUSED_MS).unref();
}

/** Gives the request back to the server without what asked for a protocol, as some HTTP clients do with every request. */
function serveWithout(
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (!ASKING.has(rawHeaders[at]?.toLowerCase() ?? '')) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}

const ASKING: ReadonlySet<string> = new Set(['connection', 'upgrade', 'http2-settings']);
const REFUSED_MS = 1_000;
