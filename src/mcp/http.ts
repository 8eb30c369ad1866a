// MCP over HTTP: the streamable binding. A host of the newer protocol has no connection: its requests name the session
// (`?session=ID`), or share one that is made for the token. A host of the older one has a connection with an id, and a session
// of its own, or the one that it names.
import { randomUUID } from 'node:crypto';
import {
  type McpHttpHandler,
  type ProtocolEra,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
} from '@modelcontextprotocol/server';
import { SessionId } from '../../schemas/ids.ts';
import { type Json, isPlainObject } from '../../schemas/json.ts';
import { HOSTS_MAX, HOST_IDLE_MS, HOST_RETRY_MS, HOST_SUBSCRIPTIONS_MAX } from '../../schemas/limits.ts';
import type { EngineClient } from '../client/client.ts';
import { RejectedError } from '../client/rejected-error.ts';
import type { Clock } from '../clock.ts';
import { type Host, openMcpHost } from './host.ts';
import { newMcpServer, tellOfTools } from './mcp-server.ts';
import { findHeaderFault } from './param-headers.ts';
import { newSentEvents } from './sent-events.ts';
import { newCodec } from './serve-host.ts';
import { specOf } from './tool-list.ts';

export interface McpHttpOptions {
  readonly clock: Clock;
  /** Seals what hosts bring back, at least 32 bytes. */
  readonly key: string;
  readonly hostAnswers: boolean;
  readonly place: string;
  /** Called with faults of this server; what a host did wrong is told that host only. */
  readonly onError?: (error: Error) => void;
}

/** A request whose sender is known and whose body was read. */
export interface McpRequest {
  readonly request: Request;
  /** Undefined for a request without a body. */
  readonly body: Json | undefined;
  /** What the token of the sender allows. */
  readonly client: EngineClient;
  /** Names the sender: hosts of one do not see those of another. */
  readonly sender: string;
}

export interface McpHttp {
  answer(request: McpRequest): Promise<Response>;
  close(): Promise<void>;
}

/** A host that is connected: by its connection, or by its session alone. */
interface Connected {
  readonly host: Host;
  readonly sender: string;
  readonly fetch: (request: Request, body: Json | undefined) => Promise<Response>;
  readonly close: () => Promise<void>;
  lastMs: number;
  /** Requests that are being answered. */
  busy: number;
}

export const newMcpHttp = (options: McpHttpOptions): McpHttp => new HostsOverHttp(options);

class HostsOverHttp implements McpHttp {
  readonly #options: McpHttpOptions;
  readonly #codec: ReturnType<typeof newCodec>;
  readonly #connected = new Map<string, Promise<Connected>>();

  constructor(options: McpHttpOptions) {
    this.#options = options;
    this.#codec = newCodec(options.key);
  }

  async answer(asked: McpRequest): Promise<Response> {
    try {
      const host = await this.#find(asked);
      host.busy += 1;
      try {
        return await host.fetch(bodiless(asked.request), asked.body);
      } finally {
        host.busy -= 1;
        host.lastMs = this.#options.clock.elapsed();
      }
    } catch (error) {
      return refusalOf(error);
    }
  }

  async close(): Promise<void> {
    const { onError = () => undefined } = this.#options;
    for (const name of this.#connected.keys()) await this.#forget(name).catch(onError);
  }

  #serverOf(host: Host, era: ProtocolEra): ReturnType<typeof newMcpServer> {
    const { clock, hostAnswers, place } = this.#options;
    return newMcpServer({ host, codec: this.#codec, clock, hostAnswers, place }, era);
  }

  #openHost(client: EngineClient, session: SessionId | undefined): Promise<Host> {
    const { clock } = this.#options;
    return openMcpHost({ client, clock, ...(session === undefined ? {} : { session }) });
  }

  /** Without a connection: a server for each request, over one session. */
  async #shared({ client, sender }: McpRequest, session: SessionId | undefined): Promise<Connected> {
    const host = await this.#openHost(client, session);
    const handler: McpHttpHandler = createMcpHandler(() => this.#serverOf(host, 'modern'), {
      legacy: 'reject',
      maxSubscriptions: HOST_SUBSCRIPTIONS_MAX,
    });
    const untell = tellOfTools(host, () => handler.notify.toolsChanged());
    return this.#entry({
      host,
      sender,
      fetch: async (request, body) => {
        const fault = findHeaderFault(request.headers, body, (tool) => specOf(host.state(), tool));
        if (fault !== null) return refusalOf(new Refused(400, HEADER_MISMATCH, fault), idOf(body));
        return await handler.fetch(request, body === undefined ? {} : { parsedBody: body });
      },
      close: async () => {
        untell();
        await handler.close();
        host.close();
      },
    });
  }

  /** With a connection: one server for it, from its first request to its last. */
  async #own({ client, sender }: McpRequest, id: string, session: SessionId | undefined): Promise<Connected> {
    const host = await this.#openHost(client, session);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => this.#forget(id),
      eventStore: newSentEvents(),
      retryInterval: HOST_RETRY_MS,
    });
    const server = this.#serverOf(host, 'legacy');
    const untell = tellOfTools(host, () => void server.sendToolListChanged().catch(() => undefined));
    await server.connect(transport);
    return this.#entry({
      host,
      sender,
      fetch: (request, body) => transport.handleRequest(request, body === undefined ? {} : { parsedBody: body }),
      close: async () => {
        untell();
        await server.close();
        host.close();
      },
    });
  }

  #entry(made: Omit<Connected, 'lastMs' | 'busy'>): Connected {
    return { ...made, lastMs: this.#options.clock.elapsed(), busy: 0 };
  }

  /** The host of a key, connected when it is not. */
  async #hostOf(name: string, connect: () => Promise<Connected>): Promise<Connected> {
    if (!this.#connected.has(name)) await this.#makeRoom();
    // Another request may have connected it, or have taken the room, meanwhile.
    const known = this.#connected.get(name);
    if (known !== undefined) return await known;
    if (this.#connected.size >= HOSTS_MAX)
      throw new Refused(429, -32_000, `${HOSTS_MAX} hosts are connected; try again later`);
    const made = connect();
    this.#connected.set(name, made);
    made.then(
      ({ host }) => void host.lost.catch(() => this.#forget(name)),
      () => this.#connected.delete(name),
    );
    return await made;
  }

  async #forget(name: string): Promise<void> {
    const known = this.#connected.get(name);
    this.#connected.delete(name);
    await (await known)?.close();
  }

  /** Disconnects hosts that have sent nothing for long, and for one more the one that was idle longest; with open calls, last. */
  async #makeRoom(): Promise<void> {
    const nowMs = this.#options.clock.elapsed();
    const idle: { readonly name: string; readonly forMs: number; readonly calls: number }[] = [];
    for (const [name, opening] of this.#connected) {
      const host = await opening.catch(() => null);
      if (host?.busy === 0) idle.push({ name, forMs: nowMs - host.lastMs, calls: host.host.calls.open() });
    }
    idle.sort((a, b) => Math.min(a.calls, 1) - Math.min(b.calls, 1) || b.forMs - a.forMs);
    const surplus = this.#connected.size - HOSTS_MAX + 1;
    const isOver = (forMs: number, calls: number): boolean => forMs > HOST_IDLE_MS && calls === 0;
    const gone = idle.filter(({ forMs, calls }, index) => isOver(forMs, calls) || index < surplus);
    for (const { name } of gone) await this.#forget(name);
  }

  async #find(asked: McpRequest): Promise<Connected> {
    const { request, body, sender } = asked;
    const session = sessionOf(request);
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      const known = await this.#connected.get(id);
      if (known?.sender === sender) return known;
      throw new Refused(404, -32_001, 'there is no such connection; connect again');
    }
    if (!(await isLegacyRequest(bodiless(request), body))) {
      return await this.#hostOf(`${sender} ${session ?? ''}`, () => this.#shared(asked, session));
    }
    if (!isInitializeRequest(body))
      throw new Refused(400, -32_000, 'connect first: send initialize, then its session id');
    const made = randomUUID();
    return await this.#hostOf(made, () => this.#own(asked, made, session));
  }
}

/** A request that is refused before any server has it. */
class Refused extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    [this.status, this.code] = [status, code];
  }
}

/** MCP 2026-07-28, "Error codes". */
const HEADER_MISMATCH = -32_020;

const idOf = (body: Json | undefined): Json => (isPlainObject(body) ? (body['id'] ?? null) : null);

function refusalOf(error: unknown, id: Json = null): Response {
  const refused = error instanceof RejectedError ? new Refused(404, -32_602, error.message) : error;
  if (!(refused instanceof Refused)) throw error;
  const { status, code, message } = refused;
  return Response.json({ jsonrpc: '2.0', id, error: { code, message } }, { status });
}

/** The session that the address names. */
function sessionOf({ url }: Request): SessionId | undefined {
  const named = new URL(url).searchParams.get('session');
  if (named === null) return undefined;
  if (SessionId.is(named)) return named;
  throw new Refused(400, -32_602, `${JSON.stringify(named.slice(0, 64))} is not a session id`);
}

/** The request without its body, which was read under the limits of this server. */
function bodiless(request: Request): Request {
  const { url, method, signal } = request;
  return new Request(url, { method, headers: new Headers(request.headers), signal });
}
