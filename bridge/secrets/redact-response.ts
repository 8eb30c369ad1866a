// Cuts secrets out of the bytes of a response before they are hashed or stored. A stream may bring a secret in pieces, each
// in an event of its own: then no cut is sure, and the response is not kept.
import { REDACT_SLICE_BYTES } from '../../schemas/limits.ts';
import { breath } from './breath.ts';
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
  // One JSON object is no stream. What its texts give together, the decoded answer shows.
  const isStream = cut[0] !== BRACE;
  for (const pieces of isStream ? await piecesByField(cut) : []) {
    if (await hasSecret(pieces, redactor)) return { bytes: null, redacted: true };
  }
  return { bytes: cut, redacted: cut !== bytes };
}

async function withoutSecrets(bytes: Buffer, redactor: Redactor): Promise<Buffer> {
  const parts: Buffer[] = [];
  let changed = false;
  for (let start = 0; start < bytes.length; start += REDACT_SLICE_BYTES) {
    if (start > 0) await breath();
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

/** Whether the pieces, put together, hold a secret. */
async function hasSecret(pieces: readonly Buffer[], redactor: Redactor): Promise<boolean> {
  let open: Buffer[] = [];
  let size = 0;
  for (const piece of pieces.flatMap(slicesOf)) {
    open.push(piece);
    size += piece.length;
    if (size < REDACT_SLICE_BYTES) continue;
    const whole = Buffer.concat(open);
    if (redactor.has(whole)) return true;
    // A secret may begin at the end of this slice.
    open = [Buffer.from(whole.subarray(Math.max(0, whole.length - redactor.reach)))];
    size = 0;
    await breath();
  }
  return redactor.has(Buffer.concat(open));
}

const slicesOf = (piece: Buffer): readonly Buffer[] =>
  piece.length <= REDACT_SLICE_BYTES
    ? [piece]
    : Array.from({ length: Math.ceil(piece.length / REDACT_SLICE_BYTES) }, (_, index) =>
        piece.subarray(index * REDACT_SLICE_BYTES, (index + 1) * REDACT_SLICE_BYTES),
      );

/**
 * The values of the strings in JSON texts, by the field that holds them: the pieces of a stream stand in equal fields.
 * Frames may hold bytes beside JSON that look like quotes, so that reading begins anew at each line of text (no string of
 * JSON goes on to the next), and at each `{"` of binary frames, which have zero bytes.
 */
async function piecesByField(bytes: Buffer): Promise<readonly (readonly Buffer[])[]> {
  const mark = bytes.includes(0) ? '{"' : '\n';
  const pieces = new Map<string, Buffer[]>();
  let field = '';
  let quote = bytes.indexOf(QUOTE);
  let breathAt = REDACT_SLICE_BYTES;
  while (quote !== -1) {
    const next = bytes.indexOf(mark, quote + 1);
    const until = next === -1 ? bytes.length : next;
    while (quote !== -1 && quote < until) {
      let end = stringEnd(bytes, quote + 1, until);
      while (end < 0) {
        await breath();
        end = stringEnd(bytes, 1 - end, until);
      }
      if (isColon(bytes, end + 1, 1)) field = bytes.toString('latin1', quote + 1, end);
      else if (isColon(bytes, quote - 1, -1)) {
        const known = pieces.get(field);
        const value = bytes.subarray(quote + 1, end);
        if (known === undefined) pieces.set(field, [value]);
        else known.push(value);
      }
      quote = bytes.indexOf(QUOTE, end + 1);
    }
    if (until < breathAt) continue;
    breathAt = until + REDACT_SLICE_BYTES;
    await breath();
  }
  return [...pieces.values()].filter((list) => list.length > 1);
}

/** Whether the next character from `at` on, in this direction, is a colon. A few spaces may stand before it. */
function isColon(bytes: Buffer, at: number, step: 1 | -1): boolean {
  let from = at;
  while (Math.abs(from - at) < SPACES_MAX && bytes[from] === SPACE) from += step;
  return bytes[from] === COLON;
}

const SPACES_MAX = 8;
const QUOTE = 0x22;
const SPACE = 0x20;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;

/**
 * Where a string ends of which `from` is inside: its closing quote, or `until`. Negative when a breath is due: the string goes on
 * behind the escaped quote there.
 */
function stringEnd(bytes: Buffer, from: number, until: number): number {
  for (let end = bytes.indexOf(QUOTE, from); end !== -1 && end < until; end = bytes.indexOf(QUOTE, end + 1)) {
    let before = end - 1;
    while (bytes[before] === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
    if (end - from > REDACT_SLICE_BYTES) return -end;
  }
  return until;
}
