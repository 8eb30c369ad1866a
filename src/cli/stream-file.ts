// Reads stream records: from exported files of JSON Lines, and from sessions page by page.
import { createReadStream } from 'node:fs';
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { SessionId } from '../../schemas/ids.ts';
import { type Json, parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { type StreamRecord, decodeStreamRecord, versionAfter } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import { cannotRead } from './files.ts';
import { must } from '../client/must.ts';
import { CommandFailure } from './output.ts';

/** The records of a file, in order. Ends the command at the first line that is not a record. */
export async function* readStreamFile(path: string): AsyncGenerator<StreamRecord> {
  let number = 0;
  for await (const line of linesOf(path)) {
    number += 1;
    const parsed = readLine(line);
    if (parsed === null) continue;
    const record = pipe(parsed, E.chain(decodeStreamRecord));
    if (E.isLeft(record)) {
      const { code, path: at, message } = record.left;
      throw new CommandFailure(code, `${path}, line ${number}: ${message}${at === '' ? '' : ` at ${at}`}`, 1);
    }
    yield record.right;
  }
}

// Fatal and keeping the BOM: no byte is replaced, so digests are compared with the exact bytes of the file.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The JSON value of a line; null when the line is blank. */
function readLine(line: Buffer): E.Either<Rejection, Json> | null {
  if (line.length > BLOB_BYTES_MAX) return E.left(reject('too_large', '', `longer than ${BLOB_BYTES_MAX} bytes`));
  let text: string;
  try {
    text = utf8.decode(line);
  } catch {
    return E.left(reject('malformed_json', '', 'the line is not UTF-8'));
  }
  return /^[ \t\r\v\f]*$/.test(text) ? null : parseJson(text, BLOB_BYTES_MAX);
}

const LINE_FEED = 0x0a;

/**
 * The lines of a file; of a line that is too long, its beginning. Only a line feed ends a line: JSON may contain other
 * line separators (U+2028, a carriage return).
 */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let open: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(path)) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...open, chunk.subarray(start, end)]);
      [open, size, start] = [[], 0, end + 1];
    }
    open.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > BLOB_BYTES_MAX) break;
  }
  if (size > 0) yield Buffer.concat(open);
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path) as AsyncIterable<Buffer>;
  } catch (error) {
    throw cannotRead(path, error);
  }
}

/** The records of a session, read page by page: all of them, or the commits from the one that contains a position. */
export async function* readSession(client: EngineClient, id: SessionId, from?: number): AsyncGenerator<StreamRecord> {
  let page = await must(client.records(id, from));
  for (let position = from ?? 0; ;) {
    yield* page;
    const last = page.at(-1);
    const end = last?.kind === 'commit' ? versionAfter(last) : position;
    if (end === position) return;
    position = end;
    page = await must(client.records(id, position));
  }
}
