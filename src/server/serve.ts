// Serves an engine on loopback by default, with its page (docs/design.md, "Safety").
import { Hono } from 'hono';
import type { EngineClient } from '../client/client.ts';
import { newApp } from './app.ts';
import { type GuardOptions, type Guarded, LOOPBACK_HOSTS, guard } from './guard.ts';
import { newUpgrade } from './frames/upgrade.ts';
import { type Answering, type SocketServing, listen } from './listen.ts';
import { newOpenRoutes } from './open-routes.ts';
import type { McpDoor } from './mcp-route.ts';
import { newRoutes } from './route-handlers.ts';
import { type Operations, answerProbe } from './operations.ts';
import { PAGE_DIRECTORY } from './page-files.ts';
import { type Pages, newPages } from './pages.ts';
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
  /** What speaks MCP at `/mcp`, loaded with the first request; without it, there is no such route. */
  readonly mcp?: () => Promise<McpDoor>;
  /** The directory with the files of the page; that of the package by default. */
  readonly pageDirectory?: string;
}

/**
 * Serves an engine's client over HTTP, and at `/` the page that shows its sessions, which gets a token of its own for a code
 * (`refold open`). Rejects when the server cannot listen on the address. When `client` is a promise, the server listens at
 * once, and early requests wait until the engine is open instead of being refused.
 */
export async function serve(
  client: EngineClient | Promise<EngineClient>,
  options: ServeOptions,
): Promise<SocketServing> {
  const { host = '127.0.0.1', port, tokens, pageDirectory = PAGE_DIRECTORY } = options;
  const pages = newPages(undefined, tokens.pages);
  const guarding = {
    tokens: { find: (given: string) => pages.find(given) ?? tokens.find(given) },
    hosts: [...LOOPBACK_HOSTS, host.toLowerCase()],
    openRoutes: newOpenRoutes(pageDirectory, pages),
  };
  return await listen((door) => answeringOf(client, options, { ...guarding, door, pages }), { host, port });
}

type App = ReturnType<typeof newApp>;

function answeringOf(
  client: EngineClient | Promise<EngineClient>,
  { onError, operations, mcp }: ServeOptions,
  guarding: GuardOptions & { readonly pages: Pages },
): Answering {
  const routes = Promise.resolve(client).then(newRoutes);
  // The caller that opens the engine reports a failure.
  routes.catch(() => undefined);
  const upgrade = newUpgrade({ ...guarding, routes, onError: onError ?? (() => undefined) });
  const fixed = {
    ...guarding,
    ...(onError === undefined ? {} : { onError }),
    ...(mcp === undefined ? {} : { mcp }),
  };
  let app: App | null = null;
  let opened: Operations | null = null;
  const opening = Promise.all([client, operations, routes]).then(([ready, its, shared]) => {
    opened = its ?? null;
    return (app = newApp(ready, { ...fixed, ...(its === undefined ? {} : { operations: its }) }, shared));
  });
  // The caller that opens the engine reports a failure and closes the server, which ends the waiting requests.
  opening.catch(() => undefined);
  // Who has no token does not wait for the engine.
  const waiting = new Hono<Guarded>();
  waiting.use('*', guard(guarding));
  waiting.all('*', async ({ req, env }) => (await opening).fetch(req.raw, env));
  const answer: App['fetch'] = (...request) => (app ?? waiting).fetch(...request);
  const probing: App['fetch'] = (...request) => {
    const path = PROBED.exec(request[0].url)?.[1];
    if (path === undefined) return answer(...request);
    return answerProbe(path, opened).then((probed) => probed ?? answer(...request));
  };
  return { fetch: operations === undefined ? answer : probing, upgrade };
}

const PROBED = /^https?:\/\/[^/]*(\/healthz|\/readyz)(?:\?|$)/;
