// Listens with stricter limits than the platform's.
import { chmod, lstat, rename, rm } from 'node:fs/promises';
import { type IncomingMessage, type RequestListener, type Server, createServer } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { REQUEST_MS_MAX, STRANGER_MS_MAX } from '../../schemas/limits.ts';
import { reject } from '../../schemas/rejection.ts';
import { reasonOf } from '../files/file-failure.ts';
import { type Door, newDoor } from './door.ts';
import type { Upgrade } from './frames/upgrade.ts';
import { type Guarded, refusalResponse } from './guard.ts';

export interface Serving {
  /** Where it listens, such as `http://127.0.0.1:4519`. */
  readonly url: string;
  /** Accepts no further requests and ends the open ones. */
  close(): Promise<void>;
}

/** A server that a socket of this machine's files reaches, too. */
export interface SocketServing extends Serving {
  /** Listens there, for this user only, in place of any socket that was left there; returns why it cannot, or null. */
  listenAt(path: string): Promise<string | null>;
}

/** What answers requests, and takes connections that ask for another protocol. */
export interface Answering {
  readonly fetch: Hono<Guarded>['fetch'];
  readonly upgrade?: Upgrade;
}

/** Answers requests at an address of this machine with what `answeringOf` makes. Rejects when it cannot listen there. */
export async function listen(
  answeringOf: (door: Door) => Answering,
  { host, port: wanted }: { readonly host: string; readonly port: number },
): Promise<SocketServing> {
  const answer = getRequestListener((...request) => fetch(...request), { errorHandler: unanswered });
  const server = newServer((incoming, outgoing) => void answer(incoming, outgoing));
  const door = newDoor(server);
  const { fetch, upgrade } = answeringOf(door);
  /** Connections that are no longer the server's, which ends its own. */
  const streams = new Set<Socket>();
  const servers = [server];
  function takeUpgrades(of: Server): void {
    if (upgrade === undefined) return;
    of.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
      streams.add(socket);
      socket.once('close', () => streams.delete(socket));
      upgrade(of, incoming, socket, head);
    });
  }
  takeUpgrades(server);
  await new Promise<void>((resolve, fail) => {
    server.once('error', fail);
    server.listen(wanted, host, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : wanted;
  let withdraw = (): Promise<void> => Promise.resolve();
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    async listenAt(path) {
      const local = newServer((incoming, outgoing) => void answer(incoming, outgoing));
      door.watch(local);
      takeUpgrades(local);
      try {
        withdraw = await listenAtSocket(local, path);
        servers.push(local);
        return null;
      } catch (error) {
        return `bridges of this directory connect by HTTP, as ${path} cannot be listened at: ${reasonOf(error)}`;
      }
    },
    close: async () => {
      await withdraw();
      await Promise.all(servers.map((one) => closed(one, streams)));
    },
  };
}

function newServer(answer: RequestListener): Server {
  const server = createServer(
    {
      requestTimeout: REQUEST_MS_MAX,
      headersTimeout: STRANGER_MS_MAX,
      // How often the platform looks at both.
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 16_384,
    },
    answer,
  );
  server.maxHeadersCount = 64;
  server.maxRequestsPerSocket = 100_000;
  server.keepAliveTimeout = 30_000;
  return server;
}

const closed = (server: Server, streams: ReadonlySet<Socket>): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
    for (const socket of streams) socket.destroy();
  });

/**
 * Listens at a path; returns what removes it. The socket gets its name when only this user can connect to it.
 */
async function listenAtSocket(server: Server, path: string): Promise<() => Promise<void>> {
  if (Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX)
    throw new Error(`its path has more than ${SOCKET_PATH_BYTES_MAX} bytes; use a data directory with a shorter one`);
  const made = `${path}~`;
  await rm(made, { force: true });
  await new Promise<void>((resolve, fail) => {
    server.once('error', fail);
    server.listen(made, resolve);
  });
  await chmod(made, 0o600);
  await rename(made, path);
  const { ino } = await lstat(path);
  return async () => {
    // Another engine may have put its own there.
    const now = await lstat(path).catch(() => null);
    if (now?.ino === ino) await rm(path, { force: true });
  };
}

/** What the address of a socket holds (unix(7)), without the character that is added to the name at first. */
const SOCKET_PATH_BYTES_MAX = 106;

/** The response to a request that came to no handler: its Host and its target are no address, or the server has a fault. */
const unanswered = (error: unknown): Response =>
  refusalResponse(
    error instanceof Error && error.name === 'RequestError'
      ? reject(
          'forbidden',
          '/host',
          'the Host header and the target of the request are no address; send those of a URL',
        )
      : reject('internal', '', 'the request failed inside the server; read the session before you send it again'),
  );
