// The field `oauth` of a server over HTTP: with which grant a bridge gets tokens for it (OAuth 2.1). Without a secret of its own the
// grant is `authorization_code`: a person signs in once, with `refold mcp login`.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';

/** How tokens are obtained. */
export type OAuthGrant =
  /** A person signs in. */
  | {
      readonly kind: 'authorization_code';
      /** The address of a document that describes the client, in place of a registration. */
      readonly metadataUrl: string | null;
      /** The port of the loopback address that the browser is sent back to; any free one when null. */
      readonly redirectPort: number | null;
    }
  /** RFC 6749, section 4.4; with a key in place of a secret, RFC 7523, section 2.2. */
  | { readonly kind: 'client_credentials'; readonly privateKey: string | null; readonly algorithm: string }
  /** Tokens that another program has obtained, to be refreshed. */
  | { readonly kind: 'refresh_token'; readonly refreshToken: string }
  /** A token of a workload is the assertion (RFC 7523, section 2.1). */
  | { readonly kind: 'jwt_bearer'; readonly assertion: string }
  /** A token of the company's identity provider is exchanged for an assertion (RFC 8693). */
  | {
      readonly kind: 'id_token';
      readonly idToken: string;
      readonly idpTokenUrl: string;
      readonly idpClientId: string;
      readonly idpClientSecret: string | null;
    };

export interface OAuthSettings {
  readonly grant: OAuthGrant;
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  readonly scope: string | null;
  /** The only authorization server whose tokens are used; any that the MCP server names when null. */
  readonly issuer: string | null;
  /** Tokens are bound to a key of the bridge (RFC 9449). */
  readonly dpop: boolean;
}

/** What holds for a server without the field and without a token in its headers. */
export const SIGN_IN: OAuthSettings = {
  grant: { kind: 'authorization_code', metadataUrl: null, redirectPort: null },
  clientId: null,
  clientSecret: null,
  scope: null,
  issuer: null,
  dpop: false,
};

/** What is wrong with a field, named below `oauth`. */
interface FieldFault {
  readonly field: string;
  readonly message: string;
}

const TEXTS = [
  'client_id',
  'client_secret',
  'private_key',
  'algorithm',
  'refresh_token',
  'assertion',
  'id_token',
  'idp_token_url',
  'idp_client_id',
  'idp_client_secret',
  'client_metadata_url',
  'scope',
  'issuer',
] as const;

type Texts = { readonly [name in (typeof TEXTS)[number]]: string | null };

export function oauthFields(value: Json): Either<FieldFault, OAuthSettings> {
  if (!isPlainObject(value)) return fault('', 'must be an object, such as { "client_id": "…" }');
  const { dpop = false, redirect_port: redirectPort = null } = value;
  const unknown = Object.keys(value).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) return fault('', `has an unknown field; it may have ${[...FIELDS].join(', ')}`);
  const badText = TEXTS.find((name) => name in value && (typeof value[name] !== 'string' || value[name] === ''));
  if (badText !== undefined) return fault(badText, 'must be a text, such as ${env:NAME}');
  if (typeof dpop !== 'boolean') return fault('dpop', 'must be true or false');
  if (redirectPort !== null && !isPort(redirectPort))
    return fault('redirect_port', 'must be a port, from 1024 to 65535');
  const texts = textsOf(value);
  const badUrl = (['issuer', 'idp_token_url', 'client_metadata_url'] as const).find((name) => !isAddress(texts[name]));
  if (badUrl !== undefined) return fault(badUrl, 'must begin with https:// or http://');
  const grant = grantOf(texts, redirectPort);
  if ('field' in grant) return left(grant);
  const { client_id: clientId, client_secret: clientSecret, scope, issuer } = texts;
  return right({ grant, clientId, clientSecret, scope, issuer, dpop });
}

/** The grant that the given secrets are for. */
function grantOf(texts: Texts, redirectPort: number | null): OAuthGrant | FieldFault {
  const { client_id: clientId, client_secret: secret, private_key: privateKey, refresh_token: refreshToken } = texts;
  const { assertion, id_token: idToken, idp_token_url: idpTokenUrl, idp_client_id: idpClientId } = texts;
  const { client_metadata_url: metadataUrl, algorithm, idp_client_secret: idpClientSecret } = texts;
  const given = SECRETS.filter((name) => texts[name] !== null);
  if (given.length > 1) return { field: given[1] ?? '', message: `cannot be given together with ${given[0]}` };
  if (given.length > 0 && clientId === null) return { field: 'client_id', message: `is needed with ${given[0]}` };
  if (refreshToken !== null) return { kind: 'refresh_token', refreshToken };
  if (assertion !== null) return { kind: 'jwt_bearer', assertion };
  if (idToken !== null) {
    if (idpTokenUrl === null || idpClientId === null)
      return { field: 'id_token', message: 'needs idp_token_url and idp_client_id' };
    return { kind: 'id_token', idToken, idpTokenUrl, idpClientId, idpClientSecret };
  }
  const isPerson = redirectPort !== null || metadataUrl !== null;
  if (privateKey !== null || (secret !== null && !isPerson)) {
    if (clientId === null) return { field: 'client_id', message: 'is needed with client_secret' };
    return { kind: 'client_credentials', privateKey, algorithm: algorithm ?? 'ES256' };
  }
  return { kind: 'authorization_code', metadataUrl, redirectPort };
}

/** At most one of them is given. */
const SECRETS = ['private_key', 'refresh_token', 'assertion', 'id_token'] as const;
const FIELDS: ReadonlySet<string> = new Set([...TEXTS, 'dpop', 'redirect_port']);

const textsOf = (value: JsonObject): Texts =>
  Object.fromEntries(TEXTS.map((name) => [name, value[name] ?? null])) as unknown as Texts;
const isPort = (value: Json): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1_024 && value <= 65_535;
const isAddress = (text: string | null): boolean =>
  text === null || text.startsWith('${') || (/^https?:\/\//.test(text) && URL.canParse(text));
const fault = (field: string, message: string): Either<FieldFault, never> => left({ field, message });
