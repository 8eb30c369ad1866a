// One connection to an MCP server, on the SDK: the transport, the handshake of whatever protocol the server speaks, the
// announcements of changed tools. Sampling and roots are not offered, so the SDK refuses them.
import type {
  AuthProvider,
  Client,
  ElicitRequest,
  ElicitResult,
  OAuthClientProvider,
  Transport,
} from '@modelcontextprotocol/client';
import { MCP_CHANGES_MS, MCP_CONNECT_MS_MAX, MCP_PROBE_MS_MAX } from '../../schemas/limits.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { HttpSettings, StdioSettings } from '../../src/toolsets/mcp-config-transport.ts';
import { PACKAGE_VERSION } from '../../src/version.ts';
import type { Keeper } from '../host/exec/keeper.ts';
import { httpTransport } from './http-transport.ts';
import { keepRawResults } from './raw-results.ts';
import { startServerProcess } from './server-process.ts';
import { type ServerLaunch, launchOf } from './server-sandbox.ts';
import { StdioTransport } from './stdio-transport.ts';

export interface Connection {
  readonly client: Client;
  /** How the server is confined; null for one over HTTP. */
  readonly sandbox: ServerLaunch['level'] | null;
  /** Resolves when the connection has ended, with why, for people. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

export interface ConnectionHandlers {
  readonly onToolsChanged: () => void;
  /** A question of the server to a person, during a call (2025-11-25, "Elicitation"). */
  readonly onElicit: (params: ElicitRequest['params'], signal: AbortSignal) => Promise<ElicitResult>;
}

export interface ConnectionPorts {
  readonly keeper: Keeper;
  readonly clock: BridgeClock;
  /** What no server may see. */
  readonly hidden: readonly string[];
  /** What tokens for a server over HTTP come from; null where it needs none, or they stand in its headers. */
  readonly provider: AuthProvider | OAuthClientProvider | null;
}

/** The extension by which a server may answer a call with a task. */
const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Throws when the server cannot be reached, or does not speak the protocol. */
export async function connectTo(
  settings: StdioSettings | HttpSettings,
  handlers: ConnectionHandlers,
  ports: ConnectionPorts,
): Promise<Connection> {
  if (settings.kind === 'http') {
    const transport = await httpTransport(settings, ports.provider);
    return await connected({ transport, sandbox: null, complaints: () => '' }, handlers);
  }
  const first = await openProcess(settings, ports);
  try {
    return await connected(first, handlers);
  } catch (error) {
    if (!first.hasEnded()) {
      await first.transport.close();
      throw error;
    }
    // It may be an older server, which ends at the first request that it does not know: the probe of the protocol.
    const second = await openProcess(settings, ports);
    return await connected(second, handlers, 'legacy').catch(async (again: unknown) => {
      await second.transport.close();
      throw again;
    });
  }
}

interface Opened {
  readonly transport: Transport;
  readonly sandbox: Connection['sandbox'];
  readonly complaints: () => string;
}

async function openProcess(settings: StdioSettings, ports: ConnectionPorts): Promise<Opened & { hasEnded(): boolean }> {
  const launch = launchOf(settings, ports.hidden);
  const process = await startServerProcess(launch, ports);
  let hasEnded = false;
  void process.ended.then(() => (hasEnded = true));
  const { parseJSONRPCMessage } = await import('@modelcontextprotocol/client');
  const transport = new StdioTransport(process, parseJSONRPCMessage, ports.clock);
  return { transport, sandbox: launch.level, complaints: () => process.complaints(), hasEnded: () => hasEnded };
}

async function connected(
  { transport, sandbox, complaints }: Opened,
  { onToolsChanged, onElicit }: ConnectionHandlers,
  era: 'auto' | 'legacy' = 'auto',
): Promise<Connection> {
  const { Client } = await import('@modelcontextprotocol/client');
  keepRawResults(transport);
  const client = new Client(
    { name: 'refold', version: PACKAGE_VERSION },
    {
      capabilities: { elicitation: { form: {}, url: {} }, extensions: { [TASKS_EXTENSION]: {} } },
      versionNegotiation: { mode: era, probe: { timeoutMs: MCP_PROBE_MS_MAX } },
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, debounceMs: MCP_CHANGES_MS, onChanged: onToolsChanged } },
    },
  );
  client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => onElicit(params, mcpReq.signal));
  let why = '';
  const ended = new Promise<string>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way
    client.onclose = () =>
      resolve([why || 'the connection ended', complaints()].filter((part) => part !== '').join(': '));
  });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way
  client.onerror = (error) => {
    if (error.name === 'ServerFault') why = error.message;
  };
  try {
    await client.connect(transport, { timeout: MCP_CONNECT_MS_MAX });
  } catch (error) {
    const said = complaints();
    const message = why || (error instanceof Error ? error.message : String(error));
    throw new Error(said === '' ? message : `${message}: ${said}`, { cause: error });
  }
  return { client, sandbox, ended, close: () => client.close() };
}
