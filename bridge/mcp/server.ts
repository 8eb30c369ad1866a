// One configured server, for as long as it is configured: connects, lists its tools, lists them again when they change or are no
// longer trusted, and starts it again after a wait when it fails. Whatever it does, it never throws into the bridge.
import type { Client } from '@modelcontextprotocol/client';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { ToolId } from '../../schemas/ids.ts';
import { MCP_LEFT_OUT_NAMED_MAX, MCP_RESTART_MS_BASE, MCP_RESTART_MS_MAX } from '../../schemas/limits.ts';
import { sleep } from '../../src/clock.ts';
import type { ServerSettings } from '../../src/toolsets/mcp-config.ts';
import type { McpTool } from '../../src/toolsets/mcp-tools.ts';
import { backoffMs } from '../engine-link/backoff.ts';
import { type Log, clip, messageOf } from '../log.ts';
import { type Redactor, createRedactor } from '../secrets/redactor.ts';
import { type Connection, type ConnectionHandlers, type ConnectionPorts, connectTo } from './connection.ts';
import { serverFetch } from './http-transport.ts';
import { type Listing, listTools } from './listing.ts';
import type { Logins } from './oauth/login-store.ts';
import { serverAuth } from './oauth/server-auth.ts';
import type { ServerAuth } from './oauth/stored-login.ts';
import { type Variables, resolveSettings } from './references.ts';
import type { SchemaThread } from './schema-thread.ts';
import { type Staleness, newStaleness } from './staleness.ts';

export interface ServerPorts extends Omit<ConnectionPorts, 'provider'> {
  /** Where the logins of people are kept; null where a bridge has no place for them. */
  readonly logins: Logins | null;
  readonly variables: Variables;
  readonly schemas: SchemaThread;
  readonly random: () => number;
  readonly log: Log;
  /** Its tools are others now. */
  readonly onTools: () => void;
  readonly onElicit: ConnectionHandlers['onElicit'];
  /** Opens the connection; `connectTo` outside of tests. */
  readonly connect?: typeof connectTo;
}

export interface Server {
  readonly settings: ServerSettings;
  /** The tools of the last whole listing, also while the server is away; null before the first. */
  tools(): ReadonlyMap<ToolId, McpTool> | null;
  /** The live connection, or why there is none, for people. */
  connection(): { readonly client: Client } | { readonly why: string };
  /** Resolves when it has listed its tools, or has failed for the first time. */
  readonly attached: Promise<void>;
  /** Replaces the secrets of its settings. */
  redactor(): Redactor;
  /** Ends the server; resolves when it has ended. */
  stop(): Promise<void>;
}

export const startServer = (settings: ServerSettings, ports: ServerPorts): Server => new RunningServer(settings, ports);

class RunningServer implements Server {
  readonly settings: ServerSettings;
  readonly attached: Promise<void>;
  readonly #ports: ServerPorts;
  readonly #stopping = new AbortController();
  readonly #served: Promise<void>;
  #attach: () => void = () => undefined;
  #secrets: readonly string[] = [];
  #auth: ServerAuth | null = null;
  #redactor = { of: '', redactor: createRedactor([]) };
  #live: Connection | null = null;
  #why = 'it is starting';
  #listing: Listing | null = null;

  constructor(settings: ServerSettings, ports: ServerPorts) {
    this.settings = settings;
    this.#ports = ports;
    this.attached = new Promise((resolve) => (this.#attach = resolve));
    this.#served = this.#serve();
  }

  tools(): ReadonlyMap<ToolId, McpTool> | null {
    return this.#listing?.tools ?? null;
  }

  connection(): ReturnType<Server['connection']> {
    return this.#live ?? { why: this.#why };
  }

  redactor(): Redactor {
    // Tokens come and go while a server is connected.
    const secrets = [...this.#secrets, ...(this.#auth?.secrets() ?? [])];
    const of = secrets.join('\n');
    if (of !== this.#redactor.of) this.#redactor = { of, redactor: createRedactor(secrets) };
    return this.#redactor.redactor;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#served;
  }

  async #serve(): Promise<void> {
    const { clock, log, random } = this.#ports;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const beganMs = clock.elapsed();
      this.#why = await this.#serveOnce().catch((error: unknown) => clip(this.redactor().text(messageOf(error))));
      this.#attach();
      if (signal.aborted) return;
      if (clock.elapsed() - beganMs > MCP_RESTART_MS_MAX) failures = 0;
      const ms = backoffMs(failures, random, { baseMs: MCP_RESTART_MS_BASE, maxMs: MCP_RESTART_MS_MAX });
      log({ event: 'mcp_server_unavailable', server: this.settings.title, why: this.#why, retry_ms: Math.round(ms) });
      await sleep(clock, ms, signal);
    }
  }

  /** Resolves when the connection has ended, with why. Rejects when there is none, or its tools cannot be listed. */
  async #serveOnce(): Promise<string> {
    const { transport, title } = this.settings;
    const resolved = resolveSettings(transport, this.#ports.variables);
    if (isLeft(resolved))
      throw new Error(`the configuration refers to ${resolved.left.join(', ')}, without a value here`);
    const { settings, secrets } = resolved.right;
    this.#secrets = secrets;
    const { logins } = this.#ports;
    this.#auth =
      settings.kind === 'http' && settings.oauth !== null
        ? serverAuth(settings.oauth, logins?.of(title, settings.url) ?? null, serverFetch(settings))
        : null;
    const stale = newStaleness(this.#ports.clock);
    const handlers = { onToolsChanged: () => stale.mark(), onElicit: this.#ports.onElicit };
    const ports = { ...this.#ports, provider: this.#auth?.provider ?? null };
    const connection = await (ports.connect ?? connectTo)(settings, handlers, ports);
    const over = new AbortController();
    const end = (): void => over.abort();
    this.#stopping.signal.addEventListener('abort', end, { once: true });
    try {
      if (this.#stopping.signal.aborted) return 'it was stopped';
      // What ended the connection says more than that a request had no answer.
      const lost = connection.ended.then((why) => Promise.reject(new Error(why)));
      await Promise.race([this.#list(connection), lost]);
      this.#live = connection;
      const sandbox = connection.sandbox === null ? {} : { sandbox: connection.sandbox };
      const protocol = connection.client.getNegotiatedProtocolVersion() ?? 'unknown';
      const tools = this.#listing?.tools.size ?? 0;
      this.#ports.log({ event: 'mcp_server_ready', server: title, tools, protocol, ...sandbox });
      return await Promise.race([connection.ended, this.#follow(connection, stale, over.signal)]);
    } finally {
      this.#live = null;
      this.#stopping.signal.removeEventListener('abort', end);
      over.abort();
      await connection.close().catch(() => undefined);
    }
  }

  /** Lists the tools again whenever they may be others. Resolves when it is over; rejects when a listing fails. */
  async #follow(connection: Connection, stale: Staleness, over: AbortSignal): Promise<string> {
    for (;;) {
      await stale.wait(this.#listing?.ttlMs ?? null, over);
      if (over.aborted) return 'it was stopped';
      await this.#list(connection);
    }
  }

  async #list({ client }: Connection): Promise<void> {
    const { clock, schemas, onTools } = this.#ports;
    const { name, trustHints, timeoutMs } = this.settings;
    const source = { server: name, trustHints, ...(timeoutMs === null ? {} : { timeoutMs }) };
    const redact = (said: unknown): unknown => this.redactor().value(said);
    const before = this.#listing;
    const next = await listTools(client, source, { clock, schemas, signal: this.#stopping.signal, redact });
    this.#listing = next;
    if (before === null || !isSame(before, next)) {
      this.#tellLeftOut(next);
      onTools();
    }
    this.#attach();
  }

  #tellLeftOut({ leftOut }: Listing): void {
    const server = this.settings.title;
    const { log } = this.#ports;
    for (const { name: tool, reason } of leftOut.slice(0, MCP_LEFT_OUT_NAMED_MAX))
      log({ event: 'mcp_tool_left_out', server, tool, why: clip(this.redactor().text(reason)) });
    const more = leftOut.length - MCP_LEFT_OUT_NAMED_MAX;
    if (more > 0) log({ event: 'mcp_tool_left_out', server, tool: '', why: `and ${more} more` });
  }
}

function isSame(a: Listing, b: Listing): boolean {
  if (a.tools.size !== b.tools.size) return false;
  const [others, named] = [[...b.tools.values()], [...a.tools.values()]];
  return named.every((tool, index) => tool.definition === others[index]?.definition);
}
