// A person signs in at a server, once: authorization code with PKCE (OAuth 2.1), the client registered or described by a document as
// the authorization server has it, the tokens for this server only (RFC 8707), the answer from the issuer that was asked (RFC 9207).
// The address that the person must visit is given to the caller to show; nothing opens it.
import { randomBytes } from 'node:crypto';
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { MCP_CONNECT_MS_MAX, MCP_LOGIN_MS_MAX, MCP_TOKEN_MS_MAX } from '../../../schemas/limits.ts';
import { type BridgeClock, sleep } from '../../../src/clock.ts';
import type { OAuthGrant } from '../../../src/toolsets/mcp-config-oauth.ts';
import type { HttpSettings } from '../../../src/toolsets/mcp-config-transport.ts';
import { type ConnectionPorts, connectTo } from '../connection.ts';
import { type Fetch, RefusedRequest, isLoopback } from '../guarded-fetch.ts';
import { serverFetch } from '../http-transport.ts';
import { type Callback, openCallback } from './callback.ts';
import { dpopSession, newDpopKey } from './dpop-key.ts';
import type { Login, LoginRecord } from './login-store.ts';
import { isSameIssuer } from './stored-login.ts';

export interface SignInPorts {
  readonly keeper: ConnectionPorts['keeper'];
  readonly clock: BridgeClock;
  /** Shows the address to visit, and where the browser is sent back to. `paste` takes that address from a person. */
  readonly onAddress: (address: string, callback: Pick<Callback, 'uri' | 'paste'>) => void;
  readonly signal: AbortSignal;
}

interface Asked {
  readonly settings: HttpSettings;
  readonly login: Login;
  /** What to ask for beside what the server asks for; null for no more. */
  readonly scope: string | null;
}

/** False when the server wants no login. Rejects with what went wrong, for people; then the login before it stays. */
export async function signIn({ settings, login, scope }: Asked, ports: SignInPorts): Promise<boolean> {
  const before = login.read();
  const { callback, kept } = await openFor(grantOfPerson(settings), before);
  try {
    const { auth, computeScopeUnion } = await import('@modelcontextprotocol/client');
    const flow = new Flow(settings, { uri: callback.uri, client: kept, dpopKey: before?.dpop_key });
    const request = { serverUrl: settings.url, fetchFn: withinTime(serverFetch(settings)) };
    const isRefused = await refusesWithout(settings, flow, ports);
    const wanted = computeScopeUnion(settings.oauth?.scope ?? undefined, before?.wanted_scope, scope ?? undefined);
    if (!isRefused && wanted === undefined) return false;
    if (wanted !== undefined) {
      const all = computeScopeUnion(flow.address?.searchParams.get('scope') ?? before?.tokens.scope, wanted) ?? wanted;
      await auth(flow.provider, { ...request, forceReauthorization: true, scope: all });
    }
    const params = await answered(flow, callback, ports);
    const iss = params.get('iss');
    const code = params.get('code') ?? '';
    await auth(flow.provider, { ...request, authorizationCode: code, ...(iss === null ? {} : { iss }) });
    login.write(flow.record(login.server));
    return true;
  } finally {
    await callback.close();
  }
}

type PersonGrant = Extract<OAuthGrant, { readonly kind: 'authorization_code' }>;

function grantOfPerson({ oauth }: HttpSettings): PersonGrant {
  if (oauth?.grant.kind === 'authorization_code') return oauth.grant;
  throw new Error('its configuration says where its tokens come from, so that no person signs in');
}

/** What the person brings back from the address. */
async function answered(flow: Flow, callback: Callback, ports: SignInPorts): Promise<URLSearchParams> {
  const address = checkedAddress(flow.address);
  const answer = callback.answer(flow.state);
  ports.onAddress(address, callback);
  return await withinLogin(answer, ports);
}

/** The client of the last login is used again where the browser can be sent back to the same place. */
async function openFor(
  { redirectPort }: PersonGrant,
  before: LoginRecord | null,
): Promise<{ readonly callback: Callback; readonly kept: StoredOAuthClientInformation | undefined }> {
  if (redirectPort !== null) {
    const callback = await openCallback(redirectPort).catch(() => {
      throw new Error(`the port ${redirectPort}, to which the browser is sent back, is taken`);
    });
    return { callback, kept: before?.redirect_uri === callback.uri ? before.client : undefined };
  }
  const port = before === null || !URL.canParse(before.redirect_uri) ? null : Number(new URL(before.redirect_uri).port);
  const callback = await openCallback(port).catch(() => openCallback(null));
  return { callback, kept: before?.redirect_uri === callback.uri ? before.client : undefined };
}

/** Whether the server refuses without a login; then the flow has the address that a person must visit. */
async function refusesWithout(
  settings: HttpSettings,
  flow: Flow,
  { keeper, clock }: Pick<SignInPorts, 'keeper' | 'clock'>,
): Promise<boolean> {
  const handlers = { onToolsChanged: () => undefined, onElicit: () => Promise.resolve({ action: 'cancel' } as const) };
  try {
    const ports = { keeper, clock, hidden: [], provider: flow.provider };
    const connection = await connectTo(settings, handlers, ports);
    try {
      // Some servers ask for no login before their tools are listed.
      await connection.client.request({ method: 'tools/list', params: {} }, { timeout: MCP_CONNECT_MS_MAX });
    } finally {
      await connection.close();
    }
    return false;
  } catch (error) {
    if (flow.address !== null) return true;
    throw error;
  }
}

/** A login as it goes on, in memory: only one that has succeeded is kept. */
class Flow {
  readonly provider: OAuthClientProvider;
  address: URL | null = null;
  state = '';
  readonly #settings: HttpSettings;
  readonly #uri: string;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #discovered: OAuthDiscoveryState | undefined;
  #verifier = '';
  #dpopKey: LoginRecord['dpop_key'];
  #session: ReturnType<typeof dpopSession> | undefined;

  constructor(
    settings: HttpSettings,
    kept: {
      readonly uri: string;
      readonly client: StoredOAuthClientInformation | undefined;
      readonly dpopKey: LoginRecord['dpop_key'];
    },
  ) {
    this.#settings = settings;
    this.#uri = kept.uri;
    this.#client = this.#configured() ?? kept.client;
    this.#dpopKey = kept.dpopKey;
    this.provider = this.#newProvider();
  }

  /** What is kept of a login that succeeded. */
  record(server: string): LoginRecord {
    if (this.#client === undefined || this.#tokens === undefined) throw new Error('the login brought no tokens');
    const key = this.#settings.oauth?.dpop === true ? this.#dpopKey : undefined;
    return {
      server,
      url: this.#settings.url,
      redirect_uri: this.#uri,
      client: this.#client,
      tokens: this.#tokens,
      ...(key === undefined ? {} : { dpop_key: key }),
    };
  }

  /** A client that the operator has registered. */
  #configured(): StoredOAuthClientInformation | undefined {
    const { clientId = null, clientSecret = null, issuer = null } = this.#settings.oauth ?? {};
    if (clientId === null) return undefined;
    const secret = clientSecret === null ? {} : { client_secret: clientSecret };
    return { client_id: clientId, ...secret, ...(issuer === null ? {} : { issuer }) };
  }

  #newProvider(): OAuthClientProvider {
    const { oauth } = this.#settings;
    const metadataUrl = oauth?.grant.kind === 'authorization_code' ? oauth.grant.metadataUrl : null;
    const isConfigured = oauth?.clientId !== null;
    return {
      redirectUrl: this.#uri,
      clientMetadata: {
        client_name: 'refold',
        redirect_uris: [this.#uri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
      ...(metadataUrl === null ? {} : { clientMetadataUrl: metadataUrl }),
      state: () => (this.state = randomBytes(32).toString('base64url')),
      clientInformation: () => this.#client,
      ...(isConfigured ? {} : { saveClientInformation: (client) => void (this.#client = client) }),
      tokens: () => this.#tokens,
      saveTokens: (tokens) => void (this.#tokens = tokens),
      saveAuthorizationServerUrl: (found) => this.#checkIssuer(found),
      redirectToAuthorization: (address) => void (this.address = address),
      saveCodeVerifier: (verifier) => void (this.#verifier = verifier),
      codeVerifier: () => this.#verifier,
      discoveryState: () => this.#discovered,
      saveDiscoveryState: (discovered) => void (this.#discovered = discovered),
      invalidateCredentials: (scope) => {
        if ((scope === 'client' || scope === 'all') && !isConfigured) this.#client = undefined;
      },
      ...(oauth?.dpop === true ? { dpop: () => (this.#session ??= this.#newSession()) } : {}),
    };
  }

  #checkIssuer(found: string): void {
    const issuer = this.#settings.oauth?.issuer ?? null;
    if (issuer !== null && !isSameIssuer(issuer, found))
      throw new Error(`the server names the authorization server ${found}, and the configuration ${issuer}`);
  }

  async #newSession(): ReturnType<typeof dpopSession> {
    this.#dpopKey ??= await newDpopKey();
    return await dpopSession(this.#dpopKey);
  }
}

/** The address that a person is shown must be a page, over a connection that no one else can read. */
function checkedAddress(address: URL | null): string {
  if (address === null) throw new Error('the server named no address to sign in at');
  if (address.protocol === 'https:' || (address.protocol === 'http:' && isLoopback(address.hostname)))
    return address.href;
  throw new RefusedRequest(`the server wants a login at ${address.origin}, which is not https`);
}

const withinTime =
  (fetch: Fetch): Fetch =>
  (url, init) =>
    fetch(url, { ...init, signal: AbortSignal.timeout(MCP_TOKEN_MS_MAX) });

async function withinLogin<T>(answer: Promise<T>, { clock, signal }: SignInPorts): Promise<T> {
  const over = new AbortController();
  const late = sleep(clock, MCP_LOGIN_MS_MAX, signal, over.signal).then(() => {
    throw new Error(signal.aborted ? 'the login was stopped' : `no one signed in within ${MCP_LOGIN_MS_MAX} ms`);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    over.abort();
    void late.catch(() => undefined);
  }
}
