// Listens with stricter limits than the platform's.
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { REQUEST_MS_MAX, STRANGER_MS_MAX } from '../../schemas/limits.ts';
import { reject } from '../../schemas/rejection.ts';
import { type Door, newDoor } from './door.ts';
import { type Guarded, refusalResponse } from './guard.ts';

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
  const answer = getRequestListener((...request) => handle(...request), { errorHandler: unanswered });
  const server = createServer(
    {
      requestTimeout: REQUEST_MS_MAX,
      headersTimeout: STRANGER_MS_MAX,
      // How often the platform looks at both.
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 16_384,
    },
    (incoming, outgoing) => void answer(incoming, outgoing),
  );
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
