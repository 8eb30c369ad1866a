// Serves one host on two streams: the stdio binding of MCP.
import type { Readable, Writable } from 'node:stream';
import { type McpRequestContext, createRequestStateCodec } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { HOST_STATE_TTL_S, HOST_SUBSCRIPTIONS_MAX, HOST_UNREAD_BYTES_MAX } from '../../schemas/limits.ts';
import type { Clock } from '../clock.ts';
import type { Host } from './host.ts';
import { newLineTransport } from './line-transport.ts';
import { newMcpServer, tellOfTools } from './mcp-server.ts';
import type { CallToken } from './questions.ts';

export interface HostServing {
  readonly host: Host;
  readonly clock: Clock;
  /** Seals what hosts bring back, at least 32 bytes; the same after a restart, so that they can go on. */
  readonly key: string;
  /** The answers of the host's person count. */
  readonly hostAnswers: boolean;
  /** Names the data directory in commands, where it is not the usual one; empty otherwise. */
  readonly place: string;
  /** Called with faults that no message is answered with. */
  readonly onError?: (error: Error) => void;
}

/** Seals what a host brings back. */
export const newCodec = (key: string): ReturnType<typeof createRequestStateCodec<CallToken>> =>
  createRequestStateCodec<CallToken>({ key, ttlSeconds: HOST_STATE_TTL_S });

/** The streams of a host; `unreadBytesMax`: how many bytes may wait for a host that does not read. */
export interface HostStreams {
  readonly input: Readable;
  readonly output: Writable;
  readonly unreadBytesMax?: number;
}

/** Resolves when the host has closed the streams, or the signal aborts; rejects when the session is lost. */
export async function serveHost(
  { host, key, onError, ...options }: HostServing,
  { input, output, unreadBytesMax = HOST_UNREAD_BYTES_MAX }: HostStreams,
  signal: AbortSignal,
): Promise<void> {
  const codec = newCodec(key);
  const wire = newLineTransport(input, output, unreadBytesMax);
  const untells: (() => void)[] = [];
  const factory = ({ era }: McpRequestContext) => {
    const server = newMcpServer({ host, codec, ...options }, era);
    untells.push(tellOfTools(host, () => void server.sendToolListChanged().catch(() => undefined)));
    return server;
  };
  const gone = new Promise<void>((resolve) => {
    const close = wire.close.bind(wire);
    wire.close = async () => {
      await close();
      resolve();
    };
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  const handle = serveStdio(factory, {
    transport: wire,
    maxSubscriptions: HOST_SUBSCRIPTIONS_MAX,
    ...(onError === undefined ? {} : { onerror: onError }),
  });
  try {
    await Promise.race([gone, host.lost]);
  } finally {
    for (const untell of untells) untell();
    await handle.close();
  }
}
