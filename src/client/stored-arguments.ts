// Reads texts that are stored beside an event: the arguments of a call, and the diff of its preview.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Content, isInline } from '../../schemas/content.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import type { EngineClient } from './client.ts';

/** The arguments in `content`; null when they are not available (the client is null, for an exported stream) or no object. */
export async function storedArguments(
  client: Pick<EngineClient, 'getBlob'> | null,
  content: Content | undefined,
): Promise<JsonObject | null> {
  const text = content === undefined ? null : await storedText(client, content);
  if (text === null) return null;
  const parsed = parseJson(text, BLOB_BYTES_MAX);
  return isLeft(parsed) || !isPlainObject(parsed.right) ? null : parsed.right;
}

/** The text of `content`; null when it is not available. */
export async function storedText(
  client: Pick<EngineClient, 'getBlob'> | null,
  content: Content,
): Promise<string | null> {
  if (isInline(content)) return content.text;
  const bytes = client === null ? null : await client.getBlob(content.ref)();
  return bytes === null || isLeft(bytes) ? null : new TextDecoder().decode(bytes.right);
}
