// The header that holds the key. It is the only place of a request where a key goes.
import type { ModelServerName } from '../../../src/files/model-servers.ts';

interface Keyed {
  readonly api: ModelServerName;
  readonly baseUrl: string;
  readonly apiKey?: string;
}

export function keyHeaders({ api, baseUrl, apiKey }: Keyed): Readonly<Record<string, string>> {
  if (apiKey === undefined) return {};
  if (api === 'anthropic') return { 'x-api-key': apiKey };
  if (api === 'gemini') return { 'x-goog-api-key': apiKey };
  const bearer = { authorization: `Bearer ${apiKey}` };
  // Azure reads its own keys in a header of its own, and tokens of its directory in the usual one.
  return /\.azure\.com$/.test(new URL(baseUrl).hostname) ? { ...bearer, 'api-key': apiKey } : bearer;
}
