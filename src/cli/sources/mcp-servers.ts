// `refold mcp add`, `remove` and `list`: the file of MCP servers. What other programs wrote into it stays. A bridge that runs
// follows the change; no secret is printed, because values of variables and headers are not.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { MCP_CONFIG_BYTES_MAX } from '../../../schemas/limits.ts';
import { pointerSegment } from '../../../schemas/rejection.ts';
import { makeDirectory } from '../../files/directories.ts';
import { codeOf, reasonOf } from '../../files/file-failure.ts';
import { paint } from '../../shown/paint.ts';
import { visible } from '../../shown/visible.ts';
import { type McpConfig, NO_SERVERS, type ServerSettings, parseConfig } from '../../toolsets/mcp-config.ts';
import { mcpToolset } from '../../toolsets/mcp-names.ts';
import { CommandFailure, type Output } from '../output.ts';

export interface McpCommand {
  readonly action: 'add' | 'remove' | 'list';
  readonly dataDir: string;
  /** The configuration; `mcp.json` in the data directory when absent. */
  readonly file?: string;
  readonly name: string;
  /** The command of a local server. */
  readonly argv: readonly string[];
  readonly url?: string;
  /** `Name: value`. */
  readonly headers: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
  readonly trustFirst: boolean;
}

export async function mcpCommand(command: McpCommand, output: Output): Promise<number> {
  const { action, dataDir, name } = command;
  const file = resolve(command.file ?? join(dataDir, 'mcp.json'));
  const before = await readServers(file);
  if (action === 'list') return list(file, configOf(file, before), output);
  if (action === 'add' && Object.hasOwn(before, name))
    throw misuse(`${file} has a server "${visible(name)}"; remove it first: refold mcp remove ${visible(name)}`);
  if (action === 'remove' && !Object.hasOwn(before, name))
    throw misuse(`${file} has no server "${visible(name)}". List them: refold mcp list`);
  const { [name]: _removed, ...others } = before;
  const after = action === 'add' ? { ...before, [name]: entryOf(command) } : others;
  const fault = configOf(file, after).faults.find(
    ({ path }) => (path.split('/')[2] ?? '') === pointerSegment(name).slice(1),
  );
  if (action === 'add' && fault !== undefined)
    throw misuse(`the server cannot be added: ${fault.path} ${fault.message}`);
  await writeServers(file, after);
  output.object({ event: 'mcp_config', action, server: name, file });
  output.line(
    `${action === 'add' ? 'added' : 'removed'} ${paint.bold(visible(name))} in ${file}; bridges that run follow it`,
  );
  return 0;
}

function list(file: string, { servers, disabled, faults }: McpConfig, output: Output): number {
  for (const settings of servers) {
    const { name, title } = settings;
    const toolset = mcpToolset(name);
    output.object({ event: 'mcp_server', server: title, toolset, ...directoryOf(settings), trust: settings.trust });
    output.line(
      `${paint.bold(visible(title))}${name === title ? '' : ` (${toolset})`}  ${visible(Object.values(directoryOf(settings)).join(' '))}${settings.trust === null ? '' : '  trusted first'}`,
    );
  }
  for (const name of disabled) {
    output.object({ event: 'mcp_server', server: name, disabled: true });
    output.line(`${paint.bold(visible(name))}  disabled`);
  }
  for (const { path, message } of faults) {
    output.object({ event: 'mcp_config_fault', file, at: path, message });
    output.line(paint.yellow(`${file} at ${visible(path)}: ${visible(message)}`));
  }
  if (servers.length + disabled.length + faults.length === 0)
    output.line('no servers. To add one: refold mcp add NAME -- COMMAND ARGS…, or refold mcp add NAME --url URL');
  return faults.length === 0 ? 0 : 1;
}

/** Without arguments, which may hold secrets. */
const directoryOf = ({ transport }: ServerSettings): Readonly<Record<string, string>> =>
  transport.kind === 'stdio' ? { command: transport.command } : { url: transport.url };

function entryOf({ argv, url, headers, env, trustFirst }: McpCommand): JsonObject {
  const [program, ...args] = argv;
  if ((program === undefined) === (url === undefined))
    throw misuse('give either a command after --, or --url: refold mcp add NAME -- COMMAND ARGS…');
  const trust = trustFirst ? { trust: 'first' } : {};
  const pairs = (given: readonly string[], mark: string): JsonObject =>
    Object.fromEntries(given.map((text) => splitAt(text, mark)));
  if (program === undefined)
    return { url: url ?? '', ...(headers.length === 0 ? {} : { headers: pairs(headers, ':') }), ...trust };
  return { command: program, args, ...(env.length === 0 ? {} : { env: pairs(env, '=') }), ...trust };
}

function splitAt(text: string, mark: string): readonly [name: string, value: string] {
  const at = text.indexOf(mark);
  if (at < 1) throw misuse(`"${visible(text.split(mark)[0] ?? '')}" has no name and value with "${mark}" between them`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** The servers as the file has them; none where it does not exist. */
async function readServers(file: string): Promise<JsonObject> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '{"mcpServers":{}}';
    throw new CommandFailure('invalid_shape', `cannot read ${file}: ${reasonOf(error)}`);
  });
  const parsed = parseJson(text, MCP_CONFIG_BYTES_MAX);
  if (isLeft(parsed)) throw misuse(`${file} at ${parsed.left.path || '/'}: ${parsed.left.message}`);
  const servers = isPlainObject(parsed.right) ? parsed.right['mcpServers'] : null;
  if (!isPlainObject(servers)) throw misuse(`${file} at /mcpServers: must be an object: a server for each name`);
  return servers;
}

function configOf(file: string, mcpServers: JsonObject): McpConfig {
  if (Object.keys(mcpServers).length === 0) return NO_SERVERS;
  const config = parseConfig(JSON.stringify({ mcpServers }));
  if (isLeft(config)) throw misuse(`${file} at ${config.left.path}: ${config.left.message}`);
  return config.right;
}

/** All or nothing, and readable by its owner only: people write secrets into it. */
async function writeServers(file: string, mcpServers: JsonObject): Promise<void> {
  try {
    await makeDirectory(join(file, '..'));
    await writeFile(`${file}.tmp`, `${JSON.stringify({ mcpServers }, null, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.tmp`, file);
  } catch (error) {
    throw new CommandFailure('storage_failed', `cannot write ${file}: ${reasonOf(error)}`);
  }
}

const misuse = (message: string): CommandFailure => new CommandFailure('invalid_shape', message);
