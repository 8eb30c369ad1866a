// JSON lines over two streams: the transport of MCP's stdio binding, bounded. What is no message is answered with an error of
// JSON-RPC 2.0, section 5.1, and the connection goes on. Nothing but messages is written.
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, JSONRPCRequest, Transport } from '@modelcontextprotocol/server';
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  parseJSONRPCMessage,
} from '@modelcontextprotocol/server';
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Json, isPlainObject, parseJson } from '../../schemas/json.ts';
import { HOST_CALLS_WAITING_MAX, HOST_LINE_BYTES_MAX } from '../../schemas/limits.ts';

/** `unreadBytesMax`: the connection ends when more bytes wait for the host. */
export function newLineTransport(input: Readable, output: Writable, unreadBytesMax: number): Transport {
  const reader = newLineReader(HOST_LINE_BYTES_MAX);
  /** The requests that are not answered yet, by id. */
  const open = new Set<string | number>();
  let closed = false;

  function write(message: object): Promise<void> {
    if (closed) return Promise.reject(new Error('the connection to the host is closed'));
    return new Promise((resolve, fail) => {
      const isTaken = output.write(`${JSON.stringify(message)}\n`, (error) => (error ? fail(error) : resolve()));
      if (output.writableLength > unreadBytesMax)
        onError(new Error(`the host does not read: more than ${unreadBytesMax} bytes wait for it`));
      else if (!isTaken) waitForHost();
    });
  }

  /** Reads no further requests while the host does not read their answers. */
  function waitForHost(): void {
    if (input.isPaused()) return;
    input.pause();
    output.once('drain', () => (closed ? undefined : input.resume()));
  }

  const refuse = (id: unknown, code: number, message: string): void => {
    const named = typeof id === 'string' || typeof id === 'number' ? id : null;
    write({ jsonrpc: '2.0', id: named, error: { code, message } }).catch(() => undefined);
  };

  function take(line: Uint8Array | null): void {
    const read = readMessage(line);
    if (read === null) return;
    if ('refused' in read) refuse(read.id, read.refused, read.why);
    else if (!isJSONRPCRequest(read.message)) transport.onmessage?.(read.message);
    else deliver(read.message);
  }

  function deliver(request: JSONRPCRequest): void {
    const { id } = request;
    if (open.has(id)) refuse(id, INVALID_REQUEST, `the request ${String(id)} is not answered yet`);
    else if (open.size >= HOST_CALLS_WAITING_MAX) refuse(id, BUSY, `${open.size} requests are not answered yet`);
    else {
      open.add(id);
      transport.onmessage?.(request);
    }
  }

  const onData = (chunk: Uint8Array): void => {
    for (const line of reader(chunk)) take(line);
  };
  const onEnd = (): void => void transport.close();
  const onError = (error: Error): void => {
    transport.onerror?.(error);
    void transport.close();
  };

  const transport: Transport = {
    start() {
      input.on('data', onData).once('end', onEnd).once('close', onEnd).on('error', onError);
      output.on('error', onError);
      return Promise.resolve();
    },
    send(message: JSONRPCMessage) {
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
        if (message.id !== undefined) open.delete(message.id);
      }
      return write(message);
    },
    close() {
      if (closed) return Promise.resolve();
      closed = true;
      input.off('data', onData).pause();
      transport.onclose?.();
      return Promise.resolve();
    },
  };
  return transport;
}

const DECODER = new TextDecoder();

// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** Of those that the section leaves to servers. */
const BUSY = -32_000;

/** A line that is no message, with the error that its sender gets. */
interface BadLine {
  readonly id: unknown;
  readonly refused: number;
  readonly why: string;
}

/** The message of a line, or why it is none; null for a blank line. The reader gives null for a line that is too long. */
function readMessage(line: Uint8Array | null): { readonly message: JSONRPCMessage } | BadLine | null {
  if (line === null) {
    const why = `a line has more than ${HOST_LINE_BYTES_MAX} bytes; it was skipped`;
    return { id: null, refused: INVALID_REQUEST, why };
  }
  if (line.every((byte) => byte <= 0x20)) return null;
  const parsed = parseJson(DECODER.decode(line), HOST_LINE_BYTES_MAX);
  if (isLeft(parsed)) return { id: null, refused: PARSE_ERROR, why: `${parsed.left.code}: ${parsed.left.message}` };
  const message = messageOf(parsed.right);
  if (message !== null) return { message };
  const id = isPlainObject(parsed.right) ? parsed.right['id'] : null;
  return { id, refused: INVALID_REQUEST, why: 'a line is one message of JSON-RPC 2.0; this is none' };
}

function messageOf(value: Json): JSONRPCMessage | null {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return null;
  }
}

/** Splits chunks into lines; null for one that is too long, once, when it begins to be. */
export function newLineReader(bytesMax: number): (chunk: Uint8Array) => readonly (Uint8Array | null)[] {
  let parts: Uint8Array[] = [];
  let size = 0;
  let skipping = false;
  const add = (part: Uint8Array, lines: (Uint8Array | null)[]): void => {
    if (skipping || part.length === 0) return;
    size += part.length;
    if (size > bytesMax) {
      [parts, skipping] = [[], true];
      lines.push(null);
    } else parts.push(Uint8Array.from(part));
  };
  return (chunk) => {
    const lines: (Uint8Array | null)[] = [];
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      add(rest.subarray(0, end), lines);
      if (!skipping) lines.push(Buffer.concat(parts));
      [parts, size, skipping] = [[], 0, false];
      rest = rest.subarray(end + 1);
    }
    add(rest, lines);
    return lines;
  };
}

const NEWLINE = 0x0a;
