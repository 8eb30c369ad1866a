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

interface StreamEnds {
  readonly now: () => number;
  /** Called once, with why the connection ended. */
  readonly onEnd?: (why: string) => void;
}

/** `head`: the first bytes, if they came already. */
export const newFrameStream = (socket: Duplex, head: Uint8Array, ends: StreamEnds): FrameStream =>
  new AskingStream(socket, head, ends);

class AskingStream implements FrameStream {
  readonly #socket: Duplex;
  readonly #now: () => number;
  readonly #onEnd: (why: string) => void;
  readonly #open = new Map<number, Open>();
  // An answer in parts has frames of at most this size, too.
  readonly #reader = newFrameReader(FRAME_BYTES_MAX);
  #lastId = 0;
  #lastReadMs: number;
  #ended: string | null = null;
  #corked = false;

  constructor(socket: Duplex, head: Uint8Array, { now, onEnd = () => undefined }: StreamEnds) {
    this.#socket = socket;
    this.#now = now;
    this.#onEnd = onEnd;
    this.#lastReadMs = now();
    socket.on('data', (bytes: Uint8Array) => this.#read(bytes));
    socket.once('error', (error) => this.#end(`the stream failed: ${error.message}`));
    socket.once('close', () => this.#end('the stream ended'));
    socket.once('end', () => this.#end('the stream ended'));
    if (head.length > 0) this.#read(head);
  }

  isOpen(): boolean {
    return this.#ended === null;
  }

  close(): void {
    this.#end('the client is closed');
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeReply | null> {
    const body = bodyOf(request);
    if (!isFrameRoute(request.route) || body === undefined) return null;
    if (request.signal?.aborted === true) throw new Error('the request was aborted');
    if (this.#ended !== null) throw new Error(this.#ended);
    const { route, of = '', query = {}, onPushed } = request;
    const asked: Omit<FrameRequest, 'id'> = { route, of, query, push: onPushed !== undefined, body };
    const text = requestText({ ...asked, id: this.#lastId + 1 });
    if (3 * text.length > FRAME_BYTES_MAX && Buffer.byteLength(text) > FRAME_BYTES_MAX) return null;
    this.#lastId += 1;
    return await this.#ask(text, this.#lastId, request);
  }

  #end(why: string): void {
    if (this.#ended !== null) return;
    this.#ended = why;
    this.#socket.destroy();
    for (const { done } of this.#open.values()) done(new Error(why));
    this.#onEnd(why);
  }

  #read(bytes: Uint8Array): void {
    this.#lastReadMs = this.#now();
    const { texts, fault } = this.#reader.read(bytes);
    for (const text of texts) {
      const answer = readEngineFrame(text);
      if (this.#ended !== null) return;
      if (answer === null) this.#end('the engine sent a frame that is none');
      else this.#take(answer);
    }
    if (fault !== null) this.#end(`the engine sent bytes that are no frame (${fault})`);
  }

  #take(answer: FrameAnswer): void {
    if ('closed' in answer) {
      this.#end(`the engine closed the stream (${answer.closed}): ${answer.detail}`);
      return;
    }
    // The answer to a request that nobody waits for any more.
    const waiting = this.#open.get(answer.id);
    if (waiting === undefined) return;
    if ('pushed' in answer) {
      waiting.onPushed?.(waiting.parts === '' ? answer.pushed : JSON.parse(waiting.parts));
      waiting.parts = '';
    } else if ('part' in answer) waiting.parts += answer.part;
    else waiting.done('over' in answer ? null : replyOf(answer, waiting.parts));
  }

  /** Frames that are written in one turn are sent together. */
  #write(text: string): void {
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
      process.nextTick(() => {
        this.#corked = false;
        this.#socket.uncork();
      });
    }
    this.#socket.write(encodeFrame(text));
  }

  #ask(text: string, id: number, { signal, timeoutMs, onPushed }: ExchangeRequest): Promise<ExchangeReply | null> {
    return new Promise((resolve, fail) => {
      const sentAtMs = this.#now();
      const giveUp = (why: string): void => {
        if (this.#ended === null) this.#write(`{"cancel":${id}}`);
        done(new Error(why));
      };
      const stop = (): void => giveUp('the request was aborted');
      const timer = setTimeout(() => {
        const why = `no answer within ${timeoutMs} ms`;
        // Nothing at all came since: the other end may be gone.
        if (this.#lastReadMs <= sentAtMs) this.#end(why);
        else giveUp(why);
      }, timeoutMs);
      timer.unref();
      const done = (reply: ExchangeReply | Error | null): void => {
        clearTimeout(timer);
        this.#open.delete(id);
        signal?.removeEventListener('abort', stop);
        if (reply instanceof Error) fail(reply);
        else resolve(reply);
      };
      this.#open.set(id, { onPushed, done, parts: '' });
      signal?.addEventListener('abort', stop, { once: true });
      this.#write(text);
    });
  }
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
