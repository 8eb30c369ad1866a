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
  // One JSON object is no stream. What its texts give together, the decoded answer shows.
  const isStream = cut[0] !== BRACE;
  for (const joined of isStream ? await joinedStrings(cut) : []) {
    if (await hasSecret(joined, redactor)) return { bytes: null, redacted: true };
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

async function hasSecret(bytes: Buffer, redactor: Redactor): Promise<boolean> {
  for (let start = 0; start < bytes.length; start += REDACT_SLICE_BYTES) {
    if (start > 0) await breath();
    if (redactor.has(bytes.subarray(start, start + REDACT_SLICE_BYTES + redactor.reach))) return true;
  }
  return false;
}

const breath = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/**
 * The values of the strings in JSON texts, joined by the field that holds them: the pieces of a stream stand in equal fields.
 * Frames may hold bytes beside JSON that look like quotes, so that reading begins anew at each line of text (no string of
 * JSON goes on to the next), and at each `{"` of binary frames, which have zero bytes.
 */
async function joinedStrings(bytes: Buffer): Promise<readonly Buffer[]> {
  const mark = bytes.includes(0) ? '{"' : '\n';
  const text = bytes.toString('latin1');
  const pieces = new Map<string, string[]>();
  let field = '';
  let quote = text.indexOf('"');
  let breathAt = REDACT_SLICE_BYTES;
  for (let at = 0; at < text.length && quote !== -1;) {
    const next = text.indexOf(mark, at + 1);
    const until = next === -1 ? text.length : next;
    while (quote !== -1 && quote < until) {
      const end = Math.min(stringEnd(text, quote, until), until);
      if (isColon(text, end + 1, 1)) field = text.slice(quote + 1, end);
      else if (isColon(text, quote - 1, -1)) {
        const known = pieces.get(field);
        const value = text.slice(quote + 1, end);
        if (known === undefined) pieces.set(field, [value]);
        else known.push(value);
      }
      quote = text.indexOf('"', end + 1);
    }
    at = until;
    if (at < breathAt) continue;
    breathAt = at + REDACT_SLICE_BYTES;
    await breath();
  }
  return [...pieces.values()].filter((list) => list.length > 1).map((list) => Buffer.from(list.join(''), 'latin1'));
}

/** Whether the next character from `at` on, in this direction, is a colon. A few spaces may stand before it. */
function isColon(text: string, at: number, step: 1 | -1): boolean {
  let from = at;
  while (Math.abs(from - at) < SPACES_MAX && text.charCodeAt(from) === SPACE) from += step;
  return text.charCodeAt(from) === COLON;
}

const SPACES_MAX = 8;
const SPACE = 0x20;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;

/** Where the string that begins at `quote` ends: its closing quote, or `until`. */
function stringEnd(text: string, quote: number, until: number): number {
  for (let end = text.indexOf('"', quote + 1); end !== -1 && end < until; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return until;
}
