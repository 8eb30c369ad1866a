// examples/approvals-page: a session over server-sent events, and answers over HTTP, in each server that it shows.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Server } from 'node:http';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { createAdaptorServer } from '@hono/node-server';
import { createParser } from 'eventsource-parser';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Agent } from '../../embed/agent/index.ts';
import type { RequiredAction } from '../../src/core/index.ts';
import { readDocument, readExample } from '../support/documents.ts';
import { expressLike } from '../support/e2e/express-like.ts';
import { ROOT } from '../support/e2e/refold.ts';

const FOLDER = join(ROOT, 'examples/approvals-page');
// As Node loads them, so that `refold` is the built package.
const require = createRequire(import.meta.url);
const load = (name: string): Record<string, unknown> => require(join(FOLDER, name)) as Record<string, unknown>;
type Add = (app: unknown, agent: Agent) => void;

function honoServer(agent: Agent): Server {
  const app = new Hono();
  (load('hono.mjs')['addApprovals'] as Add)(app, agent);
  return (createAdaptorServer({ fetch: app.fetch }) as Server).listen(0, '127.0.0.1');
}

/** `compat/approvals.test.ts` runs it in Express itself. */
function expressServer(agent: Agent): Server {
  const app = expressLike();
  (load('express.mjs')['addApprovals'] as Add)(app, agent);
  return app.listen(0, '127.0.0.1');
}

interface Seen {
  readonly id: number;
  readonly status: string;
  readonly waiting: readonly RequiredAction[];
}

/** The events of a stream, until it is left. */
async function* eventsOf(url: string, headers: Record<string, string> = {}): AsyncGenerator<Seen> {
  const stop = new AbortController();
  const response = await fetch(url, { headers, signal: stop.signal });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const found: Seen[] = [];
  const parser = createParser({
    onEvent: ({ id, data }) => found.push({ id: Number(id), ...(JSON.parse(data) as Omit<Seen, 'id'>) }),
  });
  const utf8 = new TextDecoder();
  try {
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      parser.feed(utf8.decode(bytes, { stream: true }));
      yield* found.splice(0);
    }
  } finally {
    stop.abort();
  }
}

async function firstThat(events: AsyncIterable<Seen>, fits: (seen: Seen) => boolean): Promise<Seen> {
  for await (const seen of events) if (fits(seen)) return seen;
  throw new Error('the stream ended');
}

const post = async (url: string, body: object): Promise<number> => {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
};

describe.each<[string, (agent: Agent) => Server]>([
  ['Hono', honoServer],
  ['the interface of Express', expressServer],
])('%s', (_name, open) => {
  test('streams a session, goes on after the last event seen, and takes the answer to what was shown, once', async () => {
    const agent = await (load('agent.mjs')['openAgent'] as () => Promise<Agent>)();
    const run = agent.run('Refund order 42', { session: 'order-42' });
    for await (const part of run) if (part.type === 'question') break;
    const server = open(agent);
    if (!server.listening) await once(server, 'listening');
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/sessions/order-42`;
    try {
      const seen = await firstThat(eventsOf(`${url}/events`), ({ waiting }) => waiting.length > 0);
      const [action] = seen.waiting;
      expect(seen.status).toBe('requires_action');
      expect(action).toMatchObject({ tool_name: 'refund_order', arguments: { cents: 4_200 } });
      const { batch_id: batch, arguments_digest: digest } = action as RequiredAction;
      const answer = `${url}/calls/refund`;
      expect(await post(answer, { batch, digest: `sha256:${'0'.repeat(64)}`, allow: true })).toBe(409);
      expect(await post(answer, { batch: 'batch-9', digest, allow: true })).toBe(409);
      expect(await post(answer, { batch, digest, allow: true })).toBe(204);
      expect(await post(answer, { batch, digest, allow: true })).toBe(409);
      expect(await run.result()).toMatchObject({ status: 'completed', calls: [{ status: 'succeeded' }] });
      const later = eventsOf(`${url}/events`, { 'last-event-id': String(seen.id) });
      const next = await firstThat(later, ({ id }) => id > seen.id);
      expect(next.waiting).toEqual([]);
    } finally {
      server.closeAllConnections();
      server.close();
      await agent.close();
    }
  });
});

test('the program serves the page, and ends when its question is answered', async () => {
  const child = spawn(process.execPath, ['examples/approvals-page/main.mjs'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value: first } = (await lines.next()) as { value: string };
  const url = /http:\S+\//.exec(first)?.[0] ?? '';
  const page = await fetch(url);
  expect(page.headers.get('content-security-policy')).toBe("default-src 'self'");
  expect(await page.text()).toContain('<script type="module" src="page.js">');
  expect((await fetch(`${url}page.js`)).headers.get('content-type')).toContain('text/javascript');
  const { waiting } = await firstThat(eventsOf(`${url}sessions/order-42/events`), (seen) => seen.waiting.length > 0);
  const { batch_id: batch, arguments_digest: digest } = waiting[0] as RequiredAction;
  expect(await post(`${url}sessions/order-42/calls/refund`, { batch, digest, allow: true })).toBe(204);
  expect(((await lines.next()) as { value: string }).value).toBe(
    'completed: I was told: refunded 4200 cents of order <b>42</b>',
  );
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).toBe(0);
});

test('the script of the page makes text nodes only', async () => {
  const script = await readFile(join(FOLDER, 'page.js'), 'utf8');
  expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(/);
});

test.each(['hono', 'express'])('docs/library.md shows the routes of %s as they are', async (name) => {
  const [, code] = /(export function[\s\S]*)$/.exec(await readDocument(`examples/approvals-page/${name}.mjs`)) ?? [];
  expect(await readExample(`approvals-${name}`)).toContain(code?.trim());
});
