// The routes for Express that docs/library.md shows, in Express itself.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import express from 'express';
import type { Agent } from 'refold/agent';
import { expect, test } from 'vitest';
import { COMPAT, ROOT } from './support/consumer.ts';

/** The example, where `refold` is the packed one. */
async function withExample<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(COMPAT, 'node_modules/.cache/approvals-'));
  await cp(join(ROOT, 'examples/approvals-page'), folder, { recursive: true });
  return await work(folder).finally(() => rm(folder, { recursive: true }));
}

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/** The data of the first event of a stream. */
async function firstEvent(url: string): Promise<unknown> {
  const stop = new AbortController();
  const response = await fetch(url, { signal: stop.signal });
  let text = '';
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += new TextDecoder().decode(bytes);
    if (text.includes('\n\n')) break;
  }
  stop.abort();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? 'null');
}

test('Express streams a session, and takes the answer to what was shown, once', async () => {
  await withExample(async (folder) => {
    const { openAgent } = (await import(join(folder, 'agent.mjs'))) as { openAgent: () => Promise<Agent> };
    const { addApprovals } = (await import(join(folder, 'express.mjs'))) as {
      addApprovals: (app: unknown, agent: Agent) => void;
    };
    const agent = await openAgent();
    const run = agent.run('Refund order 42', { session: 'order-42' });
    for await (const part of run) if (part.type === 'question') break;
    const app = express();
    app.use(express.json());
    addApprovals(app, agent);
    const server: Server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/sessions/order-42`;
    try {
      const seen = (await firstEvent(`${url}/events`)) as {
        status: string;
        waiting: { tool_name: string; batch_id: string; arguments_digest: string }[];
      };
      expect(seen).toMatchObject({ status: 'requires_action', waiting: [{ tool_name: 'refund_order' }] });
      const { batch_id: batch, arguments_digest: digest } = seen.waiting[0] ?? {};
      expect((await post(`${url}/calls/refund`, { batch: 'batch-9', digest, allow: true })).status).toBe(409);
      expect((await post(`${url}/calls/refund`, { batch, digest, allow: true })).status).toBe(204);
      expect((await post(`${url}/calls/refund`, { batch, digest, allow: true })).status).toBe(409);
      expect(await run.result()).toMatchObject({ status: 'completed', calls: [{ status: 'succeeded' }] });
    } finally {
      server.closeAllConnections();
      server.close();
      await agent.close();
    }
  });
});
