// A Chat Completions server on loopback that returns prepared answers, one for each request.
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GenerateRequest } from '../../../bridge/providers/provider.ts';
import { brand } from '../../../schemas/ids.ts';

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as events; strings are sent unchanged, everything else as JSON. */
  readonly chunks?: readonly unknown[];
  /** Whether `[DONE]` follows the events; true by default. */
  readonly done?: boolean;
  /** Sent unchanged. */
  readonly raw?: string;
  /** Sends one byte at a time. */
  readonly trickle?: boolean;
  /** Resets the connection instead of ending the answer. */
  readonly breakOff?: boolean;
  /** Never ends the answer. */
  readonly silent?: boolean;
}

export interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  readonly path: string;
}

export interface ChatServer {
  readonly url: string;
  readonly asked: Asked[];
  answer(...answers: readonly Answer[]): void;
  /** Called when a request has been received. */
  onAsked: () => void;
  close(): Promise<void>;
}

export async function openChatServer(): Promise<ChatServer> {
  const asked: Asked[] = [];
  let answers: Answer[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => {
      body += part.toString();
    });
    request.on('end', () => {
      asked.push({ headers: request.headers, body: JSON.parse(body) as Asked['body'], path: request.url ?? '' });
      give(response, answers.shift() ?? { status: 500, json: { error: { message: 'no prepared answer' } } });
      chat.onAsked();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const chat: ChatServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    answer(...more) {
      answers = [...more];
      asked.length = 0;
    },
    onAsked: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return chat;
}

function give(response: ServerResponse, answer: Answer): void {
  const { status = 200, headers = {}, json, chunks, done = true } = answer;
  const type = chunks === undefined ? 'application/json' : 'text/event-stream';
  response.writeHead(status, { 'content-type': type, ...headers });
  const text = answer.raw ?? (chunks === undefined ? JSON.stringify(json ?? null) : events(chunks, done));
  if (answer.trickle === true) for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
  else response.write(text);
  if (answer.breakOff === true) setImmediate(() => response.destroy());
  else if (answer.silent !== true) response.end();
}

function events(chunks: readonly unknown[], done: boolean): string {
  const payloads = chunks.map((chunk) => (typeof chunk === 'string' ? chunk : JSON.stringify(chunk)));
  return [...payloads, ...(done ? ['[DONE]'] : [])].map((data) => `data: ${data}\n\n`).join('');
}

export const chatRequestOf = (more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  session_id: brand('s'),
  run_id: brand('run-1'),
  turn: 1,
  provider: 'openai',
  model: 'some-model',
  instructions: null,
  output_tokens_max: null,
  tools: [],
  messages: [{ role: 'user', text: 'hello' }],
  ...more,
});
