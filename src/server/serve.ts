// Listens on loopback by default, with stricter limits than the platform's (docs/design.md, "Safety").
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { REQUEST_MS_MAX, STRANGER_MS_MAX } from '../../schemas/limits.ts';
import type { EngineClient } from '../client/client.ts';
import { newApp } from './app.ts';
import { type Door, newDoor } from './door.ts';
import { type Guarded, LOOPBACK_HOSTS, guard } from './guard.ts';
import { type Operations, answerProbe } from './operations.ts';
import type { Tokens } from './tokens.ts';

export interface ServeOptions {
  /** The bearer tokens, one of which every request must carry, and what each allows. */
  readonly tokens: Tokens;
  /** 0 for any free port. */
  readonly port: number;
  /** An address of this machine; loopback by default. */
  readonly host?: string;
  /** Called with an error inside the server; the client is told nothing of it. */
  readonly onError?: (error: unknown) => void;
  /** What `/healthz`, `/readyz` and `/metrics` answer from, once the engine is open; without it they are not served. */
  readonly operations?: Promise<Operations>;
}

export interface Serving {
  /** Where it listens, such as `http://127.0.0.1:4519`. */
  readonly url: string;
  /** Accepts no further requests and ends the open ones. */
  close(): Promise<void>;
}

/**
 * Serves an engine's client over HTTP. Rejects when the server cannot listen on the address. When `client` is a promise, the
 * server listens at once, and early requests wait until the engine is open instead of being refused.
 */
export async function serve(client: EngineClient | Promise<EngineClient>, options: ServeOptions): Promise<Serving> {
  const host = options.host ?? '127.0.0.1';
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
  const handle = fetchOf(client, options, { hosts: [...LOOPBACK_HOSTS, host.toLowerCase()], door });
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

type App = ReturnType<typeof newApp>;

function fetchOf(
  client: EngineClient | Promise<EngineClient>,
  { tokens, onError, operations }: ServeOptions,
  { hosts, door }: { readonly hosts: readonly string[]; readonly door: Door },
): App['fetch'] {
  const fixed = { tokens, hosts, door, ...(onError === undefined ? {} : { onError }) };
  if (!(client instanceof Promise) && operations === undefined) return newApp(client, fixed).fetch;
  let app: App | null = null;
  let opened: Operations | null = null;
  const opening = Promise.all([client, operations]).then(([ready, its]) => {
    opened = its ?? null;
    return (app = newApp(ready, { ...fixed, ...(its === undefined ? {} : { operations: its }) }));
  });
  // The caller that opens the engine reports a failure and closes the server, which ends the waiting requests.
  opening.catch(() => undefined);
  // Who has no token does not wait for the engine.
  const waiting = new Hono<Guarded>();
  waiting.use('*', guard(tokens, hosts, door));
  waiting.all('*', async ({ req, env }) => (await opening).fetch(req.raw, env));
  const answer: App['fetch'] = (...request) => (app ?? waiting).fetch(...request);
  if (operations === undefined) return answer;
  return (...request) => {
    const path = PROBED.exec(request[0].url)?.[1];
    if (path === undefined) return answer(...request);
    return answerProbe(path, opened).then((probed) => probed ?? answer(...request));
  };
}

const PROBED = /^https?:\/\/[^/]*(\/healthz|\/readyz)(?:\?|$)/;
