// `/mcp` over a real server: the guards of every other route, hosts of both protocols, and what one may see of another.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, expect, test, vi } from 'vitest';
import { HOSTS_MAX } from '../../schemas/limits.ts';
import { BODY_BYTES_MAX } from '../../schemas/limits.ts';
import { systemClock } from '../../src/clock.ts';
import { newMcpHttp } from '../../src/mcp/http.ts';
import { serve } from '../../src/server/serve.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { type Hosted, newHosted } from '../support/mcp/hosted.ts';

const TOKENS = { operator: 'a'.repeat(64), bridge: 'b'.repeat(64), viewer: 'c'.repeat(64) };

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serving(): Promise<{ readonly url: URL; readonly hosted: Hosted }> {
  const hosted = await newHosted();
  const mcp = newMcpHttp({ clock: systemClock, key: 'k'.repeat(32), hostAnswers: false, place: '' });
  const served = await serve(hosted.host.client, { tokens: fixedTokens(TOKENS), port: 0, mcp: async () => mcp });
  ends.push(
    () => hosted.close(),
    () => served.close(),
    () => mcp.close(),
  );
  return { url: new URL(`${served.url}/mcp?session=${hosted.host.session}`), hosted };
}

const bearer = (token: string = TOKENS.operator) => ({ authorization: `Bearer ${token}` });

async function connected(url: URL, modern: boolean): Promise<Client> {
  const mode = modern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {}, ...mode });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: bearer() } }));
  ends.push(() => client.close());
  return client;
}

const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const HELLO = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const JSON_TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const post = (url: URL, body: string, headers: Record<string, string> = bearer()) =>
  fetch(url, { method: 'POST', body, headers: { ...JSON_TYPES, ...headers } });

test.each([false, true])('tools are listed, called and told of (modern: %s)', async (modern) => {
  const { url, hosted } = await serving();
  const client = await connected(url, modern);
  expect((await client.listTools()).tools).toHaveLength(5);
  expect(await client.callTool({ name: 'count', arguments: {} })).toMatchObject({ structuredContent: { n: 1 } });
  const batch = [
    client.callTool({ name: 'look', arguments: { at: 'a' } }),
    client.callTool({ name: 'risky', arguments: {} }),
  ];
  if (!modern) expect((await Promise.all(batch))[1]).toMatchObject({ isError: true });
  else await batch[0];
  expect(hosted.ran).toHaveLength(2);
  await Promise.allSettled([client.close(), ...batch]);
});

test.each([
  ['no token', {}, 401],
  ['another token', bearer('d'.repeat(64)), 401],
  ['a bridge', bearer(TOKENS.bridge), 403],
  ['a viewer', bearer(TOKENS.viewer), 403],
  ['a page elsewhere', { ...bearer(), origin: 'https://evil.example' }, 403],
] as const)('%s is refused before the body is read', async (_name, headers, status) => {
  const { url } = await serving();
  expect((await post(url, '{', headers)).status).toBe(status);
});

test('a body that is no JSON, or too large, is refused with a code', async () => {
  const { url } = await serving();
  for (const [body, code] of [
    ['{', 'malformed_json'],
    ['['.repeat(1_000), 'too_deep'],
    [`"${'x'.repeat(BODY_BYTES_MAX)}"`, 'too_large'],
  ] as const) {
    expect(await (await post(url, body)).json()).toMatchObject({ code });
  }
});

test('an unknown session, and a name that is none, are refused', async () => {
  const { url } = await serving();
  for (const [session, status] of [
    ['nobody', 404],
    ['../x', 400],
  ] as const) {
    const other = new URL(url);
    other.searchParams.set('session', session);
    expect((await post(other, HELLO)).status).toBe(status);
  }
});

test('a connection belongs to the token that made it, and ends with DELETE', async () => {
  const { url } = await serving();
  const hello = await post(url, HELLO);
  const id = hello.headers.get('mcp-session-id') ?? 'none';
  expect(hello.status).toBe(200);
  const own = { ...bearer(), 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  expect((await post(url, PING, own)).status).toBe(200);
  expect((await post(url, PING, { ...own, 'mcp-session-id': 'another' })).status).toBe(404);
  expect((await post(url, PING)).status).toBe(400);
  expect((await fetch(url, { method: 'DELETE', headers: own })).status).toBe(200);
  expect((await post(url, PING, own)).status).toBe(404);
});

test('one more host than may be connected disconnects the one that was idle longest', async () => {
  const { url } = await serving();
  const ids: string[] = [];
  for (let n = 0; n <= HOSTS_MAX; n += 1) {
    const hello = await post(url, HELLO);
    expect(hello.status).toBe(200);
    await hello.text();
    ids.push(hello.headers.get('mcp-session-id') ?? 'none');
  }
  const ping = async (id = '') =>
    (await post(url, PING, { ...bearer(), 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' })).status;
  expect(await ping(ids[0])).toBe(404);
  expect(await ping(ids.at(-1))).toBe(200);
});

test('a host with an open call is not disconnected for another one', async () => {
  const { url, hosted } = await serving();
  const calling = await connected(url, false);
  const answer = calling.callTool({ name: 'slow', arguments: {} });
  await vi.waitFor(async () => expect(await hosted.recorded('ToolCallStarted')).toHaveLength(1), 5_000);
  for (let n = 0; n <= HOSTS_MAX; n += 1) expect((await post(url, HELLO)).status).toBe(200);
  hosted.release();
  expect(await answer).not.toHaveProperty('isError', true);
});

test('the first requests of a token, at once, share one session', async () => {
  const { url, hosted } = await serving();
  const { client } = hosted.host;
  const create = vi.spyOn(client, 'createSession');
  const mcp = newMcpHttp({ clock: systemClock, key: 'k'.repeat(32), hostAnswers: false, place: '' });
  ends.push(() => mcp.close());
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: MODERN_META } };
  const headers = { ...JSON_TYPES, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  const ask = () => {
    const request = new Request(url.origin, { method: 'POST', headers });
    return mcp.answer({ request, body: list, client, sender: 'one' });
  };
  const answers = await Promise.all([ask(), ask(), ask()]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(create).toHaveBeenCalledTimes(1);
});

test('without what speaks it there is no such route', async () => {
  const hosted = await newHosted();
  const served = await serve(hosted.host.client, { tokens: fixedTokens(TOKENS), port: 0 });
  ends.push(
    () => hosted.close(),
    () => served.close(),
  );
  expect((await post(new URL(`${served.url}/mcp`), HELLO)).status).toBe(404);
});
