// The platform of the client in browsers, and wherever there is `fetch` and no Node.
import { FETCH_OPTIONS } from './fetch-options.ts';
import { requestLine } from '../request-line.ts';
import type { ExchangeReply, Exchanger, Platform } from './platform.ts';

function newExchanger(base: string): Exchanger {
  const prefix = base.replace(/\/+$/, '');
  const closing = new Set<(reason: Error) => void>();
  let closed = false;

  return {
    async exchange({ headers, body, signal, timeoutMs, ...asked }) {
      if (closed) throw new Error('the client is closed');
      const { method, path } = requestLine(asked);
      const ending = new AbortController();
      const end = (reason: Error): void => ending.abort(reason);
      const stop = (): void => end(new Error('the request was aborted'));
      if (signal?.aborted === true) stop();
      const timer = setTimeout(() => end(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      signal?.addEventListener('abort', stop, { once: true });
      closing.add(end);
      try {
        const content = body === undefined ? {} : { body: body as string | Uint8Array<ArrayBuffer> };
        const response = await fetch(prefix + path, {
          ...FETCH_OPTIONS,
          method,
          headers,
          ...content,
          signal: ending.signal,
        });
        return replyOf(response.status, new Uint8Array(await response.arrayBuffer()));
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
        closing.delete(end);
      }
    },
    close() {
      closed = true;
      for (const end of closing) end(new Error('the client is closed'));
    },
  };
}

const utf8 = new TextDecoder();
const toUtf8 = new TextEncoder();

const replyOf = (status: number, body: Uint8Array): ExchangeReply => ({
  status,
  json: () => JSON.parse(utf8.decode(body)),
  bytes: () => body,
});

export const platform: Platform = {
  newExchanger,
  utf8Length: (text) => toUtf8.encode(text).length,
  afterThisTurn: (work) => void setTimeout(work),
  allowManyListeners: () => undefined,
};
