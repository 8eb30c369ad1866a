// A person signs in at an MCP server; bridges use the login; whatever the servers do, what was obtained goes nowhere else.
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isLeft } from 'fp-ts/lib/Either.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Keeper, openKeeper } from '../../../bridge/host/exec/keeper.ts';
import { guardedFetch } from '../../../bridge/mcp/guarded-fetch.ts';
import { openCallback } from '../../../bridge/mcp/oauth/callback.ts';
import { type LoginRecord, openLogins } from '../../../bridge/mcp/oauth/login-store.ts';
import { signIn } from '../../../bridge/mcp/oauth/sign-in.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { MCP_CALLBACKS_MAX } from '../../../schemas/limits.ts';
import { systemClock } from '../../../src/clock.ts';
import { parseConfig } from '../../../src/toolsets/mcp-config.ts';
import type { HttpSettings } from '../../../src/toolsets/mcp-config-transport.ts';
import { type Authorizing, startAuthorizing } from '../../support/mcp/authorizing.ts';
import { type Opened, open } from '../../support/mcp/opened.ts';

let directory = '';
let keeper: Keeper;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'refold-login-'));
  keeper = openKeeper();
});
afterEach(() => {
  keeper.close();
  rmSync(directory, { recursive: true, force: true });
});

test('what is no address of a page is answered like any other: a login goes on', async () => {
  const callback = await openCallback(null);
  const { port } = new URL(callback.uri);
  try {
    for (const target of ['//', '//:', 'http://[', '*', '/']) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 404 /);
    }
    const answer = callback.answer('the-state');
    expect((await fetch(`${callback.uri}?state=the-state&code=c`)).status).toBe(200);
    expect((await answer).get('code')).toBe('c');
  } finally {
    await callback.close();
  }
});

function settingsOf(url: string, oauth?: JsonObject): HttpSettings {
  const config = parseConfig(
    JSON.stringify({ mcpServers: { far: { url, ...(oauth === undefined ? {} : { oauth }) } } }),
  );
  if (isLeft(config)) throw new Error(config.left.message);
  const [server] = config.right.servers;
  if (server === undefined) throw new Error(config.right.faults[0]?.message);
  return server.transport as HttpSettings;
}

interface How {
  readonly oauth?: JsonObject;
  readonly scope?: string;
  readonly into?: string;
  /** What the person does; visits the address when absent. */
  readonly person?: (
    address: string,
    callback: Pick<Awaited<ReturnType<typeof openCallback>>, 'uri' | 'paste'>,
  ) => void;
}

function logIn(server: Authorizing, { oauth, scope, into = directory, person }: How = {}): Promise<boolean> {
  const settings = settingsOf(server.url, oauth);
  return signIn(
    { settings, login: openLogins(into).of('far', settings.url), scope: scope ?? null },
    {
      keeper,
      clock: systemClock,
      signal: new AbortController().signal,
      onAddress: person ?? ((address) => void server.visit(address)),
    },
  );
}

const recordOf = (server: Authorizing, at = directory): LoginRecord | null =>
  openLogins(at).of('far', server.url).read();
const loginsOf = ({ configFile }: Opened): string => join(configFile, '..', 'mcp-logins');

/** The server in a bridge, with the login of a person. */
async function openSignedIn(server: Authorizing, oauth?: JsonObject): Promise<Opened> {
  const opened = await open({});
  await logIn(server, { into: loginsOf(opened), ...(oauth === undefined ? {} : { oauth }) });
  opened.configure({ far: { url: server.url, ...(oauth === undefined ? {} : { oauth }) } });
  await opened.logged('mcp_server_ready', 'far');
  return opened;
}

describe('a login', { timeout: 60_000 }, () => {
  test('is asked of a person, not made by a bridge; then it serves, is kept for its owner, and shows nowhere', async () => {
    await using server = await startAuthorizing();
    await using opened = await open({ far: { url: server.url } });
    expect(await opened.logged('mcp_server_unavailable', 'far')).toMatchObject({
      why: expect.stringContaining('refold mcp login "far"') as string,
    });
    expect(server.seen).toEqual([]);
    expect(await logIn(server, { into: loginsOf(opened) })).toBe(true);
    await opened.logged('mcp_server_ready', 'far');
    expect(await opened.call('mcp.far.echo')).toEqual({ success: true, text: 'you sent Bearer ‹secret›' });
    const [file = ''] = readdirSync(loginsOf(opened));
    expect(statSync(join(loginsOf(opened), file)).mode & 0o777).toBe(0o600);
    expect(statSync(loginsOf(opened)).mode & 0o777).toBe(0o700);
    for (const token of server.sent) expect(JSON.stringify(opened.log)).not.toContain(token);
  });

  test('is refreshed, also when another bridge has refreshed it before', async () => {
    await using server = await startAuthorizing();
    await using opened = await openSignedIn(server);
    const first = recordOf(server, loginsOf(opened));
    server.expire();
    expect(await opened.call('mcp.far.echo')).toMatchObject({ success: true });
    const second = recordOf(server, loginsOf(opened));
    expect(second?.tokens.refresh_token).not.toBe(first?.tokens.refresh_token);
    await using other = await open({});
    openLogins(loginsOf(other))
      .of('far', server.url)
      .write(second as LoginRecord);
    other.configure({ far: { url: server.url } });
    await other.logged('mcp_server_ready', 'far');
    server.expire();
    expect(await other.call('mcp.far.echo')).toMatchObject({ success: true });
    // As when both have one data directory: the file has newer tokens than this bridge has read.
    openLogins(loginsOf(opened))
      .of('far', server.url)
      .write(recordOf(server, loginsOf(other)) as LoginRecord);
    expect(await opened.call('mcp.far.echo')).toMatchObject({ success: true });
  });

  test('that another bridge refreshes at the same moment is used as that bridge left it', async () => {
    let race: (() => void) | null = null;
    await using server = await startAuthorizing({
      take(path) {
        if (path === '/token') race?.();
        return false;
      },
    });
    await using opened = await openSignedIn(server);
    const login = openLogins(loginsOf(opened)).of('far', server.url);
    const record = login.read() as LoginRecord;
    server.expire();
    race = () => {
      race = null;
      // The other bridge was first: it has used the refresh token, and has written what it got.
      login.write({ ...record, tokens: { ...record.tokens, ...server.refresh(record.tokens.refresh_token ?? '') } });
    };
    expect(await opened.call('mcp.far.echo')).toMatchObject({ success: true });
  });

  test('that can no longer be refreshed asks for a person', async () => {
    await using server = await startAuthorizing();
    await using opened = await openSignedIn(server);
    server.expire();
    server.revoke();
    expect(await opened.call('mcp.far.echo')).toMatchObject({ success: false, code: 'sign_in_required' });
    expect(server.seen.filter((line) => line.startsWith('POST /register'))).toHaveLength(1);
    expect(await logIn(server, { into: loginsOf(opened) })).toBe(true);
    expect(await opened.call('mcp.far.echo')).toMatchObject({ success: true });
    // The client of the first login serves again.
    expect(server.seen.filter((line) => line.startsWith('POST /register'))).toHaveLength(1);
  });

  test('asks next time for what a call lacked', async () => {
    await using server = await startAuthorizing({ needed: 'write' });
    await using opened = await openSignedIn(server);
    expect(recordOf(server, loginsOf(opened))?.tokens.scope).toBe('read');
    expect(await opened.call('mcp.far.echo')).toMatchObject({ success: false, code: 'sign_in_required' });
    await logIn(server, { into: loginsOf(opened) });
    expect(await opened.call('mcp.far.echo')).toMatchObject({ success: true });
    expect(recordOf(server, loginsOf(opened))?.tokens.scope?.split(' ').toSorted()).toEqual(['read', 'write']);
  });

  test('asks for the scope that a person names', async () => {
    await using server = await startAuthorizing();
    await logIn(server, { scope: 'admin' });
    expect(recordOf(server)?.tokens.scope).toBe('read admin');
  });

  test('is of one address: another one of the same name gets none of it', async () => {
    await using first = await startAuthorizing();
    await using second = await startAuthorizing();
    await using opened = await openSignedIn(first);
    opened.configure({ far: { url: second.url } });
    expect(await opened.logged('mcp_server_unavailable', 'far')).toMatchObject({
      why: expect.stringContaining('refold mcp login') as string,
    });
    expect(second.sent).toEqual([]);
    expect(second.seen).toEqual([]);
  });

  test('is not needed at a server that refuses nothing', async () => {
    await using server = await startAuthorizing();
    await logIn(server);
    const token = recordOf(server)?.tokens.access_token ?? '';
    const settings = { ...settingsOf(server.url), headers: { Authorization: `Bearer ${token}` } };
    const login = openLogins(join(directory, 'none')).of('far', server.url);
    const ports = { keeper, clock: systemClock, signal: new AbortController().signal, onAddress: () => undefined };
    expect(await signIn({ settings, login, scope: null }, ports)).toBe(false);
    expect(login.read()).toBeNull();
  });

  test('can be removed; a file that is none counts as none', () => {
    const login = openLogins(directory).of('far', 'https://example.com/mcp');
    const record: LoginRecord = {
      server: 'far',
      url: 'https://example.com/mcp',
      redirect_uri: 'http://127.0.0.1:1/callback',
      client: { client_id: 'c' },
      tokens: { access_token: 'a', token_type: 'Bearer' },
    };
    expect(login.remove()).toBe(false);
    login.write(record);
    expect(login.read()).toEqual(record);
    expect(openLogins(directory).of('far', 'https://example.com/other').read()).toBeNull();
    const file = join(directory, readdirSync(directory)[0] ?? '');
    for (const text of ['', '{', '[]', '{"tokens":{}}', JSON.stringify({ ...record, url: 'https://evil.example/' })]) {
      writeFileSync(file, text);
      expect(login.read()).toBeNull();
    }
    writeFileSync(file, `${JSON.stringify(record)}${' '.repeat(300_000)}`);
    expect(login.read()).toBeNull();
    expect(login.remove()).toBe(true);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('a person without a browser here', () => {
  test('gives the address that the browser ended at; other texts are not taken', async () => {
    await using server = await startAuthorizing();
    const faults: (string | null)[] = [];
    const person: How['person'] = (address, { uri, paste }) => {
      void (async () => {
        const answer = await fetch(address, { redirect: 'manual' });
        const at = answer.headers.get('location') ?? '';
        for (const text of [
          '',
          'a-code',
          at.replace(uri, 'https://evil.example/'),
          `${uri}?code=x&state=y`,
          ` ${at}\n`,
        ])
          faults.push(paste(text));
      })();
    };
    expect(await logIn(server, { person })).toBe(true);
    expect(faults.slice(0, 4).every((fault) => fault !== null)).toBe(true);
    expect(faults[4]).toBeNull();
  });
});

describe('an answer that belongs to no request', () => {
  test('is refused with a page that shows none of it, and the login goes on', async () => {
    await using server = await startAuthorizing();
    const pages: string[] = [];
    const person: How['person'] = (address, { uri }) => {
      void (async () => {
        for (const query of ['?code=evil&state=evil', '?code=evil', '?error=<script>&state=evil', '?']) {
          const page = await fetch(`${uri}${query}`);
          pages.push(`${page.status} ${await page.text()}`);
        }
        await server.visit(address);
      })();
    };
    expect(await logIn(server, { person })).toBe(true);
    expect(pages).toHaveLength(4);
    for (const page of pages) expect(page).toMatch(/^400 (?!.*(evil|script))/s);
    expect(server.seen.filter((line) => line.startsWith('POST /token'))).toHaveLength(1);
  });

  test('ends the login when there are too many of them', async () => {
    await using server = await startAuthorizing();
    const person: How['person'] = (_address, { uri, paste }) => {
      for (let count = 0; count <= MCP_CALLBACKS_MAX; count += 1) paste(`${uri}?code=c&state=s`);
    };
    await expect(logIn(server, { person })).rejects.toThrow('too many answers');
    expect(recordOf(server)).toBeNull();
  });
});

describe('a hostile server', { timeout: 60_000 }, () => {
  const endless = (
    _path: string,
    _request: unknown,
    response: { write: (part: string, then: () => void) => unknown },
  ) => {
    const part = 'x'.repeat(1_048_576);
    const more = (): void => void response.write(part, more);
    more();
    return true;
  };

  test.each<readonly [what: string, tweaks: Parameters<typeof startAuthorizing>[0], why: RegExp]>([
    [
      'names another issuer in its metadata',
      { metadata: (said) => ({ ...said, issuer: 'https://evil.example' }) },
      /issuer/i,
    ],
    ['answers as another issuer', { redirect: (to) => to.searchParams.set('iss', 'https://evil.example') }, /iss/i],
    ['answers without the issuer that it promised', { redirect: (to) => to.searchParams.delete('iss') }, /iss/i],
    [
      'gives a code that is not of this login',
      { redirect: (to) => to.searchParams.set('code', 'other') },
      /invalid_grant|client/,
    ],
    [
      'refuses',
      { redirect: (to) => (to.searchParams.delete('code'), to.searchParams.set('error', 'access_denied')) },
      /access_denied/,
    ],
    [
      'sends the person to a script',
      { metadata: (said) => ({ ...said, authorization_endpoint: 'javascript:alert(1)' }) },
      /javascript|url|https/i,
    ],
    [
      'sends the person to a page that all can read',
      { metadata: (said) => ({ ...said, authorization_endpoint: 'http://login.example/' }) },
      /not https/,
    ],
    [
      'names an authorization server in the network of the bridge',
      { resource: (said) => ({ ...said, authorization_servers: ['http://10.0.0.1'] }) },
      /private address 10\.0\.0\.1/,
    ],
    [
      'names a token endpoint in the network of the bridge',
      { metadata: (said) => ({ ...said, token_endpoint: 'https://169.254.169.254/token' }) },
      /private address/,
    ],
    [
      'is the resource of another',
      { resource: (said) => ({ ...said, resource: 'https://bank.example/mcp' }) },
      /does not match/,
    ],
    [
      'redirects the request for tokens',
      {
        take: (path, _request, response) =>
          path === '/token' && response.writeHead(307, { location: 'http://127.0.0.1:1/token' }).end() !== undefined,
      },
      /not its own origin/,
    ],
    [
      'has endless metadata',
      {
        take: (path, request, response) =>
          path.startsWith('/.well-known') && endless(path, request, response.writeHead(200)),
      },
      /more than|metadata|JSON/,
    ],
    [
      'registers nobody',
      { take: (path, _request, response) => path === '/register' && response.writeHead(403).end('{}') !== undefined },
      /regist|403/i,
    ],
  ])('that %s gets no login', async (_what, tweaks, why) => {
    await using server = await startAuthorizing(tweaks);
    await expect(logIn(server)).rejects.toThrow(why);
    expect(recordOf(server)).toBeNull();
    expect(server.sent).toEqual([]);
  });

  test('that names another authorization server than the configuration gets no login, and no token', async () => {
    await using server = await startAuthorizing();
    await expect(logIn(server, { oauth: { issuer: 'https://login.example' } })).rejects.toThrow(
      'https://login.example',
    );
    expect(server.seen.filter((line) => line.startsWith('POST'))).toEqual([]);
  });

  test('that names another authorization server later gets nothing of the login', async () => {
    await using evil = await startAuthorizing();
    let isMoved = false;
    await using server = await startAuthorizing({
      resource: (said) => (isMoved ? { ...said, authorization_servers: [evil.issuer] } : said),
    });
    await using opened = await openSignedIn(server);
    isMoved = true;
    server.expire();
    const answer = await opened.call('mcp.far.echo');
    expect(answer).toMatchObject({ success: false, code: 'sign_in_required' });
    expect(answer.text).toContain(evil.issuer);
    expect(evil.seen.filter((line) => line.startsWith('POST'))).toEqual([]);
  });

  test('of this machine may name others of it; one elsewhere may not', async () => {
    const ports = {
      fetch: () => Promise.resolve(new Response('')),
      addressesOf: () => Promise.resolve(['127.0.0.1']),
    };
    const near = guardedFetch(['http://localhost:80/mcp'], ports);
    expect((await near('http://127.0.0.1:81/token')).status).toBe(200);
    await expect(near('http://localhost.evil.example/token')).rejects.toThrow('private address');
    await expect(guardedFetch(['https://example.com/mcp'], ports)('https://localhost/token')).rejects.toThrow(
      'private',
    );
    const named = guardedFetch(['https://example.com/mcp', 'https://sso.corp.example'], ports);
    expect((await named('https://sso.corp.example/token')).status).toBe(200);
  });
});

test('a port for the answers that is taken is named', async () => {
  await using server = await startAuthorizing();
  const taken = await openCallback(null);
  try {
    const port = Number(new URL(taken.uri).port);
    await expect(logIn(server, { oauth: { client_id: 'c', redirect_port: port } })).rejects.toThrow(`${port}`);
  } finally {
    await taken.close();
  }
});

test('tokens are bound to a key that stays with the login', async () => {
  await using server = await startAuthorizing();
  await logIn(server, { oauth: { dpop: true } });
  const { dpop_key: key } = recordOf(server) as LoginRecord;
  expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', d: expect.any(String) as string });
  await logIn(server, { oauth: { dpop: true } });
  expect(recordOf(server)?.dpop_key).toEqual(key);
  expect(readFileSync(join(directory, readdirSync(directory)[0] ?? ''), 'utf8')).toContain('"dpop_key"');
});
