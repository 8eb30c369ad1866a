// Reads the arguments of a call that are stored beside its event.
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
  const text = content === undefined ? null : await textOf(client, content);
  if (text === null) return null;
  const parsed = parseJson(text, BLOB_BYTES_MAX);
  return isLeft(parsed) || !isPlainObject(parsed.right) ? null : parsed.right;
}

async function textOf(client: Pick<EngineClient, 'getBlob'> | null, content: Content): Promise<string | null> {
  if (isInline(content)) return content.text;
  const bytes = client === null ? null : await client.getBlob(content.ref)();
  return bytes === null || isLeft(bytes) ? null : new TextDecoder().decode(bytes.right);
}
