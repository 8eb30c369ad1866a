// Texts and arguments between the caller and the record: small ones are in the event, large ones in a blob.
import { isLeft } from 'fp-ts/lib/Either.js';
import {
  type Content,
  type Digest,
  type JsonObject,
  type ToolCallObserved,
  isInline,
  isPlainObject,
  limits,
  parseJson,
} from '../../schemas/index.ts';
import { type EngineClient, must } from '../../src/client/index.ts';

type Blobs = Pick<EngineClient, 'getBlob' | 'putBlob'>;

/** Stores a text; throws a RejectedError when the engine refuses. */
export async function storeText(client: Blobs, text: string): Promise<Content> {
  const formed = text.toWellFormed();
  if (formed.length <= limits.INLINE_CHARS_MAX) return { text: formed };
  const bytes = new TextEncoder().encode(formed);
  const ref: Digest = await must(client.putBlob(bytes));
  return { ref, bytes: bytes.length, head: '', tail: '' };
}

/** The whole text. */
export async function wholeText(client: Blobs, content: Content): Promise<string> {
  if (isInline(content)) return content.text;
  return new TextDecoder().decode(await must(client.getBlob(content.ref)));
}

/** The arguments of a call as the model made it; an empty object when they are no JSON object. */
export async function readArguments(
  client: Blobs,
  call: Pick<ToolCallObserved, 'arguments' | 'arguments_ref' | 'arguments_text'>,
): Promise<JsonObject> {
  if (call.arguments !== undefined) return call.arguments;
  const text = call.arguments_ref === undefined ? call.arguments_text : await wholeText(client, call.arguments_ref);
  const parsed = text === undefined ? null : parseJson(text, limits.BLOB_BYTES_MAX);
  return parsed === null || isLeft(parsed) || !isPlainObject(parsed.right) ? {} : parsed.right;
}
