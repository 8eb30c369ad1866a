// The MCP part of a bridge with real servers, for tests: their configuration, their tools, and calls of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CallAsk } from '../../../bridge/executors/call-ask.ts';
import type { CallReport } from '../../../bridge/executors/call-report.ts';
import type { CallContext } from '../../../bridge/executors/executors.ts';
import type { BridgeLogLine } from '../../../bridge/log.ts';
import { type Mcp, openMcp } from '../../../bridge/mcp/mcp-executor.ts';
import { openLogins } from '../../../bridge/mcp/oauth/login-store.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { brand } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { systemClock } from '../../../src/clock.ts';

const RAW_SERVER = fileURLToPath(new URL('raw-server.mjs', import.meta.url));

/** The settings of a server of raw lines that behaves as `trick` says. */
export const raw = (trick: string, option = '', more: JsonObject = {}): JsonObject => ({
  command: process.execPath,
  args: [RAW_SERVER, trick, option],
  ...more,
});

export interface Opened extends AsyncDisposable {
  readonly mcp: Mcp;
  readonly log: BridgeLogLine[];
  readonly blobs: Map<string, Uint8Array>;
  readonly configFile: string;
  configure(servers: JsonObject): void;
  /** Resolves when this is in the log, with its line; rejects after 20 s. */
  logged(event: BridgeLogLine['event'], server?: string): Promise<BridgeLogLine>;
  /** Resolves when it holds; rejects after 20 s. */
  until(holds: () => boolean): Promise<void>;
  toolsOf(server: string): readonly string[];
  call(toolId: string, args?: JsonObject, context?: Partial<CallContext>): Promise<Answered>;
}

/** A report, or a question with which the attempt ended: then `ask` and `state`. */
export type Answered = CallReport & Partial<CallAsk>;

export interface Place {
  /** Where the directory lies that no server may see. */
  readonly within?: string;
  /** The name by which it is kept from them. */
  readonly nameOf?: (directory: string) => string;
}

export async function open(
  servers: JsonObject,
  variables: Record<string, string> = {},
  { within = tmpdir(), nameOf = (directory) => directory }: Place = {},
): Promise<Opened> {
  const directory = mkdtempSync(join(within, 'refold-mcp-'));
  const configFile = join(directory, 'mcp.json');
  const configure = (all: JsonObject): void => writeFileSync(configFile, JSON.stringify({ mcpServers: all }));
  configure(servers);
  const log: BridgeLogLine[] = [];
  const wakers = new Set<() => void>();
  const blobs = new Map<string, Uint8Array>();
  const mcp = await openMcp({
    configFile,
    owner: brand('mcp-test'),
    variables,
    hidden: [nameOf(directory)],
    logins: openLogins(join(directory, 'mcp-logins')),
    clock: systemClock,
    random: () => 0,
    log(line) {
      log.push(line);
      for (const wake of wakers) wake();
    },
  });
  const until = async (holds: () => boolean): Promise<void> => {
    const endsAt = Date.now() + 20_000;
    while (!holds()) {
      if (Date.now() > endsAt)
        throw new Error(`it never came; the log:\n${log.map((line) => JSON.stringify(line)).join('\n')}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, 25);
        function done(): void {
          clearTimeout(timer);
          wakers.delete(done);
          resolve();
        }
        wakers.add(done);
      });
    }
  };
  const find = (event: string, server?: string): BridgeLogLine | undefined =>
    log.find((line) => line.event === event && (server === undefined || ('server' in line && line.server === server)));
  const listed = (server: string) =>
    mcp.toolsets.toolsets().find(({ toolset }) => toolset === `mcp.${server}`)?.tools ?? [];
  await mcp.toolsets.ready();
  return {
    mcp,
    log,
    blobs,
    configFile,
    configure,
    until,
    async logged(event, server) {
      await until(() => find(event, server) !== undefined);
      return find(event, server) as BridgeLogLine;
    },
    toolsOf: (server) => listed(server).map(({ spec }) => spec.tool_id),
    async call(toolId, args = {}, context = {}) {
      const target = {
        session_id: brand<'SessionId'>('s'),
        call_id: brand<'CallId'>('c'),
        tool_id: brand<'ToolId'>(toolId),
      };
      const answer = await mcp.executor.run({ ...target, executor: { kind: 'custom' } }, args, {
        signal: new AbortController().signal,
        timeoutMs: 60_000,
        outputBytesMax: 30_000,
        putBlob(bytes) {
          const ref = digestText(bytes);
          blobs.set(ref, bytes);
          return Promise.resolve(ref);
        },
        ...context,
      });
      return 'ask' in answer ? { ...answer, success: false, text: '' } : answer;
    },
    async [Symbol.asyncDispose]() {
      await mcp.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
