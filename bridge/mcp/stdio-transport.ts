// Messages of a local MCP server: one line of JSON each, on its standard streams (MCP 2026-07-28, "stdio"). Bounded: a line that
// does not end, too many lines that are no messages, and a flood all end or slow down this server, and nothing else.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import {
  MCP_FAULTS_MAX,
  MCP_MESSAGES_AT_ONCE_MAX,
  MCP_MESSAGES_PER_SECOND_MAX,
  MCP_MESSAGE_BYTES_MAX,
} from '../../schemas/limits.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { ServerProcess } from './server-process.ts';

type ParseMessage = (value: unknown) => JSONRPCMessage;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK takes a transport with these two for one of a process, whose silence means an older protocol. */
  readonly stderr = null;
  readonly pid: number;
  readonly #process: ServerProcess;
  readonly #parse: ParseMessage;
  readonly #clock: BridgeClock;
  readonly #lines = newLines();
  #faults = 0;
  #window = { sinceMs: 0, messages: 0 };
  #closed = false;

  constructor(process: ServerProcess, parse: ParseMessage, clock: BridgeClock) {
    this.#process = process;
    this.#parse = parse;
    this.#clock = clock;
    this.pid = process.pid;
  }

  start(): Promise<void> {
    this.#process.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    void this.#process.ended.then(() => this.#end());
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const { stdin } = this.#process;
      const onWritten = (error?: Error | null): void => (error ? reject(new ServerEnded(error.message)) : resolve());
      if (this.#closed || !stdin.writable) reject(new ServerEnded('the server has ended'));
      else stdin.write(`${JSON.stringify(message)}\n`, onWritten);
    });
  }

  async close(): Promise<void> {
    await this.#process.stop();
    this.#end();
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    this.#take(this.#lines(chunk));
  }

  #take(lines: Iterator<string | null>): void {
    for (let taken = 0; taken < MCP_MESSAGES_AT_ONCE_MAX; taken += 1) {
      const { done, value: line } = lines.next() as IteratorResult<string | null, undefined>;
      if (this.#closed) return;
      if (done === true) return this.#goOn();
      if (line === null) return this.#fail(`it sent a message of more than ${MCP_MESSAGE_BYTES_MAX} bytes`);
      if (line.trim() !== '') this.#handle(line);
    }
    // The rest of a flood waits for what else is ready.
    this.#process.stdout.pause();
    this.#clock.soon(() => this.#take(lines));
  }

  #handle(line: string): void {
    this.#window.messages += 1;
    try {
      this.onmessage?.(this.#parse(JSON.parse(line)));
    } catch {
      this.#faults += 1;
      this.onerror?.(new Error('the server wrote a line that is no message'));
      if (this.#faults > MCP_FAULTS_MAX) this.#fail(`it wrote more than ${MCP_FAULTS_MAX} lines that are no messages`);
    }
  }

  /** A server that sends more than its share is read more slowly: its pipe fills, and it waits. */
  #goOn(): void {
    const { stdout } = this.#process;
    const nowMs = this.#clock.elapsed();
    if (nowMs - this.#window.sinceMs >= 1_000) this.#window = { sinceMs: nowMs, messages: 0 };
    if (this.#window.messages < MCP_MESSAGES_PER_SECOND_MAX) {
      stdout.resume();
      return;
    }
    stdout.pause();
    this.#clock.after(this.#window.sinceMs + 1_000 - nowMs, () => stdout.resume());
  }

  #fail(why: string): void {
    this.onerror?.(new ServerFault(why));
    this.#process.stdout.removeAllListeners('data').resume();
    this.#end();
    void this.#process.stop();
  }
}

/** Nothing can be sent to the server any more; the code is that of the SDK for a connection that closes. */
class ServerEnded extends Error {
  readonly code = 'CONNECTION_CLOSED';
}

/** What a server did that ends its connection; the message is for people. */
export class ServerFault extends Error {
  override readonly name = 'ServerFault';
}

/** The whole lines of each chunk; null when a line is too long. */
function newLines(bytesMax = MCP_MESSAGE_BYTES_MAX): (chunk: Buffer) => Iterator<string | null> {
  let begun: Buffer[] = [];
  let bytes = 0;
  return function* lines(chunk) {
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      bytes += at - from;
      if (bytes > bytesMax) {
        yield null;
        return;
      }
      const line = Buffer.concat([...begun, chunk.subarray(from, at)]).toString('utf8');
      [begun, bytes, from] = [[], 0, at + 1];
      yield line;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > bytesMax) {
      [begun, bytes] = [[], 0];
      yield null;
    }
  };
}
