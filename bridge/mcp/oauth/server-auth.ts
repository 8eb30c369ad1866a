// How a bridge gets tokens for one server: by the grant of its settings. All but a person's login need no person.
import type { AddClientAuthentication, OAuthClientProvider } from '@modelcontextprotocol/client';
import type { OAuthGrant, OAuthSettings } from '../../../src/toolsets/mcp-config-oauth.ts';
import { dpopSession, newDpopKey } from './dpop-key.ts';
import type { Fetch } from '../guarded-fetch.ts';
import type { Login } from './login-store.ts';
import { type ServerAuth, SignInRequired, isSameIssuer, storedLogin } from './stored-login.ts';

/** `login`: where a person's login is kept; null for a bridge that has no place for one. */
export function serverAuth(settings: OAuthSettings, login: Login | null, fetch: Fetch): ServerAuth {
  if (settings.grant.kind !== 'authorization_code') return unattended(settings, settings.grant, fetch);
  if (login !== null) return storedLogin(login, settings);
  const message = 'the server wants a login, and this bridge has no data directory that holds one';
  return {
    provider: {
      token: () => Promise.resolve(undefined),
      onUnauthorized: () => Promise.reject(new SignInRequired(message)),
    },
    secrets: () => [],
  };
}

type Unattended = Exclude<OAuthGrant, { readonly kind: 'authorization_code' }>;
type Tokens = Awaited<ReturnType<OAuthClientProvider['tokens']>>;

function unattended(settings: OAuthSettings, grant: Unattended, fetch: Fetch): ServerAuth {
  const { clientId, clientSecret, scope, issuer, dpop } = settings;
  const seen = new Set<string>();
  const found = { issuer: '', resource: '' };
  let tokens: Tokens = grant.kind === 'refresh_token' ? expired(grant.refreshToken) : undefined;
  let session: ReturnType<typeof dpopSession> | undefined;
  const authentication = clientAuthentication(settings, grant);
  const provider: OAuthClientProvider = {
    // With an address it would be a flow with a person.
    redirectUrl: grant.kind === 'refresh_token' ? 'http://127.0.0.1/refold-has-no-page-for-this' : undefined,
    clientMetadata: {
      client_name: 'refold',
      redirect_uris: [],
      grant_types: [GRANT_TYPES[grant.kind]],
      ...(scope === null ? {} : { scope }),
    },
    clientInformation: () => ({
      client_id: clientId ?? '',
      ...(clientSecret === null ? {} : { client_secret: clientSecret }),
      ...(issuer === null ? {} : { issuer }),
    }),
    tokens: () => tokens,
    saveTokens(given) {
      tokens = given;
      for (const token of [given.access_token, given.refresh_token]) if (token !== undefined) seen.add(token);
    },
    saveAuthorizationServerUrl(server) {
      if (issuer !== null && !isSameIssuer(issuer, server))
        throw new Error(`the server names the authorization server ${server}, and the configuration ${issuer}`);
      found.issuer = server;
    },
    saveResourceUrl: (resource) => void (found.resource = resource),
    redirectToAuthorization(address) {
      throw new SignInRequired(
        `a person must sign in again, at ${address.origin}${address.pathname}, and give the new refresh token`,
      );
    },
    saveCodeVerifier: () => undefined,
    codeVerifier: () => '',
    ...(grant.kind === 'refresh_token'
      ? {}
      : { prepareTokenRequest: (asked?: string) => tokenRequest(grant, { ...found, scope: asked }, fetch) }),
    ...(authentication === null ? {} : { addClientAuthentication: authentication }),
    ...(dpop ? { dpop: () => (session ??= newDpopKey().then(dpopSession)) } : {}),
  };
  return { provider, secrets: () => [...seen] };
}

/** What was found of the server, for the request of a token. */
interface Found {
  readonly issuer: string;
  readonly resource: string;
  readonly scope: string | undefined;
}

const GRANT_TYPES = {
  client_credentials: 'client_credentials',
  refresh_token: 'refresh_token',
  jwt_bearer: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
  id_token: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
} as const satisfies Record<Unattended['kind'], string>;

async function tokenRequest(
  grant: Exclude<Unattended, { readonly kind: 'refresh_token' }>,
  found: Found,
  fetch: Fetch,
): Promise<URLSearchParams> {
  const params = new URLSearchParams({ grant_type: GRANT_TYPES[grant.kind] });
  if (grant.kind === 'jwt_bearer') params.set('assertion', grant.assertion);
  if (grant.kind === 'id_token') params.set('assertion', await exchanged(grant, found, fetch));
  if (found.scope !== undefined && found.scope !== '') params.set('scope', found.scope);
  return params;
}

/** The assertion that the identity provider gives for the token of a person (RFC 8693). */
async function exchanged(
  { idToken, idpTokenUrl, idpClientId, idpClientSecret }: Extract<OAuthGrant, { readonly kind: 'id_token' }>,
  { issuer, resource, scope }: Found,
  fetch: Fetch,
): Promise<string> {
  const { requestJwtAuthorizationGrant } = await import('@modelcontextprotocol/client');
  const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
    tokenEndpoint: idpTokenUrl,
    audience: issuer,
    resource,
    idToken,
    clientId: idpClientId,
    fetchFn: fetch,
    ...(idpClientSecret === null ? {} : { clientSecret: idpClientSecret }),
    ...(scope === undefined ? {} : { scope }),
  });
  return jwtAuthGrant;
}

/** A signed assertion in place of a secret (RFC 7523, section 2.2); null where the client has no key. */
function clientAuthentication({ clientId }: OAuthSettings, grant: Unattended): AddClientAuthentication | null {
  if (grant.kind !== 'client_credentials' || grant.privateKey === null) return null;
  const { privateKey, algorithm: alg } = grant;
  const subject = clientId ?? '';
  return async (...request) => {
    const { createPrivateKeyJwtAuth } = await import('@modelcontextprotocol/client');
    await createPrivateKeyJwtAuth({ issuer: subject, subject, privateKey, alg })(...request);
  };
}

const expired = (refreshToken: string): Tokens => ({
  access_token: '',
  token_type: 'Bearer',
  refresh_token: refreshToken,
  expires_in: 0,
});
