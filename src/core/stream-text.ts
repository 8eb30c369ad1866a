// The lines of an exported stream (JSON Lines), from bytes in pieces of any size.
import { type Either, chain, left } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { type Json, parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { type StreamRecord, decodeStreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';

/** Cuts bytes into lines. Of a line that is too long it keeps the beginning, and then takes no more. */
export interface LineSplitter {
  /** The lines that these bytes end, without their line feeds. */
  add(bytes: Uint8Array): readonly Uint8Array[];
  /** The last line, when it has no line feed; null when nothing is left. */
  rest(): Uint8Array | null;
  /** True once the open line is too long. */
  isFull(): boolean;
}

const LINE_FEED = 0x0a;

/** Only a line feed ends a line: JSON may contain other line separators (U+2028, a carriage return). */
export function newLineSplitter(): LineSplitter {
  let open: Uint8Array[] = [];
  let size = 0;
  return {
    add(bytes) {
      const lines: Uint8Array[] = [];
      let start = 0;
      for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
        lines.push(joined([...open, bytes.subarray(start, end)]));
        [open, size, start] = [[], 0, end + 1];
      }
      if (start < bytes.length) open.push(bytes.subarray(start));
      size += bytes.length - start;
      return lines;
    },
    rest: () => (size === 0 ? null : joined(open)),
    isFull: () => size > BLOB_BYTES_MAX,
  };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// Fatal and keeping the BOM: no byte is replaced, so digests are compared with the exact bytes of the file.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The record of a line, or why it is none; null when the line is blank. */
export function readStreamLine(line: Uint8Array): Either<Rejection, StreamRecord> | null {
  const parsed = parseLine(line);
  return parsed === null ? null : pipe(parsed, chain(decodeStreamRecord));
}

function parseLine(line: Uint8Array): Either<Rejection, Json> | null {
  if (line.length > BLOB_BYTES_MAX) return left(reject('too_large', '', `longer than ${BLOB_BYTES_MAX} bytes`));
  let text: string;
  try {
    text = utf8.decode(line);
  } catch {
    return left(reject('malformed_json', '', 'the line is not UTF-8'));
  }
  return /^[ \t\r\v\f]*$/.test(text) ? null : parseJson(text, BLOB_BYTES_MAX);
}
