// JSON that loses nothing: a number that a double cannot hold keeps its text, and a text may be spliced into a request
// unparsed. Provider items (signatures, encrypted reasoning, unknown kinds) go back byte for byte in meaning.
import { REPLY_DEPTH_MAX } from '../../../schemas/limits.ts';
import { ProviderError } from '../provider.ts';

/** JSON text that is written as it is: a number that a double would change, or a whole item. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value of JSON, whose numbers may be {@link RawJson}. */
export type ExactJson = null | boolean | number | string | RawJson | readonly ExactJson[] | ExactObject;
export interface ExactObject {
  readonly [key: string]: ExactJson;
}

/**
 * Parses JSON text. Throws a SyntaxError when it is not JSON, and a {@link ProviderError} when it is nested deeper than
 * REPLY_DEPTH_MAX levels: what reads and writes such values follows them by calls of its own.
 */
export function parseExact(text: string): ExactJson {
  const value = JSON.parse(text) as ExactJson;
  if (typeof value === 'number') return leafOf(text.trim());
  const mayDiffer = mayChange(text) || hasManyOpen(text);
  return !mayDiffer || isExactlyParsed(text) ? value : withRawNumbers(text);
}

/** False when no number changes: nearly always. */
function mayChange(text: string): boolean {
  LONG_NUMBER.lastIndex = 0;
  // The match ends inside a number; `exec` would make an array for each.
  while (LONG_NUMBER.test(text)) {
    const inside = LONG_NUMBER.lastIndex;
    let start = inside;
    while (isOfNumber(text.charCodeAt(start - 1))) start -= 1;
    if (!isKept(text.slice(start, numberEnd(text, inside)))) return true;
  }
  return text.includes('-0') && NEGATIVE_ZERO.test(text);
}

// Sixteen characters or an exponent, where a number may stand (RFC 8259: after `:`, `,`, `[` or white space, or alone). A match
// inside a string costs time, not truth; without the place before it, the ids and signatures of most responses would match.
// Its first four characters stand together seldom, so that the search skips most of the text: it takes a fifth of the time of
// JSON.parse, and to walk the text takes five times as long.
const LONG_NUMBER = /[\s:,[][-0-9][0-9.eE][-+0-9.eE](?:(?<=[eE].?)|[0-9.]{0,12}[eE]|[0-9.]{13})/g;
const NEGATIVE_ZERO = /[\s:,[]-0(?:\.0+)?(?![0-9.])/;

/** More brackets, even in strings, than levels are allowed. */
function hasManyOpen(text: string): boolean {
  if (text.length <= 2 * REPLY_DEPTH_MAX) return false;
  let many = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      many += 1;
      if (many > REPLY_DEPTH_MAX) return true;
    }
  }
  return false;
}

/**
 * True when JSON.parse loses nothing of the text, which is valid JSON. One pass over what stands outside of strings: those,
 * the most of any response, are skipped.
 */
function isExactlyParsed(text: string): boolean {
  let exact = true;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === LEFT_BRACE || code === LEFT_BRACKET) {
      depth += 1;
      if (depth > REPLY_DEPTH_MAX) throw tooDeep();
    } else if (code === RIGHT_BRACE || code === RIGHT_BRACKET) depth -= 1;
    else if (code === MINUS || (code >= DIGIT_0 && code <= DIGIT_9)) {
      const end = numberEnd(text, at + 1);
      // A double holds any fifteen digits.
      if (exact && (code === MINUS || end - at > 15 || hasExponent(text, at, end))) exact = isKept(text.slice(at, end));
      at = end - 1;
    }
  }
  return exact;
}

const tooDeep = (): ProviderError =>
  new ProviderError('provider_retryable', `the answer is nested deeper than ${REPLY_DEPTH_MAX} levels`);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;
const LEFT_BRACKET = 0x5b;
const RIGHT_BRACKET = 0x5d;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LOWER_E = 0x65;
const UPPER_E = 0x45;

const isOfNumber = (code: number): boolean =>
  (code >= DIGIT_0 && code <= DIGIT_9) ||
  code === DOT ||
  code === MINUS ||
  code === PLUS ||
  code === LOWER_E ||
  code === UPPER_E;

function numberEnd(text: string, from: number): number {
  let at = from;
  while (isOfNumber(text.charCodeAt(at))) at += 1;
  return at;
}

function hasExponent(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if ((text.charCodeAt(at) | 0x20) === LOWER_E) return true;
  return false;
}

/** False when a number loses its sign or digits. A short one may be written in another way: `1.50` as `1.5`. */
function isKept(token: string): boolean {
  const value = Number(token);
  const isShort = token.length < 16 && !/e/i.test(token);
  return isShort ? !Object.is(value, -0) : String(value) === token;
}

const TOKEN = /-?[0-9][-+.0-9eE]*|[[\]{}:,]|true|false|null/y;

/** The tokens of valid JSON text. Strings are scanned by hand: a pattern would use the stack for each character of a long one. */
function* tokensOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    TOKEN.lastIndex = at;
    const end = text[at] === '"' ? stringEnd(text, at) : TOKEN.test(text) ? TOKEN.lastIndex : -1;
    if (end !== -1) yield text.slice(at, end);
    at = end === -1 ? at + 1 : end;
  }
}

/** Behind the first quote after `start` that no backslash escapes. Long strings are searched, which is faster than to walk. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (const walked = start + STRING_WALK_MAX; at < walked; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  const from = at;
  for (at = text.indexOf('"', from); ; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (before >= from && text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 1) return at + 1;
  }
}

const STRING_WALK_MAX = 48;

// The text is valid JSON, so that its tokens alone describe it. Nesting is followed with a stack of our own.
function withRawNumbers(text: string): ExactJson {
  type Open = { readonly list: ExactJson[] } | { readonly fields: Record<string, ExactJson>; key: string | null };
  const open: Open[] = [];
  let result: ExactJson = null;
  const put = (value: ExactJson): void => {
    const into = open.at(-1);
    if (into === undefined) result = value;
    else if ('list' in into) into.list.push(value);
    else {
      setField(into.fields, into.key ?? '', value);
      into.key = null;
    }
  };
  for (const token of tokensOf(text)) {
    const into = open.at(-1);
    if (token === '{' || token === '[') {
      const next: Open = token === '[' ? { list: [] } : { fields: {}, key: null };
      put('list' in next ? next.list : next.fields);
      open.push(next);
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':' || token === ',') continue;
    else if (token.startsWith('"')) {
      const string = JSON.parse(token) as string;
      if (into !== undefined && 'fields' in into && into.key === null) into.key = string;
      else put(string);
    } else put(leafOf(token));
  }
  return result;
}

function leafOf(token: string): ExactJson {
  const value = JSON.parse(token) as null | boolean | number;
  return typeof value !== 'number' || JSON.stringify(value) === token ? value : new RawJson(token);
}

/** An object that events fill in place. Copied with each event, it would cost the square of a stream's length. */
export type FilledObject = Record<string, ExactJson>;

/** Sets the fields of `from` in `into`. */
export function setFields(into: FilledObject, from: ExactObject): void {
  for (const key of Object.keys(from)) setField(into, key, from[key] ?? null);
}

/** A `__proto__` of the text becomes a field, as in JSON.parse. */
export function setField(fields: FilledObject, key: string, value: ExactJson): void {
  if (key === '__proto__') {
    Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true });
  } else fields[key] = value;
}

/**
 * The JSON text of a value. Lone surrogates are escaped, so the text is always well-formed; undefined fields are left out.
 * Throws a {@link ProviderError} for a value that is nested deeper than REPLY_DEPTH_MAX levels.
 */
export function exactText(value: ExactJson): string {
  // Nearly no value holds a raw text, and JSON.stringify is much faster than what follows.
  return holdsRaw(value) ? textAt(value) : JSON.stringify(value);
}

function textAt(value: ExactJson): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly ExactJson[]).map(textAt).join(',')}]`;
  let text = '';
  for (const key of Object.keys(value)) {
    const field = (value as ExactObject)[key];
    if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${textAt(field)}`;
  }
  return `{${text}}`;
}

/** A raw text anywhere in it. Throws a {@link ProviderError} for a value that is nested deeper than REPLY_DEPTH_MAX levels. */
export const holdsRaw = (value: ExactJson): boolean => findsRaw(value, 0);

/** Looks at all of the value, because its depth must be known as well. */
function findsRaw(value: ExactJson | undefined, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof RawJson) return true;
  if (depth >= REPLY_DEPTH_MAX) throw tooDeep();
  let found = false;
  if (Array.isArray(value)) {
    for (const item of value as readonly ExactJson[])
      if (typeof item === 'object') found = findsRaw(item, depth + 1) || found;
    return found;
  }
  const fields = value as ExactObject;
  for (const key in fields) {
    const field = fields[key];
    if (typeof field === 'object') found = findsRaw(field, depth + 1) || found;
  }
  return found;
}

export const isExactObject = (value: unknown): value is ExactObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson);

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listIn = (value: unknown): readonly ExactJson[] => (Array.isArray(value) ? (value as ExactJson[]) : []);
export const objectIn = (value: unknown): ExactObject => (isExactObject(value) ? value : {});

/** What a table says of a word that a server chose, which may be the name of a method of objects. */
export const entryOf = <V>(table: Readonly<Record<string, V>>, word: string): V | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

/** A count of tokens; anything else that a server writes there counts as none. */
export const countIn = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
