// MCP servers over HTTP: a real server on this machine, and requests that are not made.
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { RefusedRequest, guardedFetch, isPrivateAddress } from '../../../bridge/mcp/guarded-fetch.ts';
import { open, raw } from '../../support/mcp/opened.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, message: Said) => void;
interface Said {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string };
}

interface Listening extends AsyncDisposable {
  readonly url: string;
  readonly seen: IncomingMessage[];
}

async function listen(handle: Handler): Promise<Listening> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString('utf8')));
    request.on('end', () => handle(request, response, (body === '' ? {} : JSON.parse(body)) as Said));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};

/** A server of 2025-06-18 with one tool, which `call` answers. */
const plain =
  (call: Handler): Handler =>
  (request, response, message) => {
    const { id, method } = message;
    const answer = (result: unknown): void => json(response, { jsonrpc: '2.0', id, result });
    if (request.method !== 'POST') response.writeHead(405).end();
    else if (method === 'initialize')
      answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } });
    else if (method === 'tools/list') answer({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] });
    else if (method === 'tools/call') call(request, response, message);
    else if (id === undefined) response.writeHead(202).end();
    else json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  };

const said = (text: string, { id }: Said) => ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });

test('a server over HTTP gets its token by reference, and its answer does not show it', async () => {
  const token = 'a-token-of-many-characters';
  await using server = await listen(
    plain((request, response, message) => json(response, said(`you sent ${request.headers.authorization}`, message))),
  );
  const headers = { Authorization: 'Bearer ${env:FAR_TOKEN}' };
  await using opened = await open({ far: { url: server.url, headers } }, { FAR_TOKEN: token });
  await opened.logged('mcp_server_ready', 'far');
  expect(await opened.call('mcp.far.echo')).toEqual({ success: true, text: 'you sent ‹secret›' });
  expect(server.seen.every(({ headers: sent }) => sent.authorization === `Bearer ${token}`)).toBe(true);
  expect(JSON.stringify(opened.log)).not.toContain(token);
});

test('a variable without a value keeps the server from starting, and is named', async () => {
  await using opened = await open({ far: { url: 'http://127.0.0.1:1/', headers: { A: '${env:NONE_SUCH}' } } });
  expect(await opened.logged('mcp_server_unavailable')).toMatchObject({
    why: expect.stringContaining('NONE_SUCH') as string,
  });
});

describe('a server that misbehaves', () => {
  test.each<readonly [what: string, handle: Handler, why: RegExp]>([
    [
      'redirects to another origin',
      (_q, response) => void response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
      /not its own origin/,
    ],
    [
      'redirects for ever',
      (_q, response) => void response.writeHead(307, { location: '/mcp' }).end(),
      /redirects more than 5/,
    ],
    [
      'redirects a request so that its body is lost',
      (_q, response) => void response.writeHead(302, { location: '/other' }).end(),
      /loses its body/,
    ],
    ['refuses without a token', (_q, response) => void response.writeHead(401).end(), /refold mcp login "bad"/],
    ['fails', (_q, response) => void response.writeHead(500).end('broken'), /500/],
    [
      'answers with a page',
      (_q, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
      /content type/,
    ],
  ])('%s: it is unavailable, another one is not', async (_what, handle, why) => {
    await using server = await listen(handle);
    await using opened = await open({ bad: { url: server.url }, good: raw('plain') });
    expect(await opened.logged('mcp_server_unavailable', 'bad')).toMatchObject({
      why: expect.stringMatching(why) as string,
    });
    await opened.logged('mcp_server_ready', 'good');
    expect(await opened.call('mcp.good.echo')).toMatchObject({ success: true });
  });

  test.each(['application/json', 'text/event-stream'])('sends an endless %s: the call fails', async (type) => {
    await using server = await listen(
      plain((_request, response) => {
        response.writeHead(200, { 'content-type': type });
        if (type === 'text/event-stream') response.write('data: ');
        const part = 'x'.repeat(1_048_576);
        const more = (): void => {
          if (!response.destroyed) response.write(part, more);
        };
        more();
      }),
    );
    await using opened = await open({ bad: { url: server.url } });
    await opened.logged('mcp_server_ready', 'bad');
    const signal = AbortSignal.timeout(5_000);
    expect(await opened.call('mcp.bad.echo', {}, { signal })).toMatchObject({ success: false });
  });
});

describe('a request that a server leads to', () => {
  const answers = (status: number, location?: string) => () =>
    Promise.resolve(new Response('', { status, ...(location === undefined ? {} : { headers: { location } }) }));
  const ports = (addresses: readonly string[], fetch = answers(200)) => ({
    fetch,
    addressesOf: () => Promise.resolve(addresses),
  });

  test.each([
    '10.0.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '192.168.1.1',
    '172.20.0.1',
    '100.64.0.1',
    '::1',
    'fd00::1',
    'fe80::1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
  ])('is not made when its host has the private address %s', async (address) => {
    expect(isPrivateAddress(address)).toBe(true);
    const fetching = guardedFetch(['https://example.com/mcp'], ports([address]))('https://login.example.org/token');
    await expect(fetching).rejects.toThrow(RefusedRequest);
  });

  test('is made when all its addresses are public, and never without encryption', async () => {
    const fetch = guardedFetch(['https://example.com/mcp'], ports(['93.184.216.34']));
    expect((await fetch('https://login.example.org/token')).status).toBe(200);
    await expect(fetch('http://login.example.org/token')).rejects.toThrow('not https');
    await expect(
      guardedFetch(['https://example.com/'], ports(['93.184.216.34', '10.0.0.1']))('https://x.org/'),
    ).rejects.toThrow('10.0.0.1');
  });

  test('the host that the operator names may be private; a redirect to another one is not followed', async () => {
    expect(
      (await guardedFetch(['http://127.0.0.1:80/mcp'], ports(['127.0.0.1']))('http://127.0.0.1:80/mcp')).status,
    ).toBe(200);
    const fetch = guardedFetch(
      ['https://example.com/mcp'],
      ports(['93.184.216.34'], answers(308, 'https://example.com.evil.org/')),
    );
    await expect(fetch('https://example.com/mcp', { method: 'POST' })).rejects.toThrow('not its own origin');
  });
});
