// The model of an agent: one behind HTTP, named `API:MODEL`, or a provider of one's own.
import { MODEL_SERVERS, type ModelServerName, type Provider, apiProvider } from '../../bridge/index.ts';
import type { BridgeClock } from '../../bridge/index.ts';

/** `anthropic:claude-…`: the API, and the model as the API names it. Without a model, the one that the API defaults to. */
export type ModelName = ModelServerName | `${ModelServerName}:${string}`;

export interface ModelAccess {
  /** By default the first that is set of the variables of the API, such as `ANTHROPIC_API_KEY`. */
  readonly apiKey?: string;
  /** By default the variable of the API, such as `ANTHROPIC_BASE_URL`, or else the address of its maker. */
  readonly baseUrl?: string;
  readonly clock: BridgeClock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface OpenedModel {
  readonly provider: Provider;
  /** The `provider` and `model` of the config of a run. */
  readonly config: { readonly provider?: string; readonly model?: string };
  /** The key, which must not enter a record. */
  readonly secrets: readonly string[];
}

/** Throws a TypeError that says what to give when the API is not known, or its model, address or key is missing. */
export function openModel(model: ModelName | Provider, access: ModelAccess): OpenedModel {
  if (typeof model !== 'string') return { provider: model, config: {}, secrets: [] };
  const colon = model.indexOf(':');
  const api = (colon === -1 ? model : model.slice(0, colon)) as ModelServerName;
  if (!Object.hasOwn(MODEL_SERVERS, api)) {
    const names = Object.keys(MODEL_SERVERS).join(', ');
    throw new TypeError(`model "${model}" names no API: give API:MODEL, where API is one of ${names}`);
  }
  const server = MODEL_SERVERS[api];
  const named = (colon === -1 ? '' : model.slice(colon + 1)) || server.model;
  if (named === null) throw new TypeError(`model "${model}" names no model: give ${api}:MODEL`);
  const givenUrl = access.baseUrl ?? valueOf(access.env, [server.baseUrlVariable]);
  const baseUrl = givenUrl ?? server.baseUrl;
  if (baseUrl === null)
    throw new TypeError(`${api} has no default address: give baseUrl, or set ${server.baseUrlVariable}`);
  const apiKey = access.apiKey ?? valueOf(access.env, server.keyVariables);
  // A server of one's own may take no key.
  if (apiKey === undefined && givenUrl === undefined) {
    throw new TypeError(`there is no key for ${api}: set ${server.keyVariables.join(' or ')}, or give apiKey`);
  }
  const key = apiKey === undefined ? {} : { apiKey };
  return {
    provider: apiProvider({ api, baseUrl: baseUrl.replace(/\/+$/, ''), clock: access.clock, ...key }),
    config: { provider: server.provider, model: named },
    secrets: apiKey === undefined ? [] : [apiKey],
  };
}

const valueOf = (env: ModelAccess['env'], names: readonly string[]): string | undefined =>
  names.map((name) => env[name]?.trim()).find((value) => value !== undefined && value !== '');
