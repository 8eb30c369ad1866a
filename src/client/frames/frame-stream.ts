// The side of a stream that asks: many requests in flight over one connection. When the connection ends, or an engine sends
// what is no answer, every open request ends without one.
import type { Duplex } from 'node:stream';
import { FRAME_BLOB_BYTES_MAX, FRAME_BYTES_MAX } from '../../../schemas/limits.ts';
import type { ExchangeReply, ExchangeRequest } from '../platform/platform.ts';
import { encodeFrame, newFrameReader } from './frame-codec.ts';
import { type FrameAnswer, type FrameRequest, isFrameRoute, readEngineFrame, requestText } from './frame-texts.ts';

export interface FrameStream {
  /** Rejects when there is no answer; null when this request goes over HTTP. */
  exchange(request: ExchangeRequest): Promise<ExchangeReply | null>;
  isOpen(): boolean;
  /** Ends the open requests. */
  close(): void;
}

interface Open {
  readonly onPushed: ((value: unknown) => void) | undefined;
  readonly done: (reply: ExchangeReply | Error | null) => void;
  /** The parts of a long answer that have come. */
  parts: string;
}

/** `head`: the first bytes, if they came already. `onEnd`: called once, with why the connection ended. */
export function newFrameStream(
  socket: Duplex,
  head: Uint8Array,
  { now, onEnd = () => undefined }: { readonly now: () => number; readonly onEnd?: (why: string) => void },
): FrameStream {
  const open = new Map<number, Open>();
  // An answer in parts has frames of at most this size, too.
  const reader = newFrameReader(FRAME_BYTES_MAX);
  let lastId = 0;
  let lastReadMs = now();
  let ended: string | null = null;
  let corked = false;

  function end(why: string): void {
    if (ended !== null) return;
    ended = why;
    socket.destroy();
    for (const { done } of open.values()) done(new Error(why));
    onEnd(why);
  }

  function read(bytes: Uint8Array): void {
    lastReadMs = now();
    const { texts, fault } = reader.read(bytes);
    for (const text of texts) {
      const answer = readEngineFrame(text);
      if (ended !== null) return;
      if (answer === null) end('the engine sent a frame that is none');
      else take(answer);
    }
    if (fault !== null) end(`the engine sent bytes that are no frame (${fault})`);
  }

  function take(answer: FrameAnswer): void {
    if ('closed' in answer) {
      end(`the engine closed the stream (${answer.closed}): ${answer.detail}`);
      return;
    }
    // The answer to a request that nobody waits for any more.
    const waiting = open.get(answer.id);
    if (waiting === undefined) return;
    if ('pushed' in answer) {
      waiting.onPushed?.(waiting.parts === '' ? answer.pushed : JSON.parse(waiting.parts));
      waiting.parts = '';
    } else if ('part' in answer) waiting.parts += answer.part;
    else waiting.done('over' in answer ? null : replyOf(answer, waiting.parts));
  }

  /** Frames that are written in one turn are sent together. */
  function write(text: string): void {
    if (!corked) {
      corked = true;
      socket.cork();
      process.nextTick(() => {
        corked = false;
        socket.uncork();
      });
    }
    socket.write(encodeFrame(text));
  }

  function ask(
    text: string,
    id: number,
    { signal, timeoutMs, onPushed }: ExchangeRequest,
  ): Promise<ExchangeReply | null> {
    return new Promise((resolve, fail) => {
      const sentAtMs = now();
      const giveUp = (why: string): void => {
        if (ended === null) write(`{"cancel":${id}}`);
        done(new Error(why));
      };
      const stop = (): void => giveUp('the request was aborted');
      const timer = setTimeout(() => {
        const why = `no answer within ${timeoutMs} ms`;
        // Nothing at all came since: the other end may be gone.
        if (lastReadMs <= sentAtMs) end(why);
        else giveUp(why);
      }, timeoutMs);
      timer.unref();
      function done(reply: ExchangeReply | Error | null): void {
        clearTimeout(timer);
        open.delete(id);
        signal?.removeEventListener('abort', stop);
        if (reply instanceof Error) fail(reply);
        else resolve(reply);
      }
      open.set(id, { onPushed, done, parts: '' });
      signal?.addEventListener('abort', stop, { once: true });
      write(text);
    });
  }

  socket.on('data', read);
  socket.once('error', (error) => end(`the stream failed: ${error.message}`));
  socket.once('close', () => end('the stream ended'));
  socket.once('end', () => end('the stream ended'));
  if (head.length > 0) read(head);

  return {
    isOpen: () => ended === null,
    close: () => end('the client is closed'),
    async exchange(request) {
      const body = bodyOf(request);
      if (!isFrameRoute(request.route) || body === undefined) return null;
      if (request.signal?.aborted === true) throw new Error('the request was aborted');
      if (ended !== null) throw new Error(ended);
      const { route, of = '', query = {}, onPushed } = request;
      const asked: Omit<FrameRequest, 'id'> = { route, of, query, push: onPushed !== undefined, body };
      const text = requestText({ ...asked, id: lastId + 1 });
      if (3 * text.length > FRAME_BYTES_MAX && Buffer.byteLength(text) > FRAME_BYTES_MAX) return null;
      lastId += 1;
      return await ask(text, lastId, request);
    },
  };
}

/** JSON text; null without a body, undefined for one that no frame carries. */
function bodyOf({ body }: ExchangeRequest): string | null | undefined {
  if (body === undefined) return null;
  if (typeof body === 'string') return body;
  return body.length > FRAME_BLOB_BYTES_MAX ? undefined : `{"base64":"${base64Of(body)}"}`;
}

const base64Of = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');

const replyOf = (
  { status, body }: Extract<FrameAnswer, { readonly status: number }>,
  parts: string,
): ExchangeReply => ({
  status,
  json: () => (parts === '' ? body : JSON.parse(parts)),
  bytes: () => new Uint8Array(Buffer.from((body as { readonly base64: string }).base64, 'base64')),
});
