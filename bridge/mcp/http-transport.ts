// The transport to an MCP server over streamable HTTP: the SDK's, on requests that are guarded. Tokens come from headers of the
// configuration, or from an authorization server that the SDK finds (RFC 9728, RFC 8414) and whose issuer it compares.
import type { AuthProvider, OAuthClientProvider, Transport } from '@modelcontextprotocol/client';
import type { HttpSettings, OAuthSettings } from '../../src/toolsets/mcp-config-transport.ts';
import { guardedFetch } from './guarded-fetch.ts';

export async function httpTransport({ url, headers, oauth }: HttpSettings): Promise<Transport> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const authProvider = oauth === null ? null : await providerOf(oauth);
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch: guardedFetch(url),
    // The guarded requests follow redirects themselves, within the origin.
    redirectPolicy: 'same-origin',
    requestInit: { headers: { ...headers } },
    ...(authProvider === null ? {} : { authProvider }),
  });
}

async function providerOf({
  clientId,
  clientSecret,
  refreshToken,
  scope,
}: OAuthSettings): Promise<AuthProvider | OAuthClientProvider> {
  if (refreshToken !== null) return refreshing({ clientId, clientSecret, refreshToken, scope });
  const { ClientCredentialsProvider } = await import('@modelcontextprotocol/client');
  return new ClientCredentialsProvider({
    clientId,
    clientSecret: clientSecret ?? '',
    ...(scope === null ? {} : { scope }),
  });
}

/**
 * Refreshes tokens that a person has obtained elsewhere. It cannot send that person to a browser: when the refresh token is no
 * longer valid, the connection fails with the address that a person must visit, which is shown and never opened.
 */
function refreshing({ clientId, clientSecret, refreshToken, scope }: OAuthSettings): OAuthClientProvider {
  let tokens = { access_token: '', token_type: 'Bearer', refresh_token: refreshToken ?? '', expires_in: 0 } as never;
  let verifier = '';
  return {
    redirectUrl: 'http://127.0.0.1/refold-has-no-page-for-this',
    clientMetadata: {
      client_name: 'refold',
      redirect_uris: ['http://127.0.0.1/refold-has-no-page-for-this'],
      grant_types: ['refresh_token'],
      ...(scope === null ? {} : { scope }),
    },
    clientInformation: () => ({
      client_id: clientId,
      ...(clientSecret === null ? {} : { client_secret: clientSecret }),
    }),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given as never),
    redirectToAuthorization: (address) => {
      throw new Error(
        `a person must sign in again, at ${address.origin}${address.pathname}, and give the new refresh token`,
      );
    },
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
  };
}
