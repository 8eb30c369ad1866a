// Writes a cassette: each exchange is one line that is appended in one write, so that the file is whole after each of them. Only
// its owner can read it.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Redactor } from '../../secrets/redactor.ts';
import { redactResponse } from '../../secrets/redact-response.ts';
import type { WireExchange } from '../api/wire-exchange.ts';
import { lineOf } from './line.ts';

/** Not through a link, which a tool may have left in the workspace. */
const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;

export interface CassetteFile {
  /** Cuts the secrets out, then writes. */
  add(exchange: WireExchange): Promise<void>;
  close(): Promise<void>;
}

/** Opens a new file, or one that an earlier process of the same run has begun. `redactor` gives the secrets known so far. */
export async function openCassetteFile(path: string, redactor: () => Redactor): Promise<CassetteFile> {
  const file = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  await endTornLine(file);
  let last: Promise<void> = Promise.resolve();
  const write = async (exchange: WireExchange): Promise<void> => {
    const secrets = redactor();
    const response = await responseWithout(exchange, secrets);
    await file.appendFile(lineOf({ ...exchange, response }, (text) => secrets.text(text)));
  };
  return {
    add: (exchange) => {
      const written = last.then(() => write(exchange));
      last = written.catch(() => undefined);
      return written;
    },
    async close() {
      await last;
      await file.close();
    },
  };
}

/** Null when it held a secret in pieces, or in a binary frame, whose checksum would no longer fit. */
async function responseWithout(
  { response, redacted, headers }: WireExchange,
  secrets: Redactor,
): Promise<Buffer | null> {
  if (response === null) return null;
  const clean = await redactResponse(response, secrets);
  const isBinary = headers?.get('content-type')?.startsWith('application/vnd.amazon.eventstream') === true;
  return isBinary && (redacted || clean.redacted) ? null : clean.bytes;
}

/** What a process that was killed in the middle of a write has left. */
async function endTornLine(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  if (size === 0) return;
  const { buffer } = await file.read(Buffer.alloc(size), 0, size, 0);
  await file.truncate(buffer.lastIndexOf(0x0a) + 1);
}
