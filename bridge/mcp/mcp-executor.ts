// Runs calls of the tools of MCP servers, and offers those tools as toolsets. It is an executor whose tools change while it runs.

import type { JsonObject } from '../../schemas/json.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { mcpToolset } from '../../src/toolsets/mcp-names.ts';
import type { McpTool } from '../../src/toolsets/mcp-tools.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import type { CallContext, CallTarget, Executor } from '../executors/executors.ts';
import { openKeeper } from '../host/exec/keeper.ts';
import type { Log } from '../log.ts';
import type { ToolsetSource } from '../toolsets/toolset-source.ts';
import { callTool, reportOfError } from './call.ts';
import { watchConfig } from './config-file.ts';
import type { Variables } from './references.ts';
import { reportOf } from './result.ts';
import { newSchemaThread } from './schema-thread.ts';
import type { Server, ServerPorts } from './server.ts';
import { newServers } from './servers.ts';

export interface McpOptions {
  /** The configuration file; it need not exist. */
  readonly configFile: string;
  /** Names who sets the toolsets: the same in every process that uses this configuration. */
  readonly owner: ToolsetSource['owner'];
  /** What references in the configuration stand for. */
  readonly variables: Variables;
  /** What no server may see. */
  readonly hidden: readonly string[];
  readonly clock: BridgeClock;
  readonly random: () => number;
  readonly log: Log;
  readonly connect?: ServerPorts['connect'];
}

export interface Mcp {
  readonly executor: Executor;
  readonly toolsets: ToolsetSource;
  /** Stops every server. */
  close(): Promise<void>;
}

export async function openMcp(options: McpOptions): Promise<Mcp> {
  const { clock, random, log, owner } = options;
  const keeper = openKeeper();
  const schemas = newSchemaThread();
  let version = 0;
  const servers = newServers({
    clock,
    random,
    log,
    keeper,
    schemas,
    hidden: options.hidden,
    variables: options.variables,
    ...(options.connect === undefined ? {} : { connect: options.connect }),
    onTools: () => void (version += 1),
    onElicitOf: () => () => Promise.resolve({ action: 'cancel' }),
  });
  const file = await watchConfig(options.configFile, { clock, log, onConfig: (config) => servers.configure(config) });
  const executor: Executor = {
    get tools() {
      return [...servers.all.keys()].map((name) => `${mcpToolset(name)}.*`);
    },
    get definitions() {
      const listed = [...servers.all.values()].flatMap((server) => [...(server.tools()?.values() ?? [])]);
      return Object.fromEntries(listed.map(({ spec }) => [spec.tool_id, spec.tool_ref]));
    },
    run: (call, args, context) => run({ servers: servers.all, schemas }, call, args, context),
  };
  return {
    executor,
    toolsets: {
      owner,
      version: () => version,
      names: () => [...servers.all.keys()].map(mcpToolset),
      toolsets: () => [...servers.all.values()].flatMap(offered),
      ready: () => servers.attached(),
    },
    async close() {
      file.close();
      await servers.close();
      await schemas.close();
      keeper.close();
    },
  };
}

/** Nothing before the first listing: what was recorded of an earlier one stays. */
function offered(server: Server): ReturnType<ToolsetSource['toolsets']> {
  const { settings } = server;
  const listed = server.tools();
  if (listed === null) return [];
  return [{ toolset: mcpToolset(settings.name), tools: [...listed.values()], trust: settings.trust }];
}

interface Running {
  readonly servers: ReadonlyMap<string, Server>;
  readonly schemas: ReturnType<typeof newSchemaThread>;
}

async function run(running: Running, call: CallTarget, args: JsonObject, context: CallContext): Promise<CallReport> {
  const [, name = ''] = call.tool_id.split('.');
  const server = running.servers.get(name);
  if (server === undefined) return unavailable(name, 'it is not configured here');
  const connection = server.connection();
  if ('why' in connection) return unavailable(name, connection.why);
  const tool = server.tools()?.get(call.tool_id);
  if (tool === undefined) return failedReport('tool_unavailable', `the server "${name}" has no such tool any more`);
  const report = await request(connection, { tool, args, context, running });
  return server.redactor().value(report);
}

type Connected = Extract<ReturnType<Server['connection']>, { readonly client: unknown }>;

interface Request {
  readonly tool: McpTool;
  readonly args: JsonObject;
  readonly context: CallContext;
  readonly running: Running;
}

async function request({ client }: Connected, { tool, args, context, running }: Request): Promise<CallReport> {
  try {
    const answer = await callTool(client, tool, { args, extras: {}, context });
    return await reportOf(answer, tool.outputSchema, { context, schemas: running.schemas });
  } catch (error) {
    return reportOfError(error);
  }
}

const unavailable = (name: string, why: string): CallReport => ({
  ...failedReport('server_unavailable', `the server "${name}" is not available: ${why}`),
  needsFollowup: true,
  retryable: true,
});
