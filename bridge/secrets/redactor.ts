// Replaces known secrets before anything leaves the bridge (docs/design.md, "Safety"): the values themselves, and the
// spellings in which tools print them. It works on bytes, so that it also finds a secret that a cut divides, and in one
// pass over them: at each byte, a table of byte pairs says which patterns can begin there.
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { SECRET_CHARS_MIN } from '../../schemas/limits.ts';
import { type Place, type SecretStream, lineFeedsIn, newSecretStream } from './secret-stream.ts';
import { type SecretPattern, patternsOf } from './secret-patterns.ts';
import { OPEN, escape, isEscapeLead, readEscape } from './spellings.ts';

/** What the model reads in place of a secret. */
export const SECRET_MARK = '‹secret›';

export interface Redactor {
  /** How many bytes {@link Redactor.window} needs on each side of a window to see whole secrets. */
  readonly reach: number;
  text(text: string): string;
  /** The value with each secret replaced, in keys too; the same object when it holds none. */
  value<T>(value: T): T;
  /** The bytes from `start` to `end` of a larger buffer; each secret that overlaps them is replaced as a whole. */
  window(bytes: Buffer, start: number, end: number): Buffer;
  has(bytes: Uint8Array): boolean;
  /** How many bytes at the end of the buffer may be the beginning of a secret that has not arrived in full. */
  pending(bytes: Buffer): number;
  /** Replaces secrets in a text that arrives in pieces: shown together, they are {@link Redactor.text} of the whole. */
  newStream(): SecretStream;
}

/** Replaces the secrets that have at least `SECRET_CHARS_MIN` characters; shorter ones occur in ordinary text. */
export function createRedactor(secrets: readonly string[]): Redactor {
  const values = new Set(secrets.map((secret) => secret.trim()).filter(isLongEnough));
  return values.size === 0 ? noRedactor : redactorOf([...values].flatMap(patternsOf));
}

export const isLongEnough = (secret: string): boolean => secret.trim().length >= SECRET_CHARS_MIN;

const noRedactor: Redactor = {
  reach: 0,
  text: (text) => text,
  value: (value) => value,
  window: (bytes, start, end) => bytes.subarray(start, end),
  has: () => false,
  pending: () => 0,
  newStream: () => newSecretStream({ find: () => [], pending: () => 0, mark: MARK }),
};

const MARK = Buffer.from(SECRET_MARK, 'utf8');

function redactorOf(patterns: Patterns): Redactor {
  const starts = startTable(patterns);
  const reach = Math.max(...patterns.map(({ bytesMax }) => bytesMax));

  const text = (value: string): string => {
    // No spelling is shorter than the secret, and no character has more than three bytes a unit.
    if (value.length * 3 < SECRET_CHARS_MIN) return value;
    const bytes = Buffer.from(value, 'utf8');
    const places = find(bytes, starts, bytes.length);
    return places.length === 0 ? value : replaced(bytes, places, 0, bytes.length).toString('utf8');
  };
  const pending = (bytes: Buffer): number => {
    for (let at = Math.max(0, bytes.length - reach); at < bytes.length; at += 1)
      if (startingAt(bytes, at, starts, patterns).some((pattern) => pattern.match(bytes, at) === OPEN))
        return bytes.length - at;
    return 0;
  };
  return {
    reach,
    text,
    value: (value) => redactJson(value as Json, text) as typeof value,
    window(bytes, start, end) {
      const places = find(bytes, starts, end).filter((place) => place.end > start && place.start < end);
      return places.length === 0 ? bytes.subarray(start, end) : replaced(bytes, places, start, end);
    },
    has: (bytes) => find(bytes, starts, bytes.length).length > 0,
    pending,
    newStream: () => newSecretStream({ find: (bytes) => find(bytes, starts, bytes.length), pending, mark: MARK }),
  };
}

/** Which patterns can begin where. */
interface StartTable {
  readonly lists: readonly Patterns[];
  /** For each pair of bytes, the index of the list of patterns that can begin with it literally. */
  readonly ofPair: Uint16Array;
  /** For each value of an escape below 256, the patterns that can begin with it. */
  readonly ofEscape: readonly Patterns[];
  /** The same for all higher values. */
  readonly ofOtherEscape: Patterns;
}

type Patterns = readonly SecretPattern[];

/** The patterns say themselves what can begin them: a pair does when its match is still open after it. */
function startTable(patterns: Patterns): StartTable {
  const beginning = new Map<number, SecretPattern[]>();
  const pair = new Uint8Array(2);
  const first = pair.subarray(0, 1);
  for (const pattern of patterns) {
    for (let byte = 0; byte < 256; byte += 1) {
      pair[0] = byte;
      if (isEscapeLead(byte) ? !pattern.beginsWith(byte) : pattern.match(first, 0) !== OPEN) continue;
      for (let second = 0; second < 256; second += 1) {
        pair[1] = second;
        if (pattern.match(pair, 0) !== OPEN) continue;
        const known = beginning.get(byte * 256 + second);
        if (known === undefined) beginning.set(byte * 256 + second, [pattern]);
        else known.push(pattern);
      }
    }
  }
  const ofPair = new Uint16Array(65_536);
  const lists: Patterns[] = [[]];
  for (const [at, list] of beginning) ofPair[at] = lists.push(list) - 1;
  const ofEscape = Array.from({ length: 256 }, (_, value) => patterns.filter((pattern) => pattern.beginsWith(value)));
  return { lists, ofPair, ofEscape, ofOtherEscape: patterns };
}

/** Every secret that begins before `until`, in order. Secrets that overlap are one place. */
function find(bytes: Uint8Array, starts: StartTable, until: number): readonly Place[] {
  const { lists, ofPair } = starts;
  const places: { start: number; end: number }[] = [];
  const last = Math.min(until, bytes.length - 1);
  let next = bytes[0] as number;
  for (let at = 0; at < last; at += 1) {
    const byte = next;
    next = bytes[at + 1] as number;
    const list = ofPair[(byte << 8) | next] as number;
    const isEscape = byte === 0x5c || byte === 0x25 || byte === 0x26;
    if (list === 0 && !isEscape) continue;
    const literal = longestMatch(lists[list] as Patterns, bytes, at);
    const end = isEscape ? Math.max(literal, longestMatch(escapedStarts(bytes, at, starts), bytes, at)) : literal;
    if (end === 0) continue;
    const before = places.at(-1);
    if (before === undefined || before.end <= at) places.push({ start: at, end });
    else before.end = Math.max(before.end, end);
  }
  return places;
}

/** The patterns that may begin at a byte, of which the end of the bytes may leave some open. */
function startingAt(bytes: Uint8Array, at: number, { lists, ofPair }: StartTable, all: Patterns): Patterns {
  const byte = bytes[at] as number;
  const next = bytes[at + 1];
  return next === undefined || isEscapeLead(byte) ? all : (lists[ofPair[(byte << 8) | next] as number] as Patterns);
}

/** The escape is read once, not once for each pattern. Of several backslashes the last one begins it. */
function escapedStarts(bytes: Uint8Array, at: number, { ofEscape, ofOtherEscape }: StartTable): Patterns {
  if (bytes[at] === 0x5c && bytes[at + 1] === 0x5c) return [];
  return readEscape(bytes, at) < 0 ? [] : (ofEscape[escape.value] ?? ofOtherEscape);
}

function longestMatch(patterns: Patterns, bytes: Uint8Array, at: number): number {
  let longest = 0;
  for (let index = 0; index < patterns.length; index += 1)
    longest = Math.max(longest, (patterns[index] as SecretPattern).match(bytes, at));
  return longest;
}

function replaced(bytes: Buffer, places: readonly Place[], start: number, end: number): Buffer {
  const parts: Buffer[] = [];
  let at = start;
  for (const place of places) {
    if (place.start > at) parts.push(bytes.subarray(at, place.start));
    parts.push(MARK, lineFeedsIn(bytes.subarray(Math.max(start, place.start), Math.min(end, place.end))));
    at = place.end;
  }
  if (at < end) parts.push(bytes.subarray(at, end));
  return Buffer.concat(parts);
}

function redactJson(value: Json, text: (value: string) => string): Json {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => redactJson(item, text));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isPlainObject(value)) return value;
  const object: JsonObject = value;
  const entries = Object.entries(object).map(([key, item]) => [text(key), redactJson(item, text)] as const);
  return entries.every(([key, item]) => object[key] === item) ? value : Object.fromEntries(entries);
}
