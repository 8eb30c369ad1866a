// The platform of the client in Node. Requests are sent with `node:http` over connections that stay open: the platform's
// `fetch` costs three times as much, which is most of the cost of a short request. It is used only for responses that are
// streamed.
import { setMaxListeners } from 'node:events';
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { requestLine } from '../request-line.ts';
import type { ExchangeReply, Exchanger, Platform } from './platform.ts';

/** How long an idle connection stays open: less than the engine's limit, so that no request meets a closing one. */
const IDLE_MS = 20_000;

function newExchanger(base: string, refuse: () => string | null = () => null): Exchanger {
  const { protocol, hostname, port, pathname } = new URL(base);
  const secure = protocol === 'https:';
  const send = secure ? httpsRequest : httpRequest;
  const agent = new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: IDLE_MS, scheduling: 'lifo' });
  const connectTo = agent.createConnection.bind(agent);
  agent.createConnection = (options, onCreated) => {
    const refused = refuse();
    if (refused !== null) throw new Error(refused);
    return connectTo(options, onCreated);
  };
  const prefix = pathname.replace(/\/+$/, '');
  const host = hostname.replace(/^\[|\]$/g, '');
  const open = new Set<ClientRequest>();
  let closed = false;

  return {
    exchange: ({ headers, body, signal, timeoutMs, ...asked }) =>
      new Promise((resolve, fail) => {
        if (closed) throw new Error('the client is closed');
        if (signal?.aborted === true) throw new Error('the request was aborted');
        const { method, path } = requestLine(asked);
        const length = body === undefined ? 0 : Buffer.byteLength(body);
        const sent = send(
          { agent, host, port, method, path: prefix + path, headers: { ...headers, 'content-length': length } },
          (reply) => read(reply, done),
        );
        const stop = (): void => void sent.destroy(new Error('the request was aborted'));
        const timer = setTimeout(() => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
        timer.unref();
        function done(reply: ExchangeReply | Error): void {
          clearTimeout(timer);
          open.delete(sent);
          signal?.removeEventListener('abort', stop);
          if (reply instanceof Error) fail(reply);
          else resolve(reply);
        }
        open.add(sent);
        signal?.addEventListener('abort', stop, { once: true });
        sent.once('error', done);
        sent.end(body);
      }),
    close() {
      closed = true;
      for (const sent of open) sent.destroy(new Error('the client is closed'));
      agent.destroy();
    },
  };
}

function read(reply: IncomingMessage, done: (reply: ExchangeReply | Error) => void): void {
  const chunks: Buffer[] = [];
  reply.on('data', (chunk: Buffer) => chunks.push(chunk));
  reply.once('end', () => done(replyOf(reply.statusCode ?? 0, Buffer.concat(chunks))));
  reply.once('error', done);
  reply.once('close', () => {
    if (!reply.complete) done(new Error('the connection ended in the middle of the answer'));
  });
}

const replyOf = (status: number, body: Buffer): ExchangeReply => ({
  status,
  json: () => JSON.parse(body.toString()),
  bytes: () => new Uint8Array(body),
});

export const platform: Platform = {
  newExchanger,
  utf8Length: (text) => Buffer.byteLength(text),
  afterThisTurn: (work) => void setImmediate(work),
  allowManyListeners: (signals) => setMaxListeners(0, ...signals),
};
