// Reads stream records: from exported files of JSON Lines, and from sessions page by page.
import { createReadStream } from 'node:fs';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import { type StreamRecord, versionAfter } from '../../schemas/record.ts';
import type { EngineClient } from '../client/client.ts';
import { newLineSplitter, readStreamLine } from '../core/stream-text.ts';
import { cannotRead } from './files.ts';
import { must } from '../client/must.ts';
import { CommandFailure } from './output.ts';

/**
 * The records of a file, in order. Ends the command at the first line that is not a record; `missing` is what it says when
 * there is no file.
 */
export async function* readStreamFile(path: string, missing = 'no such file'): AsyncGenerator<StreamRecord> {
  let number = 0;
  for await (const line of linesOf(path, missing)) {
    number += 1;
    const record = readStreamLine(line);
    if (record === null) continue;
    if (isLeft(record)) {
      const { code, path: at, message } = record.left;
      throw new CommandFailure(code, `${path}, line ${number}: ${message}${at === '' ? '' : ` at ${at}`}`, 1);
    }
    yield record.right;
  }
}

/** The lines of a file; of a line that is too long, its beginning. */
async function* linesOf(path: string, missing: string): AsyncGenerator<Uint8Array> {
  const splitter = newLineSplitter();
  for await (const chunk of chunksOf(path, missing)) {
    yield* splitter.add(chunk);
    if (splitter.isFull()) break;
  }
  const rest = splitter.rest();
  if (rest !== null) yield rest;
}

async function* chunksOf(path: string, missing: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path) as AsyncIterable<Buffer>;
  } catch (error) {
    throw cannotRead(path, error, { ENOENT: missing });
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
