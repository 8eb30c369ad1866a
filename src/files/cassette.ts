// Cassettes: recorded traffic with a model server, as JSON Lines with one exchange each. This is what the command line needs to
// know of one; the bridge writes and plays them (bridge/providers/cassette).
import { open } from 'node:fs/promises';
import { MODEL_SERVER_NAMES, type ModelServerName } from './model-servers.ts';

/** What a cassette begins with: `{"cassette":1,`. A recording of simple turns begins otherwise. */
export const CASSETTE_VERSION = 1;

/** The server and the model of the first exchange. */
export interface CassetteHead {
  readonly api: ModelServerName;
  readonly model: string;
  readonly base_url: string;
}

/** Null when the text does not begin with a line of a cassette. */
export function cassetteHeadOf(text: string): CassetteHead | null {
  // The fields of the head come first, before the request, which may be long.
  const [, head] =
    /^(\{"cassette":1,"api":"[^"]*","base_url":"(?:[^"\\]|\\.)*","model":"(?:[^"\\]|\\.)*"),/.exec(text) ?? [];
  if (head === undefined) return null;
  const { api, model, base_url } = JSON.parse(`${head}}`) as CassetteHead;
  return MODEL_SERVER_NAMES.includes(api) ? { api, model, base_url } : null;
}

/** Null when the file is no cassette. */
export async function readCassetteHead(path: string): Promise<CassetteHead | null> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return cassetteHeadOf(buffer.toString('utf8', 0, bytesRead));
  } finally {
    await file.close();
  }
}

const HEAD_BYTES = 16_384;
