// An MCP server that wants a login, and the authorization server that it names, in this process. What a test changes of them makes
// them hostile.
import { createHash } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Tweaks {
  /** What the MCP server says of itself (RFC 9728). */
  readonly resource?: (said: Said, authorizing: Authorizing) => Said;
  /** What the authorization server says of itself (RFC 8414). */
  readonly metadata?: (said: Said) => Said;
  /** Takes a request at the authorization server; true when it has. */
  readonly take?: (path: string, request: IncomingMessage, response: ServerResponse) => boolean;
  /** Where the browser is sent. */
  readonly redirect?: (target: URL) => void;
  /** The scope that a call of the tool needs. */
  readonly needed?: string;
}

type Said = Readonly<Record<string, unknown>>;

export interface Authorizing extends AsyncDisposable {
  /** The MCP server. */
  readonly url: string;
  readonly issuer: string;
  /** The requests at the authorization server, as method and path; at the token endpoint with the grant. */
  readonly seen: readonly string[];
  /** The bearer tokens that the MCP server was sent. */
  readonly sent: readonly string[];
  /** No access token is valid any more. */
  expire(): void;
  /** What another bridge gets for a refresh token. */
  refresh(token: string): { readonly access_token: string; readonly refresh_token: string };
  /** No refresh token is valid any more. */
  revoke(): void;
  /** What a browser gets to see in which the person allows everything. */
  visit(address: string): Promise<Response>;
}

export async function startAuthorizing(tweaks: Tweaks = {}): Promise<Authorizing> {
  const seen: string[] = [];
  const sent: string[] = [];
  const state: State = { access: new Map(), refresh: new Map(), codes: new Map(), made: 0 };
  const as = await listen((request, response, body) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    const grant = pathname === '/token' ? ` ${new URLSearchParams(body).get('grant_type')}` : '';
    seen.push(`${request.method} ${pathname}${grant}`);
    if (tweaks.take?.(pathname, request, response) === true) return;
    authorizationServer({ request, response, body, issuer: as.origin, state, tweaks });
  });
  const mcp = await listen((request, response, body) => {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource') === true) {
      const said = { resource: `${mcp.origin}/mcp`, authorization_servers: [as.origin] };
      return json(response, tweaks.resource?.(said, authorizing) ?? said);
    }
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (token !== '') sent.push(token);
    mcpServer({ request, response, body, scope: state.access.get(token), needed: tweaks.needed, origin: mcp.origin });
  });
  const authorizing: Authorizing = {
    url: `${mcp.origin}/mcp`,
    issuer: as.origin,
    seen,
    sent,
    expire: () => state.access.clear(),
    refresh: (token) => granted(refreshed(new URLSearchParams({ refresh_token: token }), state) ?? '', state),
    revoke: () => state.refresh.clear(),
    visit: (address) => fetch(address),
    async [Symbol.asyncDispose]() {
      await mcp.close();
      await as.close();
    },
  };
  return authorizing;
}

interface State {
  /** The scope of each valid token. */
  readonly access: Map<string, string>;
  readonly refresh: Map<string, string>;
  readonly codes: Map<string, { readonly challenge: string; readonly scope: string }>;
  made: number;
}

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: string;
}

function authorizationServer({
  request,
  response,
  body,
  issuer,
  state,
  tweaks,
}: Asked & { readonly issuer: string; readonly state: State; readonly tweaks: Tweaks }): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', issuer);
  if (pathname === '/.well-known/oauth-authorization-server') {
    const said = metadataOf(issuer);
    json(response, tweaks.metadata?.(said) ?? said);
  } else if (pathname === '/register') json(response, { ...JSON.parse(body), client_id: next('client', state) }, 201);
  else if (pathname === '/authorize') {
    const target = authorized(searchParams, issuer, state);
    tweaks.redirect?.(target);
    response.writeHead(302, { location: target.href }).end();
  } else if (pathname === '/token') {
    const given = new URLSearchParams(body);
    const scope = given.get('grant_type') === 'refresh_token' ? refreshed(given, state) : redeemed(given, state);
    if (scope === null) return json(response, { error: 'invalid_grant' }, 400);
    const answer = { ...granted(scope, state), token_type: 'Bearer', expires_in: 3_600 };
    json(response, scope === '' ? answer : { ...answer, scope });
  } else response.writeHead(404).end();
}

const metadataOf = (issuer: string): Said => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none'],
  authorization_response_iss_parameter_supported: true,
});

function authorized(asked: URLSearchParams, issuer: string, state: State): URL {
  const code = next('code', state);
  state.codes.set(code, { challenge: asked.get('code_challenge') ?? '', scope: asked.get('scope') ?? '' });
  const target = new URL(asked.get('redirect_uri') ?? '');
  for (const [name, value] of Object.entries({ code, state: asked.get('state') ?? '', iss: issuer }))
    target.searchParams.set(name, value);
  return target;
}

const next = (kind: string, state: State): string => `${kind}-token-of-many-characters-${(state.made += 1)}`;

function granted(scope: string, state: State) {
  const [access, refresh] = [next('access', state), next('refresh', state)];
  state.access.set(access, scope);
  state.refresh.set(refresh, scope);
  return { access_token: access, refresh_token: refresh };
}

/** The scope; null for a code that is not valid, or whose verifier is another (RFC 7636). */
function redeemed(given: URLSearchParams, { codes }: State): string | null {
  const code = codes.get(given.get('code') ?? '');
  codes.delete(given.get('code') ?? '');
  const challenge = createHash('sha256')
    .update(given.get('code_verifier') ?? '')
    .digest('base64url');
  return code !== undefined && code.challenge === challenge ? code.scope : null;
}

/** A refresh token serves once. */
function refreshed(given: URLSearchParams, { refresh }: State): string | null {
  const token = given.get('refresh_token') ?? '';
  const scope = refresh.get(token) ?? null;
  refresh.delete(token);
  return scope;
}

function mcpServer({
  request,
  response,
  body,
  scope,
  needed,
  origin,
}: Asked & { readonly scope: string | undefined; readonly needed: string | undefined; readonly origin: string }): void {
  const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
  if (scope === undefined)
    return void response.writeHead(401, { 'www-authenticate': `Bearer ${metadata}, scope="read"` }).end();
  const { id, method } = (body === '' ? {} : JSON.parse(body)) as { readonly id?: number; readonly method?: string };
  const answer = (result: unknown): void => json(response, { jsonrpc: '2.0', id, result });
  const isTooLittle = needed !== undefined && !scope.split(' ').includes(needed);
  if (request.method !== 'POST') response.writeHead(405).end();
  else if (method === 'tools/call' && isTooLittle) {
    const challenge = `Bearer error="insufficient_scope", ${metadata}, scope="read ${needed}"`;
    response.writeHead(403, { 'www-authenticate': challenge }).end();
  } else if (method === 'initialize')
    answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } });
  else if (method === 'tools/list') answer({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] });
  else if (method === 'tools/call')
    answer({ content: [{ type: 'text', text: `you sent ${request.headers.authorization}` }] });
  else if (id === undefined) response.writeHead(202).end();
  else json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
}

const json = (response: ServerResponse, value: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

async function listen(handle: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString('utf8')));
    request.on('end', () => handle(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
