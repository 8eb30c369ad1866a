// Cuts secrets out of the bytes of a response before they are hashed or stored. A stream may bring a secret in pieces, each
// in an event of its own: then no cut is sure, and the response is not kept.
import { REDACT_SLICE_BYTES } from '../../schemas/limits.ts';
import type { Redactor } from './redactor.ts';

export interface RedactedResponse {
  /** Null when a secret came in pieces. */
  readonly bytes: Buffer | null;
  readonly redacted: boolean;
}

/** Other work of the process runs between the slices of a long response. */
export async function redactResponse(bytes: Buffer, redactor: Redactor): Promise<RedactedResponse> {
  if (redactor.reach === 0) return { bytes, redacted: false };
  const cut = await withoutSecrets(bytes, redactor);
  const inPieces = ['\n', '{"'].some((mark) => joinedStrings(cut, mark).some((text) => redactor.has(text)));
  if (inPieces) return { bytes: null, redacted: true };
  return { bytes: cut, redacted: cut !== bytes };
}

async function withoutSecrets(bytes: Buffer, redactor: Redactor): Promise<Buffer> {
  const parts: Buffer[] = [];
  let changed = false;
  for (let start = 0; start < bytes.length; start += REDACT_SLICE_BYTES) {
    if (start > 0) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    const end = Math.min(bytes.length, start + REDACT_SLICE_BYTES);
    // Whole secrets show on both sides of the slice.
    const from = Math.max(0, start - redactor.reach);
    const around = bytes.subarray(from, Math.min(bytes.length, end + redactor.reach));
    const part = redactor.window(around, start - from, end - from);
    changed ||= part.length !== end - start || !part.equals(bytes.subarray(start, end));
    parts.push(part);
  }
  return changed ? Buffer.concat(parts) : bytes;
}

/**
 * The values of the strings in JSON texts, joined by the field that holds them: the pieces of a stream stand in equal fields.
 * The bytes are read anew after each `mark`, because frames may hold bytes beside JSON that look like quotes: a line ends
 * every string of an SSE event, and `{"` begins the JSON of a binary frame.
 */
function joinedStrings(bytes: Buffer, mark: string): readonly Buffer[] {
  const text = bytes.toString('latin1');
  const pieces = new Map<string, string[]>();
  let field = '';
  let quote = text.indexOf('"');
  for (let at = 0; at < text.length && quote !== -1;) {
    const next = text.indexOf(mark, at + 1);
    const until = next === -1 ? text.length : next;
    while (quote !== -1 && quote < until) {
      const end = Math.min(stringEnd(text, quote, until), until);
      const value = text.slice(quote + 1, end);
      if (/^\s*:/.test(text.slice(end + 1, end + 9))) field = value;
      else if (/:\s*$/.test(text.slice(Math.max(0, quote - 8), quote))) {
        const known = pieces.get(field);
        if (known === undefined) pieces.set(field, [value]);
        else known.push(value);
      }
      quote = text.indexOf('"', end + 1);
    }
    at = until;
  }
  return [...pieces.values()].filter((list) => list.length > 1).map((list) => Buffer.from(list.join(''), 'latin1'));
}

/** Where the string that begins at `quote` ends: its closing quote, or `until`. */
function stringEnd(text: string, quote: number, until: number): number {
  for (let end = text.indexOf('"', quote + 1); end !== -1 && end < until; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text[before] === '\\') before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return until;
}
