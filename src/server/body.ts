// Reads request bodies within their bounds, before anything is parsed.
import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { type Json, parseJson } from '../../schemas/json.ts';
import { BODY_BYTES_MAX, BODY_VALUES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { pause } from '../turns.ts';
import { markUnshared } from '../client/wire-text.ts';
import { headerOf, incomingOf } from './headers.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

/** The body's bytes, at most `bytesMax`; a longer body is not read to its end. */
export async function readBytes(context: Context, bytesMax: number): Answer<Uint8Array> {
  const tooLarge = left(reject('too_large', '', `the body has more than ${bytesMax} bytes`));
  if (Number(headerOf(context, 'content-length') ?? 0) > bytesMax) return tooLarge;
  const incoming = incomingOf(context);
  const source = incoming ?? context.req.raw.body;
  if (source === null) return right(new Uint8Array());
  try {
    const bytes = incoming === undefined ? await iterate(source, bytesMax) : await listen(incoming, bytesMax);
    return bytes === null ? tooLarge : right(bytes);
  } catch {
    return left(reject('malformed_json', '', 'the connection ended in the middle of the body; send the request again'));
  }
}

/** All bytes, or null when there are more than `bytesMax`. Most bodies are one chunk. */
function listen(incoming: IncomingMessage, bytesMax: number): Promise<Uint8Array | null> {
  return new Promise((resolve, fail) => {
    let body: Uint8Array = NO_BYTES;
    let size = 0;
    const collect = (chunk: Uint8Array): void => {
      const before = size;
      size += chunk.length;
      if (size > bytesMax) {
        incoming.off('data', collect).pause();
        resolve(null);
        return;
      }
      if (before === 0) body = chunk;
      else {
        // Joined as they come: joining the chunks of a large blob at its end would take long.
        if (size > body.length) body = grown(body, before, size);
        body.set(chunk, before);
      }
    };
    incoming.on('data', collect);
    incoming.once('end', () => resolve(body.subarray(0, size)));
    incoming.once('error', fail);
    incoming.once('close', () => fail(new Error('closed')));
  });
}

const NO_BYTES = new Uint8Array();

/** The first `used` bytes, with room for `size` and more. */
function grown(bytes: Uint8Array, used: number, size: number): Uint8Array {
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, size));
  larger.set(bytes.subarray(0, used));
  return larger;
}

async function iterate(source: AsyncIterable<unknown>, bytesMax: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += (chunk as Uint8Array).length;
    if (size > bytesMax) return null;
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The body, parsed and checked against the value domain. It must be `application/json` in UTF-8. */
export async function readJson(context: Context): Answer<Json> {
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
