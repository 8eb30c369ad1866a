// Listens on loopback by default, with stricter limits than the platform's (docs/design.md, "Safety").
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { REQUEST_MS_MAX, STRANGER_MS_MAX } from '../../schemas/limits.ts';
import type { EngineClient } from '../client/client.ts';
import { type AppOptions, newApp } from './app.ts';
import { newDoor } from './door.ts';
import { LOOPBACK_HOSTS, guard } from './guard.ts';

export interface ServeOptions {
  /** The bearer token that every request must carry; not empty. */
  readonly token: string;
  /** 0 for any free port. */
  readonly port: number;
  /** An address of this machine; loopback by default. */
  readonly host?: string;
}

export interface Serving {
  readonly url: string;
  /** Accepts no further requests and ends the open ones. */
  close(): Promise<void>;
}

/**
 * Serves an engine's client over HTTP. Rejects when the server cannot listen on the address, and with a TypeError when no
 * client could send the token in a header. When `client` is a promise, the server listens at once, and early requests wait
 * until the engine is open instead of being refused.
 */
export async function serve(client: EngineClient | Promise<EngineClient>, options: ServeOptions): Promise<Serving> {
  const host = options.host ?? '127.0.0.1';
  const { token } = options as { readonly token: unknown };
  if (typeof token !== 'string' || !/^[\x20-\x7e]+$/.test(token) || token.trim() !== token) {
    throw new TypeError('token must be printable ASCII, not empty, without white space around it');
  }
  const server = createAdaptorServer({
    fetch: (...request) => handle(...request),
    serverOptions: {
      requestTimeout: REQUEST_MS_MAX,
      headersTimeout: STRANGER_MS_MAX,
      // How often the platform looks at both.
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 16_384,
    },
  }) as Server;
  const door = newDoor(server);
  const handle = fetchOf(client, { token: options.token, hosts: [...LOOPBACK_HOSTS, host.toLowerCase()], door });
  server.maxHeadersCount = 64;
  server.maxRequestsPerSocket = 100_000;
  server.keepAliveTimeout = 30_000;
  await new Promise<void>((resolve, fail) => {
    server.once('error', fail);
    server.listen(options.port, host, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function fetchOf(client: EngineClient | Promise<EngineClient>, options: AppOptions): Hono['fetch'] {
  if (!(client instanceof Promise)) return newApp(client, options).fetch;
  let app: Hono | null = null;
  const opening = client.then((opened) => (app = newApp(opened, options)));
  // The caller that opens the engine reports a failure and closes the server, which ends the waiting requests.
  opening.catch(() => undefined);
  // Who has no token does not wait for the engine.
  const waiting = new Hono();
  waiting.use('*', guard(options.token, options.hosts, options.door));
  waiting.all('*', async ({ req, env }) => (await opening).fetch(req.raw, env));
  return (...request) => (app ?? waiting).fetch(...request);
}
