// Raw requests, as no well-behaved client sends them.
import { type RequestOptions, request } from 'node:http';
import { connect as connectSocket } from 'node:net';

export interface RawReply {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | readonly string[]>;
  readonly body: string;
}

/** Sends one request with exactly these headers. */
export function send(options: RequestOptions, body?: string | Buffer): Promise<RawReply> {
  return new Promise((resolve, fail) => {
    const outgoing = request({ host: '127.0.0.1', agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      );
      response.on('error', fail);
    });
    outgoing.on('error', fail);
    outgoing.end(body);
  });
}

/** Writes these bytes and returns everything received until the connection ends. */
export function sendBytes(port: number, parts: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
    for (const part of parts) socket.write(part);
  });
}
