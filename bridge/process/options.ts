// The command line of a bridge process, and the secrets on its standard input.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isLeft } from 'fp-ts/lib/Either.js';
import { OwnerId, SessionId } from '../../schemas/ids.ts';
import { isPlainObject, parseJson } from '../../schemas/json.ts';
import { CONCURRENCY_MAX, SECRETS_BYTES_MAX } from '../../schemas/limits.ts';
import { MODEL_SERVERS, MODEL_SERVER_NAMES, type ModelServerName } from '../../src/files/model-servers.ts';
import type { KeepResponses } from '../generate/exchange.ts';
import { baseUrlFault } from '../providers/api/endpoint.ts';
import { WorkspaceName } from '../../schemas/undo.ts';

export const USAGE = `usage: bridge --url URL --token-file PATH --workspace DIR --provider recorded|api|none [options]

  --sandbox auto|none|bwrap   how commands are confined (auto)
  --provider none             asks no model; leaves that to other bridges
  --recording FILE            the model's turns, or a cassette, with --provider recorded
  --record FILE               with --provider api: writes a cassette of all requests and responses, without secrets
  --keep-responses all|off|N  which responses of models are stored as evidence: all, none, or those of the last N turns
                              of a session (all)
  --api NAME                  with --provider api: ${MODEL_SERVER_NAMES.slice(0, 3).join(', ')},
                              ${MODEL_SERVER_NAMES.slice(3).join(', ')} (openai-chat)
  --base-url URL              the model server, when it is not the API's own; https, or http to this machine
  --model NAME                used instead of the model that a run names
  --fallback-model NAME       used when a run names no model
  --state-dir DIR             where the bridge notes the calls it starts, so that the next process can report them,
                              and what that one must undo in the workspace
  --protect PATH              a directory or file that no tool may read or write; may be repeated. In the workspace it must
                              exist, as a command could make it otherwise. The token file, the
                              data directory it lies in and the state directory always are protected
  --skills DIR                a directory of skills, each a folder with a SKILL.md; may be repeated (.refold/skills in the
                              workspace, where there is one). No tool may read or write there
  --skills-trust ask|first    whether an operator approves skills before a session uses them, or a session approves those
                              that it gets first (ask)
  --mcp-config FILE           the MCP servers whose tools the sessions get, as an mcpServers file; no tool may read or write it
                              (mcp.json in the data directory of the token file, where that is one)
  --workspace-name NAME       names the workspace (default: from the machine, the path and the inode); a call is undone
                              only where the name is the same
  --owner NAME                names this process to the engine; must be unique among live bridges
  --session ID                serves this session only; may be repeated
  --concurrency N             maximum number of concurrent calls (default: CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY)
  --undo-only                 only undoes calls; needs no provider
  --secrets-stdin             reads one line of JSON, {"NAME":"value"}, from standard input
  --exit-with-parent          stops when standard input ends
  --json                      accepted; the output is always JSON Lines
`;

/** An invalid command line; the message says what to do. */
export class Misuse extends Error {
  override readonly name = 'Misuse';
}

export interface MainOptions {
  readonly url: string;
  readonly tokenFile: string;
  readonly workspace: string;
  readonly sandbox: 'auto' | 'none' | 'bwrap';
  readonly provider: 'recorded' | 'api' | 'none';
  readonly api: ModelServerName;
  readonly recording: string | undefined;
  readonly record: string | undefined;
  readonly keepResponses: KeepResponses;
  readonly baseUrl: string;
  readonly model: string | undefined;
  readonly fallbackModel: string | undefined;
  readonly stateDir: string | undefined;
  readonly protect: readonly string[];
  /** Directories of skills; those of the workspace when none are named. */
  readonly skills: readonly string[];
  readonly skillsTrust: 'ask' | 'first';
  readonly mcpConfig: string | undefined;
  readonly workspaceName: string | undefined;
  readonly owner: OwnerId | undefined;
  readonly sessions: readonly SessionId[] | undefined;
  readonly concurrency: number | undefined;
  readonly undoOnly: boolean;
  readonly secretsStdin: boolean;
  readonly exitWithParent: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws a {@link Misuse}. */
export function readOptions(args: readonly string[], env: Environment): MainOptions {
  const values = parse(args);
  const needed = (name: 'url' | 'token-file' | 'workspace'): string => {
    const value = values[name];
    if (value === undefined || value === '') throw new Misuse(`--${name} is required`);
    return value;
  };
  const undoOnly = values['undo-only'] ?? false;
  const provider = undoOnly ? 'none' : oneOf('provider', values.provider, ['recorded', 'api', 'none']);
  if (provider === 'recorded' && values.recording === undefined)
    throw new Misuse('--recording FILE is required with --provider recorded');
  const api = oneOf('api', values.api, MODEL_SERVER_NAMES);
  const { owner, session } = values;
  if (owner !== undefined && !OwnerId.is(owner))
    throw new Misuse('--owner must be 1 to 128 printable ASCII characters without spaces');
  const concurrency = values.concurrency ?? env['CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY'];
  return {
    url: needed('url'),
    tokenFile: needed('token-file'),
    workspace: needed('workspace'),
    sandbox: oneOf('sandbox', values.sandbox, ['auto', 'none', 'bwrap']),
    provider,
    recording: values.recording,
    record: provider === 'api' ? values.record : undefined,
    keepResponses: keptResponses(values['keep-responses']),
    api,
    baseUrl: provider === 'api' ? baseUrl(api, values['base-url']) : '',
    model: values.model,
    fallbackModel: values['fallback-model'],
    stateDir: values['state-dir'],
    protect: values.protect ?? [],
    skills: skillDirectories(values.skills, needed('workspace')),
    skillsTrust: oneOf('skills-trust', values['skills-trust'], ['ask', 'first']),
    mcpConfig: values['mcp-config'],
    workspaceName: workspaceName(values['workspace-name']),
    owner,
    sessions: session?.map(sessionId),
    concurrency: concurrency === undefined || concurrency === '' ? undefined : count(concurrency),
    undoOnly,
    secretsStdin: values['secrets-stdin'] ?? false,
    exitWithParent: values['exit-with-parent'] ?? false,
  };
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

function parse(args: readonly string[]) {
  try {
    const options = {
      url: text,
      'token-file': text,
      workspace: text,
      sandbox: { ...text, default: 'auto' },
      provider: text,
      recording: text,
      api: { ...text, default: 'openai-chat' },
      'base-url': text,
      model: text,
      'fallback-model': text,
      'state-dir': text,
      'mcp-config': text,
      'workspace-name': text,
      record: text,
      'keep-responses': { ...text, default: 'all' },
      protect: { ...text, multiple: true },
      skills: { ...text, multiple: true },
      'skills-trust': { ...text, default: 'ask' },
      owner: text,
      session: { ...text, multiple: true },
      concurrency: text,
      'undo-only': flag,
      'secrets-stdin': flag,
      'exit-with-parent': flag,
      json: flag,
    } as const;
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : 'invalid arguments', { cause: error });
  }
}

function baseUrl(api: ModelServerName, given: string | undefined): string {
  const url = given ?? MODEL_SERVERS[api].baseUrl;
  if (url === null) throw new Misuse(`--base-url is required with --api ${api}`);
  const fault = baseUrlFault(url);
  if (fault !== null) throw new Misuse(`--base-url: ${fault}`);
  return url;
}

function oneOf<const V extends readonly string[]>(name: string, value: string | undefined, known: V): V[number] {
  if (value !== undefined && known.includes(value)) return value;
  throw new Misuse(`--${name} must be one of ${known.join(', ')}`);
}

/** Where a workspace keeps skills of its own. */
const OWN_SKILLS = '.refold/skills';

function skillDirectories(named: readonly string[] = [], workspace = '.'): readonly string[] {
  const missing = named.find((path) => !isDirectory(path));
  if (missing !== undefined)
    throw new Misuse(`--skills ${missing} is no directory; make it first, or correct the path`);
  if (named.length > 0) return named.map((path) => resolve(path));
  const own = resolve(workspace, OWN_SKILLS);
  return isDirectory(own) ? [own] : [];
}

/** False, too, where a part of the path is no directory: whoever opens the workspace says so. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

function sessionId(value: string): SessionId {
  if (SessionId.is(value)) return value;
  throw new Misuse(`--session must be a session id (1 to 64 of A-Z a-z 0-9 _ . -), not ${JSON.stringify(value)}`);
}

function workspaceName(value: string | undefined): string | undefined {
  if (value === undefined || WorkspaceName.is(value)) return value;
  throw new Misuse('--workspace-name must be 1 to 128 printable ASCII characters without spaces');
}

function keptResponses(value: string): KeepResponses {
  if (value === 'all' || value === 'off') return value;
  if (/^[1-9][0-9]{0,8}$/.test(value)) return Number(value);
  throw new Misuse(`--keep-responses must be all, off or a number of turns, not ${JSON.stringify(value)}`);
}

function count(value: string): number {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number >= 1 && number <= CONCURRENCY_MAX) return number;
  throw new Misuse(`the concurrency must be an integer from 1 to ${CONCURRENCY_MAX}, not ${JSON.stringify(value)}`);
}

/** Values by name. Throws a {@link Misuse} that does not repeat the input. */
export function parseSecrets(line: string): Readonly<Record<string, string>> {
  const parsed = parseJson(line, SECRETS_BYTES_MAX);
  const value = isLeft(parsed) ? null : parsed.right;
  if (!isPlainObject(value) || !Object.values(value).every((secret) => typeof secret === 'string')) {
    throw new Misuse('standard input must be one line of JSON such as {"OPENAI_API_KEY":"…"}');
  }
  return value as Readonly<Record<string, string>>;
}

/** The first line of a stream, which may stay open after it. */
export async function readFirstLine(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  // A character may be split between two chunks.
  const decoder = new TextDecoder();
  return await new Promise((resolve, reject) => {
    const finish = (): void => {
      stream.removeListener('data', append);
      stream.removeListener('end', finish);
      resolve(text.split('\n')[0] ?? '');
    };
    const append = (part: string | Buffer): void => {
      text += typeof part === 'string' ? part : decoder.decode(part, { stream: true });
      if (text.length > SECRETS_BYTES_MAX)
        reject(new Misuse(`standard input must not exceed ${SECRETS_BYTES_MAX} characters`));
      else if (text.includes('\n')) finish();
    };
    stream.on('data', append);
    stream.once('end', finish);
    stream.once('error', reject);
  });
}
