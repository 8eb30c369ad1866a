// The transport to an MCP server over streamable HTTP: the SDK's, on requests that are guarded.
import type { AuthProvider, OAuthClientProvider, Transport } from '@modelcontextprotocol/client';
import type { HttpSettings } from '../../src/toolsets/mcp-config-transport.ts';
import { type Fetch, guardedFetch } from './guarded-fetch.ts';

/** `provider`: what tokens come from; null where they stand in the headers. */
export async function httpTransport(
  settings: HttpSettings,
  provider: AuthProvider | OAuthClientProvider | null,
): Promise<Transport> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { url, headers } = settings;
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch: serverFetch(settings),
    // The guarded requests follow redirects themselves, within the origin.
    redirectPolicy: 'same-origin',
    requestInit: { headers: { ...headers } },
    ...(provider === null ? {} : { authProvider: provider }),
  });
}

/** Requests to the server, and to the others that the operator names beside it. */
export function serverFetch({ url, oauth }: Pick<HttpSettings, 'url' | 'oauth'>): Fetch {
  const idp = oauth?.grant.kind === 'id_token' ? oauth.grant.idpTokenUrl : null;
  return guardedFetch([url, oauth?.issuer ?? null, idp].filter((named) => named !== null));
}
