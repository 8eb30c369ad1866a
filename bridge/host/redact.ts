// Replaces known secret values before anything leaves the host (DESIGN section 7): as they are, and in the forms
// in which tools like to print them. Works on bytes, so that a cut through a secret can be seen and closed.
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';

const SECRET_MARK = '‹secret›';

export interface Redactor {
  /** Bytes of context on each side of a window that {@link Redactor.window} needs to see whole secrets. */
  readonly reach: number;
  text(text: string): string;
  object(object: JsonObject): JsonObject;
  /** The bytes from `start` to `end` of a larger buffer, with every secret that touches them replaced whole. */
  window(bytes: Buffer, start: number, end: number): Buffer;
  /** Bytes at the end of the buffer that may be the beginning of a secret which has not arrived whole. */
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
