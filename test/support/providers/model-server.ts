// A model server on loopback that gives prepared bytes, well or badly, one answer for each request.
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface WireAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** One byte at a time. */
  readonly slow?: true;
  /** After the body, the connection stays open without a word. */
  readonly silent?: true;
  /** After the body, the connection is reset. */
  readonly reset?: true;
}

export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ModelServer {
  /** Without a path. */
  readonly url: string;
  readonly asked: readonly WireRequest[];
  /** What is answered from now on; forgets the requests so far. */
  answer(...answers: readonly WireAnswer[]): void;
  close(): Promise<void>;
}

export async function openModelServer(): Promise<ModelServer> {
  const asked: WireRequest[] = [];
  let answers: WireAnswer[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      asked.push({ path: request.url ?? '', headers: request.headers, body });
      give(response, answers.shift() ?? { status: 418, body: 'no prepared answer' });
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer(...more) {
      answers = [...more];
      asked.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function give(response: ServerResponse, answer: WireAnswer): void {
  const { status = 200, headers = {}, body = '', slow, silent, reset } = answer;
  const whole = Buffer.from(body);
  response.writeHead(status, headers);
  response.flushHeaders();
  if (slow === true) for (const byte of whole) response.write(Buffer.of(byte));
  else response.write(whole);
  if (reset === true) setImmediate(() => response.destroy());
  else if (silent !== true) response.end();
}
