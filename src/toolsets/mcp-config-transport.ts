// The fields of one server in the configuration that say how it is reached: a process, or a URL. Values may refer to variables;
// they are resolved when the server is started, so that no secret is kept here.
import { type Either, isLeft, right } from 'fp-ts/lib/Either.js';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { type OAuthSettings, SIGN_IN, oauthFields } from './mcp-config-oauth.ts';

/** How a local server is confined. */
export interface SandboxSettings {
  /** `auto`: in a sandbox where that works. `none`: without one, as the operator's own user. */
  readonly level: 'auto' | 'none';
  readonly network: boolean;
  /** Absolute paths that it may read, and that it may also write. */
  readonly read: readonly string[];
  readonly write: readonly string[];
}

export interface StdioSettings {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly sandbox: SandboxSettings;
}

export interface HttpSettings {
  readonly kind: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for a server whose token stands in its headers. */
  readonly oauth: OAuthSettings | null;
}

/** What is wrong, where: a JSON pointer (RFC 6901) into the file. */
export interface ConfigFault {
  readonly path: string;
  readonly message: string;
}

/** The fault of a field of the server. */
export type Fail = (field: string, message: string) => Either<ConfigFault, never>;

export function stdioFields(entry: JsonObject, fail: Fail): Either<ConfigFault, StdioSettings> {
  const { command, args = [], env = {}, cwd = null, type = 'stdio' } = entry;
  if (type !== 'stdio') return fail('type', `must be "stdio" for a server with a command, not ${shown(type)}`);
  if (typeof command !== 'string' || command === '' || command.includes('\0'))
    return fail('command', 'must name a program');
  if (!isTexts(args)) return fail('args', 'must be a list of texts without NUL');
  const fault = entriesFault(env, /^[A-Za-z_][A-Za-z0-9_]*$/);
  if (fault !== null) return fail(`env${fault.at}`, fault.message);
  if (cwd !== null && !isPath(cwd)) return fail('cwd', 'must be an absolute path');
  const sandbox = sandboxFields(entry['sandbox'] ?? {}, fail);
  if (isLeft(sandbox)) return sandbox;
  return right({
    kind: 'stdio',
    command,
    args,
    env: env as Readonly<Record<string, string>>,
    cwd,
    sandbox: sandbox.right,
  });
}

function sandboxFields(value: Json, fail: Fail): Either<ConfigFault, SandboxSettings> {
  if (value === 'none') return right({ level: 'none', network: true, read: [], write: [] });
  if (!isPlainObject(value)) return fail('sandbox', 'must be "none", or an object with network, read and write');
  const { network = true, read = [], write = [], ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    return fail('sandbox', `has the unknown field ${shown(unknown)}; it may have network, read and write`);
  if (typeof network !== 'boolean') return fail('sandbox/network', 'must be true or false');
  if (!isPaths(read)) return fail('sandbox/read', 'must be a list of absolute paths');
  if (!isPaths(write)) return fail('sandbox/write', 'must be a list of absolute paths');
  return right({ level: 'auto', network, read, write });
}

export function httpFields(entry: JsonObject, fail: Fail): Either<ConfigFault, HttpSettings> {
  const { url, headers = {}, type = 'http' } = entry;
  if (type !== 'http' && type !== 'streamable-http')
    return fail('type', `must be "http" for a server with a url, not ${shown(type)}; other transports are retired`);
  if (typeof url !== 'string' || !URL.canParse(url)) return fail('url', 'must be a URL');
  const { protocol, username, password } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') return fail('url', 'must begin with https:// or http://');
  if (username !== '' || password !== '')
    return fail('url', 'must not hold a password; give it in headers, as ${env:NAME}');
  const fault = entriesFault(headers, /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/);
  if (fault !== null) return fail(`headers${fault.at}`, fault.message);
  const hasToken = Object.keys(headers as JsonObject).some((name) => name.toLowerCase() === 'authorization');
  const oauth = entry['oauth'] === undefined ? right(hasToken ? null : SIGN_IN) : oauthFields(entry['oauth']);
  if (isLeft(oauth)) {
    const { field, message } = oauth.left;
    return fail(field === '' ? 'oauth' : `oauth/${field}`, message);
  }
  return right({ kind: 'http', url, headers: headers as Readonly<Record<string, string>>, oauth: oauth.right });
}

/** Where and why the names and texts of an object cannot be used. */
function entriesFault(value: Json, name: RegExp): { readonly at: string; readonly message: string } | null {
  if (!isPlainObject(value)) return { at: '', message: 'must be an object of texts' };
  for (const [key, text] of Object.entries(value)) {
    if (!name.test(key)) return { at: '', message: `has the invalid name ${shown(key)}` };
    if (typeof text !== 'string' || /[\0\r\n]/.test(text))
      return { at: `/${key}`, message: 'must be a text of one line' };
  }
  return null;
}

const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) &&
  value.length <= 1_024 &&
  value.every((item) => typeof item === 'string' && !item.includes('\0'));
const isPath = (value: Json): value is string =>
  typeof value === 'string' && (value.startsWith('/') || value.startsWith('${')) && !value.includes('\0');
const isPaths = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.length <= 256 && value.every(isPath);
const shown = (value: Json): string => JSON.stringify(value).slice(0, 64).toWellFormed();
