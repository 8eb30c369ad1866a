// Listens with stricter limits than the platform's.
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { Hono } from 'hono';
import { REQUEST_MS_MAX, STRANGER_MS_MAX } from '../../schemas/limits.ts';
import { type Door, newDoor } from './door.ts';
import type { Guarded } from './guard.ts';

export interface Serving {
  /** Where it listens, such as `http://127.0.0.1:4519`. */
  readonly url: string;
  /** Accepts no further requests and ends the open ones. */
  close(): Promise<void>;
}

/** Answers requests at an address of this machine with what `fetchOf` makes. Rejects when it cannot listen there. */
export async function listen(
  fetchOf: (door: Door) => Hono<Guarded>['fetch'],
  { host, port: wanted }: { readonly host: string; readonly port: number },
): Promise<Serving> {
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
  const handle = fetchOf(newDoor(server));
  server.maxHeadersCount = 64;
  server.maxRequestsPerSocket = 100_000;
  server.keepAliveTimeout = 30_000;
  await new Promise<void>((resolve, fail) => {
    server.once('error', fail);
    server.listen(wanted, host, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : wanted;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
