// The configuration of MCP servers: the common `mcpServers` file, with fields of refold's own. Every fault says where it is. A
// server with a fault is left out, and the others stay; a file that is no such file at all changes nothing.
import { type Either, chain, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { type JsonObject, isPlainObject, parseJson } from '../../schemas/json.ts';
import { CALL_TIMEOUT_MS_MAX, MCP_CONFIG_BYTES_MAX, MCP_SERVERS_MAX } from '../../schemas/limits.ts';
import { pointerSegment } from '../../schemas/rejection.ts';
import { mcpServerName } from './mcp-names.ts';
import {
  type ConfigFault,
  type Fail,
  type HttpSettings,
  type StdioSettings,
  httpFields,
  stdioFields,
} from './mcp-config-transport.ts';

export interface ServerSettings {
  /** Its name in the ids of its tools. */
  readonly name: string;
  /** What the configuration calls it. */
  readonly title: string;
  readonly transport: StdioSettings | HttpSettings;
  /** `first`: the definitions of its first listing are approved at once. */
  readonly trust: 'first' | null;
  /** What it says of its own tools is believed. */
  readonly trustHints: boolean;
  /** How long a call of its tools may take. */
  readonly timeoutMs: number | null;
}

export interface McpConfig {
  /** The servers to run, in byte order of what they are called. */
  readonly servers: readonly ServerSettings[];
  /** The servers that are switched off. */
  readonly disabled: readonly string[];
  /** Entries that are left out. */
  readonly faults: readonly ConfigFault[];
}

export const NO_SERVERS: McpConfig = { servers: [], disabled: [], faults: [] };

/** The fault of a file that is no configuration; then the one before stays. */
export function parseConfig(text: string): Either<ConfigFault, McpConfig> {
  const parsed = parseJson(text, MCP_CONFIG_BYTES_MAX);
  if (isLeft(parsed)) return left({ path: parsed.left.path, message: parsed.left.message });
  const file = parsed.right;
  if (!isPlainObject(file)) return left({ path: '', message: 'must be an object with the field mcpServers' });
  const { mcpServers } = file;
  if (!isPlainObject(mcpServers))
    return left({ path: '/mcpServers', message: 'must be an object: a server for each name' });
  const names = Object.keys(mcpServers).toSorted();
  if (names.length > MCP_SERVERS_MAX)
    return left({
      path: '/mcpServers',
      message: `has ${names.length} servers; at most ${MCP_SERVERS_MAX} are possible`,
    });
  const read = names.map((name) => ({ name, entry: readEntry(name, mcpServers[name] as JsonObject) }));
  return right({
    servers: read.flatMap(({ entry }) => (isLeft(entry) || entry.right === null ? [] : [entry.right])),
    disabled: read.flatMap(({ name, entry }) => (isLeft(entry) || entry.right !== null ? [] : [name])),
    faults: read.flatMap(({ entry }) => (isLeft(entry) ? [entry.left] : [])),
  });
}

/** Null for a server that is switched off. */
function readEntry(title: string, entry: unknown): Either<ConfigFault, ServerSettings | null> {
  const at = `/mcpServers${pointerSegment(title)}`;
  const fail = (field: string, message: string): Either<ConfigFault, never> =>
    left({ path: field === '' ? at : `${at}/${field}`, message });
  if (!TITLE.test(title)) {
    const what = JSON.stringify(title.slice(0, 64));
    return fail(
      '',
      `${what} cannot name a server: take 1 to ${TITLE_CHARS_MAX} characters that can be seen, none a space at an end`,
    );
  }
  if (!isPlainObject(entry)) return fail('', 'must be an object with "command" or "url"');
  return pipe(
    ownFields(entry as JsonObject, fail),
    chain(({ disabled, ...ours }) =>
      disabled
        ? right(null)
        : pipe(
            readTransport(entry as JsonObject, fail),
            map((transport) => ({ name: mcpServerName(title), title, transport, ...ours })),
          ),
    ),
  );
}

const TITLE_CHARS_MAX = 64;
const WORD = '[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}]+';
/** Words of letters, marks, digits and signs that can be seen, with one space between two. */
const TITLE = new RegExp(
  `^(?!.*\\p{Default_Ignorable_Code_Point})(?=.{1,${TITLE_CHARS_MAX}}$)${WORD}( ${WORD})*$`,
  'u',
);

function readTransport(entry: JsonObject, fail: Fail): Either<ConfigFault, StdioSettings | HttpSettings> {
  const isStdio = 'command' in entry;
  if (isStdio === 'url' in entry)
    return fail('', 'must have either "command" (a local server) or "url" (a server over HTTP)');
  return isStdio ? stdioFields(entry, fail) : httpFields(entry, fail);
}

type OwnFields = Pick<ServerSettings, 'trust' | 'trustHints' | 'timeoutMs'> & { readonly disabled: boolean };

/** The fields that other hosts do not know. */
function ownFields(entry: JsonObject, fail: Fail): Either<ConfigFault, OwnFields> {
  const { disabled = false, trust = null, trust_hints: trustHints = false, timeout_ms: timeoutMs = null } = entry;
  if (typeof disabled !== 'boolean') return fail('disabled', 'must be true or false');
  if (trust !== null && trust !== 'first')
    return fail('trust', 'must be "first", or absent: then an operator approves the tools');
  if (typeof trustHints !== 'boolean') return fail('trust_hints', 'must be true or false');
  if (!isTime(timeoutMs)) return fail('timeout_ms', `must be a whole number from 1 to ${CALL_TIMEOUT_MS_MAX}`);
  return right({ disabled, trust, trustHints, timeoutMs });
}

const isTime = (value: unknown): value is number | null =>
  value === null ||
  (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= CALL_TIMEOUT_MS_MAX);
