// Parses long JSON texts without holding the event loop. Nearly all of such a text is a few long strings: each is parsed in
// slices, and the rest, with a short word in place of each of them, as a whole.
import { STREAM_SLICE_BYTES } from '../../../schemas/limits.ts';
import type { Steps } from '../../../src/core/steps.ts';
import { inBreaths } from '../../secrets/breath.ts';
import { type ExactJson, type FilledObject, RawJson, parseExact, setField } from './exact-json.ts';
import { refuseCostly } from './refuse-costly.ts';

interface Sizes {
  /** A text that is no longer is parsed at once, and so is a slice of a string. */
  readonly slice: number;
  /** A string that is longer is parsed apart. */
  readonly string: number;
}

const SIZES: Sizes = { slice: STREAM_SLICE_BYTES, string: 1_024 };

interface Parsing {
  readonly sizes?: Sizes;
  /** Throws a ProviderError for a text that costs too much to read; its long strings are left out of it. */
  readonly refuse?: (text: string) => void;
}

/** What `parseExact` gives and throws for the text; other work of the process runs in between. */
export const parseLong = (text: string, parsing?: Parsing): Promise<ExactJson> => inBreaths(parseSteps(text, parsing));

/** The same, in steps. */
export function* parseSteps(text: string, { sizes = SIZES, refuse = refuseCostly }: Parsing = {}): Steps<ExactJson> {
  if (text.length <= sizes.slice) {
    refuse(text);
    return parseExact(text);
  }
  const word = unusedWord(text);
  yield;
  const apart = word === null ? null : yield* withoutLongStrings(text, word, sizes);
  if (word === null || apart === null || apart.strings.length === 0) {
    refuse(text);
    yield;
    return parseExact(text);
  }
  refuse(apart.rest);
  const strings: string[] = [];
  for (const inside of apart.strings) strings.push(yield* longString(inside, sizes));
  yield;
  const value = parseExact(apart.rest);
  yield;
  return withStrings(value, word, strings);
}

// Characters for private use (Unicode 16, section 23.5): models write none, and hardly ever one of them.
const WORDS = ['\ue0a7', '\ue8b3', '\uf1c9', '\uf8d5'];

/** A character that no string of the text holds, also not as an escape; null when a server writes such characters. */
function unusedWord(text: string): string | null {
  if (text.includes('\\u') && /\\u(?:[eE]|[fF][0-8])/.test(text)) return null;
  return WORDS.find((word) => !text.includes(word)) ?? null;
}

interface Apart {
  /** The text with `word` and a number in place of each long string. */
  readonly rest: string;
  /** What stands between the quotes of each. */
  readonly strings: readonly string[];
}

/** Null when a string does not end. */
function* withoutLongStrings(text: string, word: string, sizes: Sizes): Steps<Apart | null> {
  const parts: string[] = [];
  const strings: string[] = [];
  const progress = { at: 0 };
  let from = 0;
  for (let quote = text.indexOf('"'); quote !== -1;) {
    const end = yield* stringEnd(text, quote, progress, sizes);
    if (end === -1) return null;
    if (end - quote > sizes.string) {
      parts.push(text.slice(from, quote), `"${word}${strings.length}"`);
      strings.push(text.slice(quote + 1, end - 1));
      from = end;
    }
    quote = text.indexOf('"', end);
  }
  parts.push(text.slice(from));
  return { rest: parts.join(''), strings };
}

/** Behind the quote that ends the string; -1 when none does. */
function* stringEnd(text: string, quote: number, progress: { at: number }, { slice }: Sizes): Steps<number> {
  for (let end = text.indexOf('"', quote + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    if (end - progress.at > slice) {
      progress.at = end;
      yield;
    }
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end + 1;
  }
  return -1;
}

const BACKSLASH = 0x5c;

/** The string between its quotes, parsed in slices that do not divide an escape. */
function* longString(inside: string, { slice }: Sizes): Steps<string> {
  const parts: string[] = [];
  for (let at = 0; at < inside.length;) {
    const end = escapeBorder(inside, at, Math.min(inside.length, at + slice));
    if (at > 0) yield;
    parts.push(JSON.parse(`"${inside.slice(at, end)}"`) as string);
    at = end;
  }
  return parts.join('');
}

/** `end`, or the beginning of the escape that it would divide. An escape has at most six characters. */
function escapeBorder(text: string, start: number, end: number): number {
  if (end === text.length) return end;
  // Farther back no escape reaches `end`. A search of the whole text for each slice would take the square of its length.
  const near = Math.max(start, end - 5);
  const last = near + text.slice(near, end).lastIndexOf('\\');
  if (last < near) return end;
  let first = last;
  while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  // Of an odd number of backslashes the last one begins an escape.
  if ((last - first) % 2 === 1) return end;
  return last + (text[last + 1] === 'u' ? 6 : 2) <= end || last === start ? end : last;
}

function withStrings(value: ExactJson, word: string, strings: readonly string[]): ExactJson {
  if (typeof value === 'string') return value.startsWith(word) ? (strings[Number(value.slice(1))] ?? value) : value;
  if (typeof value !== 'object' || value === null || value instanceof RawJson) return value;
  if (Array.isArray(value)) return (value as readonly ExactJson[]).map((item) => withStrings(item, word, strings));
  const fields: FilledObject = {};
  for (const [key, field] of Object.entries(value)) {
    setField(fields, withStrings(key, word, strings) as string, withStrings(field, word, strings));
  }
  return fields;
}
