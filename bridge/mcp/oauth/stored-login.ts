// The tokens of a login, as a bridge uses them: sent with each request, refreshed when they have expired, and never obtained anew.
// A bridge has no person before it: what only a person can do fails, and says which command does it.
import type { AuthProvider, OAuthClientProvider, StoredOAuthClientInformation } from '@modelcontextprotocol/client';
import type { OAuthSettings } from '../../../src/toolsets/mcp-config-oauth.ts';
import { dpopSession } from './dpop-key.ts';
import { type Login, type LoginRecord, secretsOf } from './login-store.ts';

/** What the tokens for one server come from. */
export interface ServerAuth {
  readonly provider: AuthProvider | OAuthClientProvider;
  /** The tokens that it has seen so far: they must appear nowhere. */
  secrets(): readonly string[];
}

/** A person must sign in before the server can be used; the message says how. */
export class SignInRequired extends Error {
  override readonly name = 'SignInRequired';
}

export function storedLogin(login: Login, { clientId, clientSecret, issuer }: OAuthSettings): ServerAuth {
  const known = new Set<string>();
  const read = (): LoginRecord | null => {
    const record = login.read();
    for (const secret of record === null ? [] : secretsOf(record)) known.add(secret);
    return record;
  };
  const recorded = (why: string): LoginRecord => {
    const record = read();
    if (record === null) throw signIn(why);
    return record;
  };
  const signIn = (why: string): SignInRequired =>
    new SignInRequired(`${why}; a person must sign in: refold mcp login ${JSON.stringify(login.server)}`);
  let refreshing: string | undefined;
  let session: ReturnType<typeof dpopSession> | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl: 'http://127.0.0.1/only-refold-mcp-login-has-a-page',
    clientMetadata: { client_name: 'refold', redirect_uris: [], grant_types: ['authorization_code', 'refresh_token'] },
    // It is asked first: nothing is requested of any authorization server before a person has signed in.
    discoveryState: () => void recorded('the server wants a login, and no one has signed in'),
    saveDiscoveryState: () => undefined,
    saveAuthorizationServerUrl(found) {
      const { issuer: recordedIssuer } = recorded('no one has signed in').tokens;
      for (const expected of [issuer, recordedIssuer])
        if (typeof expected === 'string' && !isSameIssuer(expected, found))
          throw signIn(`the server names the authorization server ${found}, and the login is of ${expected}`);
    },
    clientInformation: (): StoredOAuthClientInformation =>
      clientId === null
        ? recorded('no one has signed in').client
        : { client_id: clientId, ...(clientSecret === null ? {} : { client_secret: clientSecret }) },
    tokens(asked) {
      const tokens = read()?.tokens;
      // Each request reads them, too; only a refresh says for which issuer.
      if (asked !== undefined) refreshing = tokens?.refresh_token;
      return tokens;
    },
    saveTokens(tokens) {
      // A login that a person has removed meanwhile stays removed.
      const record = read();
      if (record === null) return;
      login.write({ ...record, tokens: { ...record.tokens, ...tokens } });
      read();
    },
    redirectToAuthorization(address) {
      const record = recorded('no one has signed in');
      const scope = address.searchParams.get('scope');
      if (scope !== null && scope !== record.wanted_scope) login.write({ ...record, wanted_scope: scope });
      throw signIn('the login has expired, or the server wants more than it was given for');
    },
    saveCodeVerifier: () => undefined,
    codeVerifier: () => {
      throw signIn('a bridge asks for no codes');
    },
    invalidateCredentials(scope) {
      const record = read();
      if (record === null || scope === 'verifier' || scope === 'discovery') return;
      if (scope !== 'tokens') {
        login.remove();
        return;
      }
      // Another bridge may have refreshed them since; then its tokens are tried.
      if (record.tokens.refresh_token !== refreshing) return;
      const { refresh_token: _used, ...tokens } = record.tokens;
      login.write({ ...record, tokens });
    },
    async dpop() {
      const key = read()?.dpop_key;
      return key === undefined ? undefined : await (session ??= dpopSession(key));
    },
  };
  return { provider, secrets: () => [...known] };
}

/** RFC 8414, section 3.3: the same text, but for the slash of an empty path. */
export const isSameIssuer = (a: string, b: string): boolean => a.replace(/\/$/, '') === b.replace(/\/$/, '');
