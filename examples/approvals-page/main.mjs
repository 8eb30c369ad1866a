// Serves the page, and runs one prompt: node examples/approvals-page/main.mjs
import { readFile } from 'node:fs/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { openAgent } from './agent.mjs';
import { addApprovals } from './hono.mjs';

const own = (name) => readFile(new URL(name, import.meta.url), 'utf8');
const [html, script] = await Promise.all([own('page.html'), own('page.js')]);

const agent = await openAgent();
const app = new Hono();
app.use(async (c, next) => {
  c.header('content-security-policy', "default-src 'self'");
  await next();
});
app.get('/', (c) => c.html(html));
app.get('/page.js', (c) => c.body(script, 200, { 'content-type': 'text/javascript' }));
addApprovals(app, agent);

const run = agent.run('Refund order 42', { session: 'order-42' });
for await (const part of run) if (part.type === 'question') break;
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 0), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`open http://127.0.0.1:${port}/ and answer the question`);
});
const { status, text } = await run.result();
console.log(`${status}: ${text}`);
await agent.close();
server.close();
server.closeAllConnections();
