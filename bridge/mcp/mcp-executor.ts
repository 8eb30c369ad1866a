// Runs calls of the tools of MCP servers, and offers those tools as toolsets. It is an executor whose tools change while it runs.
import type { ElicitResult } from '@modelcontextprotocol/client';
import { isLeft } from 'fp-ts/lib/Either.js';

import type { JsonObject } from '../../schemas/json.ts';
import { MCP_ATTACH_MS_MAX } from '../../schemas/limits.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import { mcpToolset } from '../../src/toolsets/mcp-names.ts';
import type { CallAsk } from '../executors/call-ask.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import type { CallContext, CallTarget, Executor } from '../executors/executors.ts';
import { openKeeper } from '../host/exec/keeper.ts';
import type { Log } from '../log.ts';
import type { ToolsetSource } from '../toolsets/toolset-source.ts';
import { watchConfig } from './config-file.ts';
import type { Variables } from './references.ts';
import { callQuestionOf } from './questions.ts';
import type { Logins } from './oauth/login-store.ts';
import { type SchemaThread, newSchemaThread } from './schema-thread.ts';
import type { Server, ServerPorts } from './server.ts';
import { newServers } from './servers.ts';
import { WAIT_FOR_SERVER_MS, runMcpTool } from './tool-run.ts';

export interface McpOptions {
  /** The configuration file; it need not exist. */
  readonly configFile: string;
  /** Names who sets the toolsets: the same in every process that uses this configuration. */
  readonly owner: ToolsetSource['owner'];
  /** What references in the configuration stand for. */
  readonly variables: Variables;
  /** Where the logins of people are kept; null where there is no place for them. */
  readonly logins: Logins | null;
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
  const running: RunningCalls = new Map();
  let version = 0;
  const servers = newServers({
    clock,
    random,
    log,
    keeper,
    schemas,
    hidden: options.hidden,
    logins: options.logins,
    variables: options.variables,
    ...(options.connect === undefined ? {} : { connect: options.connect }),
    onTools: () => void (version += 1),
    onElicitOf: elicitFor(running, (name) => servers.all.get(name)),
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
    resumes: true,
    run: (call, args, context) => run({ servers: servers.all, schemas, clock, running }, call, args, context),
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

/** The calls that run now, by their server: a question of an older server does not say which of them it is about. */
type RunningCalls = Map<string, Set<CallContext>>;

/** Puts a question of a server (2025-11-25, "Elicitation") to a person, when it can only be about one call. */
const elicitFor =
  (running: RunningCalls, serverOf: (name: string) => Server | undefined) =>
  ({ name, title }: Server['settings']): ServerPorts['onElicit'] =>
  async (params) => {
    const calls = [...(running.get(name) ?? [])].filter(({ ask }) => ask !== undefined);
    const question = callQuestionOf(params, title);
    const [only] = calls;
    if (calls.length !== 1 || isLeft(question) || only?.ask === undefined) return { action: 'cancel' };
    // It goes on record before the result does.
    const hidden = serverOf(name)?.redactor().value(question.right);
    if (hidden === undefined) return { action: 'cancel' };
    const { action, content } = await only.ask(hidden);
    return content === undefined ? { action } : { action, content: content as NonNullable<ElicitResult['content']> };
  };

interface Parts {
  readonly servers: ReadonlyMap<string, Server>;
  readonly schemas: SchemaThread;
  readonly clock: BridgeClock;
  readonly running: RunningCalls;
}

async function run(
  { servers, running, ...ports }: Parts,
  { tool_id }: CallTarget,
  args: JsonObject,
  context: CallContext,
): Promise<CallReport | CallAsk> {
  const [, name = ''] = tool_id.split('.');
  const server = servers.get(name);
  if (server === undefined) return unavailable(name, 'it is not configured here');
  await untilListed(server, ports.clock, context);
  const connection = server.connection();
  // What another bridge has noted can wait for the server.
  const { title } = server.settings;
  if ('why' in connection && context.resume?.handle === undefined) return unavailable(title, connection.why);
  const tool = server.tools()?.get(tool_id);
  if (tool === undefined) return failedReport('tool_unavailable', `the server "${title}" has no such tool any more`);
  const calls = running.get(name) ?? new Set();
  running.set(name, calls.add(context));
  try {
    return server.redactor().value(await runMcpTool({ ...ports, server, tool, args, context }));
  } finally {
    calls.delete(context);
  }
}

/**
 * A bridge that has just started gets calls before its servers have listed their tools. They wait as a generate does; one that
 * was noted by another bridge waits as long as it may take.
 */
async function untilListed(server: Server, clock: BridgeClock, { signal, resume }: CallContext): Promise<void> {
  if (server.tools() !== null) return;
  await Promise.race([server.attached, sleep(clock, MCP_ATTACH_MS_MAX, signal)]);
  if (resume?.handle === undefined) return;
  while (server.tools() === null && !signal.aborted) await sleep(clock, WAIT_FOR_SERVER_MS, signal);
}

const unavailable = (name: string, why: string): CallReport => ({
  ...failedReport('server_unavailable', `the server "${name}" is not available: ${why}`),
  needsFollowup: true,
  retryable: true,
});
