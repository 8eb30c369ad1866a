// Reads and writes exported streams: JSON Lines of stream records.
import { type ReadStream, createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import type { Position, SessionId } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { StreamRecord } from '../../schemas/record.ts';
import type { EngineClient } from '../client/client.ts';
import { cannotRead } from './files.ts';
import { CommandFailure, must } from './output.ts';

/** The records of a file, in order. Ends the command at the first line that is no record. */
export async function* readStreamFile(path: string): AsyncGenerator<StreamRecord> {
  const input = createReadStream(path);
  const opened = new Promise<void>((resolve, fail) => {
    input.once('open', () => resolve());
    input.once('error', fail);
  });
  const unreadable = (error: unknown): never => {
    throw cannotRead(path, error);
  };
  await opened.catch(unreadable);
  let number = 0;
  for await (const line of linesOf(input, unreadable)) {
    number += 1;
    if (line.trim() === '') continue;
    const parsed = parseJson(line, BLOB_BYTES_MAX);
    const record = isLeft(parsed) ? parsed : decode(StreamRecord, parsed.right);
    if (isLeft(record)) {
      const { code, path: at, message } = record.left;
      throw new CommandFailure(code, `${path}, line ${number}: ${message}${at === '' ? '' : ` at ${at}`}`, 1);
    }
    yield record.right;
  }
}

// What can be opened need not be readable: a folder, say.
async function* linesOf(input: ReadStream, unreadable: (error: unknown) => never): AsyncGenerator<string> {
  try {
    yield* createInterface({ input, crlfDelay: Infinity });
  } catch (error) {
    unreadable(error);
  }
}

/** The records of a session, page by page: all of them, or the events from a position on. */
export async function* readSession(client: EngineClient, id: SessionId, from?: Position): AsyncGenerator<StreamRecord> {
  let page = await must(client.records(id, from));
  let position: number = from ?? 0;
  for (;;) {
    let events = 0;
    for (const record of page) {
      yield record;
      if (record.kind === 'event') events += 1;
    }
    if (events < READ_PAGE_RECORDS) return;
    position += events;
    page = await must(client.records(id, position as Position));
  }
}
