// Secrets by reference: `${env:NAME}` in a value of the configuration stands for a variable of the bridge. What a reference
// stands for is known only while a server is started; the redactor that comes with it keeps it out of records and logs.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { isSecretName } from '../../src/files/secret-variables.ts';
import type { OAuthSettings } from '../../src/toolsets/mcp-config-oauth.ts';
import type { HttpSettings, StdioSettings } from '../../src/toolsets/mcp-config-transport.ts';

/** The variables of the bridge: its environment and its secrets. */
export type Variables = Readonly<Record<string, string | undefined>>;

export interface Resolved<T> {
  readonly settings: T;
  /** The values that came from variables, and what the file itself holds in their places. */
  readonly secrets: readonly string[];
}

/** The settings with every reference replaced; left: the variables that have no value. */
export function resolveSettings<T extends StdioSettings | HttpSettings>(
  settings: T,
  variables: Variables,
): Either<readonly string[], Resolved<T>> {
  const missing = new Set<string>();
  const secrets = new Set<string>();
  const resolve = (text: string): string =>
    text.replaceAll(REFERENCE, (_, name: string) => {
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (value === undefined || value === '') missing.add(name);
      else secrets.add(value);
      return value ?? '';
    });
  const resolved = mapTexts(settings, resolve) as T;
  if (missing.size > 0) return left([...missing].toSorted());
  for (const value of writtenSecrets(resolved)) secrets.add(value);
  return right({ settings: resolved, secrets: [...secrets] });
}

const REFERENCE = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapTexts(inner, map)]));
}

/** What a person wrote into the file although it is a secret, by the name of its place. */
function writtenSecrets(settings: StdioSettings | HttpSettings): readonly string[] {
  if (settings.kind === 'stdio')
    return Object.entries(settings.env).flatMap(([name, value]) => (isSecretName(name) ? [value] : []));
  const headers = Object.entries(settings.headers).flatMap(([name, value]) =>
    /^(proxy-)?authorization$/i.test(name) || isSecretName(name.replaceAll('-', '_'))
      ? [value, value.replace(/^\S+\s+/, '')]
      : [],
  );
  return [...headers, ...(settings.oauth === null ? [] : oauthSecrets(settings.oauth))];
}

const oauthSecrets = ({ clientSecret, grant }: OAuthSettings): readonly string[] =>
  Object.entries({ ...grant, clientSecret }).flatMap(([name, value]) =>
    OAUTH_SECRETS.has(name) && typeof value === 'string' ? [value] : [],
  );

const OAUTH_SECRETS: ReadonlySet<string> = new Set([
  'assertion',
  'clientSecret',
  'idToken',
  'idpClientSecret',
  'privateKey',
  'refreshToken',
]);
