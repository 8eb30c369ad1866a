// Reads request bodies within their bounds, before anything is parsed.
import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { type Json, parseJson } from '../../schemas/json.ts';
import { BODY_BYTES_MAX, BODY_VALUES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { pause } from '../turns.ts';
import { markUnshared } from '../client/wire-text.ts';
import type { Guarded } from './guard.ts';
import { headerOf, incomingOf } from './headers.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

/** The body's bytes, at most `bytesMax`; a longer body is not read to its end. */
export async function readBytes(context: Context<Guarded>, bytesMax: number): Answer<Uint8Array> {
  const tooLarge = left(reject('too_large', '', `the body has more than ${bytesMax} bytes`));
  const stated = headerOf(context, 'content-length');
  if (Number(stated ?? 0) > bytesMax) return tooLarge;
  const full = context.get('room').take(stated === undefined ? bytesMax : Number(stated));
  if (full !== null) return left(full);
  const incoming = incomingOf(context);
  const source = incoming ?? context.req.raw.body;
  if (source === null) return right(new Uint8Array());
  try {
    const blocks = incoming === undefined ? await iterate(source, bytesMax) : await listen(incoming, bytesMax);
    return blocks === null ? tooLarge : right(await joined(blocks));
  } catch {
    return left(reject('malformed_json', '', 'the connection ended in the middle of the body; send the request again'));
  }
}

/** All bytes in blocks, or null when there are more than `bytesMax`. Most bodies are one chunk. */
function listen(incoming: IncomingMessage, bytesMax: number): Promise<readonly Uint8Array[] | null> {
  return new Promise((resolve, fail) => {
    const full: Uint8Array[] = [];
    let block: Uint8Array = NO_BYTES;
    let used = 0;
    let size = 0;
    const collect = (chunk: Uint8Array): void => {
      size += chunk.length;
      if (size > bytesMax) {
        incoming.off('data', collect).pause();
        resolve(null);
        return;
      }
      if (size === chunk.length) {
        block = chunk;
        used = chunk.length;
        return;
      }
      // Copied as they come: a small chunk keeps all of the buffer in which it was read.
      for (let at = 0; at < chunk.length;) {
        if (used === block.length) {
          if (used > 0) full.push(block);
          block = Buffer.allocUnsafeSlow(Math.min(2 * Math.max(used, chunk.length - at), BLOCK_BYTES_MAX));
          used = 0;
        }
        const part = chunk.subarray(at, at + block.length - used);
        block.set(part, used);
        used += part.length;
        at += part.length;
      }
    };
    incoming.on('data', collect);
    incoming.once('end', () => resolve(used === 0 ? full : [...full, block.subarray(0, used)]));
    incoming.once('error', fail);
    incoming.once('close', () => fail(new Error('closed')));
  });
}

const NO_BYTES = new Uint8Array();

/** Blocks grow up to this size: to copy a larger one at once would hold the event loop. */
const BLOCK_BYTES_MAX = 4_194_304;

/** The blocks as one, joined in as many turns as that takes. */
async function joined(blocks: readonly Uint8Array[]): Promise<Uint8Array> {
  const [first = NO_BYTES] = blocks;
  if (blocks.length < 2) return first;
  const whole = Buffer.allocUnsafeSlow(blocks.reduce((bytes, { length }) => bytes + length, 0));
  let at = 0;
  for (const block of blocks) {
    const rest = pause();
    if (rest !== null) await rest;
    whole.set(block, at);
    at += block.length;
  }
  return whole;
}

async function iterate(source: AsyncIterable<unknown>, bytesMax: number): Promise<readonly Uint8Array[] | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += (chunk as Uint8Array).length;
    if (size > bytesMax) return null;
    chunks.push(chunk as Uint8Array);
  }
  return chunks;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The body, parsed and checked against the value domain. It must be `application/json` in UTF-8. */
export async function readJson(context: Context<Guarded>): Answer<Json> {
  if (!isJson(headerOf(context, 'content-type') ?? ''))
    return left(reject('malformed_json', '/content-type', 'the content type must be application/json'));
  const bytes = await readBytes(context, BODY_BYTES_MAX);
  if (isLeft(bytes)) return bytes;
  let text: string;
  try {
    text = utf8.decode(bytes.right);
  } catch {
    return left(reject('malformed_json', '', 'the body is not UTF-8; send one JSON document in UTF-8'));
  }
  const before = pause();
  if (before !== null) await before;
  const parsed = parseJson(text, BODY_BYTES_MAX, BODY_VALUES_MAX);
  const after = pause();
  if (after !== null) await after;
  return isLeft(parsed) ? parsed : right(markUnshared(parsed.right, bytes.right.length));
}

const JSON_TYPE = 'application/json';

const isJson = (type: string): boolean => type === JSON_TYPE || type.split(';')[0]?.trim().toLowerCase() === JSON_TYPE;
