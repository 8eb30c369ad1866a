// Replaces known secret values before any output leaves the host (docs/design.md, "Safety"): the values themselves, and
// the encodings in which tools print them. It works on bytes, so that it also finds a secret that a cut divides.
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';

const SECRET_MARK = '‹secret›';

export interface Redactor {
  /** How many bytes {@link Redactor.window} needs on each side of a window to see whole secrets. */
  readonly reach: number;
  text(text: string): string;
  object(object: JsonObject): JsonObject;
  /** The bytes from `start` to `end` of a larger buffer; each secret that overlaps them is replaced as a whole. */
  window(bytes: Buffer, start: number, end: number): Buffer;
  /** How many bytes at the end of the buffer may be the beginning of a secret that has not arrived in full. */
  pending(bytes: Buffer): number;
}

export function createRedactor(secrets: readonly string[]): Redactor {
  const forms = [...new Set(secrets.filter((secret) => secret !== '').flatMap(formsOf))];
  forms.sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const bytesForms = forms.map((form) => Buffer.from(form, 'utf8').toString('latin1'));
  const inText = forms.length === 0 ? null : new RegExp(forms.map(escapeRegExp).join('|'), 'g');
  const inBytes = forms.length === 0 ? null : new RegExp(bytesForms.map(escapeRegExp).join('|'), 'g');
  const reach = Math.max(0, ...bytesForms.map((form) => form.length - 1));

  const text = (value: string): string => (inText === null ? value : value.replace(inText, SECRET_MARK));
  return {
    reach,
    text,
    object: (value) => (inText === null ? value : (redactJson(value, text) as JsonObject)),
    window: (bytes, start, end) => (inBytes === null ? bytes.subarray(start, end) : cut(bytes, start, end, inBytes)),
    pending: (bytes) => longestPending(bytes.subarray(-reach || bytes.length).toString('latin1'), bytesForms),
  };
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const base64 = bytes.toString('base64');
  return [
    secret,
    base64,
    base64.replace(/=+$/, ''),
    bytes.toString('base64url'),
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
  ];
}

function cut(bytes: Buffer, start: number, end: number, secrets: RegExp): Buffer {
  const all = bytes.toString('latin1');
  const mark = Buffer.from(SECRET_MARK, 'utf8').toString('latin1');
  let out = '';
  let at = start;
  for (const match of all.matchAll(secrets)) {
    const from = match.index;
    const to = from + match[0].length;
    if (to <= start || from >= end) continue;
    out += all.slice(at, Math.max(at, from)) + mark;
    at = to;
  }
  return Buffer.from(out + all.slice(at, Math.max(at, end)), 'latin1');
}

function longestPending(tail: string, forms: readonly string[]): number {
  for (let length = tail.length; length > 0; length -= 1) {
    const suffix = tail.slice(-length);
    if (forms.some((form) => form.length > length && form.startsWith(suffix))) return length;
  }
  return 0;
}

function redactJson(value: Json, text: (value: string) => string): Json {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return value.map((item: Json) => redactJson(item, text));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), redactJson(item, text)]));
}

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
