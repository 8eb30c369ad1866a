// Reads request bodies within their bounds, before anything is parsed.
import type { Context } from 'hono';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { type Json, parseJson } from '../../schemas/json.ts';
import { BODY_BYTES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { ownWire } from '../client/wire-text.ts';
import { headerOf, incomingOf } from './headers.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

/** The body's bytes, at most `bytesMax`; a longer one is not read to its end. */
export async function readBytes(context: Context, bytesMax: number): Answer<Uint8Array> {
  const tooLarge = left(reject('too_large', '', `the body is larger than ${bytesMax} bytes`));
  if (Number(headerOf(context, 'content-length') ?? 0) > bytesMax) return tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of incomingOf(context) ?? context.req.raw.body ?? []) {
      const bytes = chunk as Uint8Array;
      size += bytes.length;
      if (size > bytesMax) return tooLarge;
      chunks.push(bytes);
    }
  } catch {
    return left(reject('malformed_json', '', 'the body broke off'));
  }
  return right(Buffer.concat(chunks));
}

/** The body as a value of the value domain: `application/json` and UTF-8 only. */
export async function readJson(context: Context): Answer<Json> {
  const type = (headerOf(context, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') return left(reject('malformed_json', '/content-type', 'send application/json'));
  const bytes = await readBytes(context, BODY_BYTES_MAX);
  if (isLeft(bytes)) return bytes;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.right);
  } catch {
    return left(reject('malformed_json', '', 'the body is not UTF-8'));
  }
  const parsed = parseJson(text);
  return isLeft(parsed) ? parsed : right(ownWire(parsed.right, bytes.right.length));
}
