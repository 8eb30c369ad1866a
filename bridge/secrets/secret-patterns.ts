// A secret as patterns: its text, its bytes in hexadecimal, and its bytes in base64 at each of the three offsets that they
// can have in a longer value (RFC 4648, section 4), such as `user:secret` of basic authentication.
import {
  type Character,
  NO,
  OPEN,
  SPELLING_BYTES_MAX,
  afterBackslashes,
  hexDigit,
  matchLiteral,
  possibleEnds,
  escape,
  isEscapeLead,
  readEscape,
} from './spellings.ts';

export interface SecretPattern {
  /** The longest text it matches, in bytes. */
  readonly bytesMax: number;
  /** The end of the match that begins at `at`; NO; or OPEN when the bytes end before it is decided. */
  match(bytes: Uint8Array, at: number): number;
  /** Whether a match can begin with an escape of this value: a byte of UTF-8, a UTF-16 unit or a code point. */
  beginsWith(value: number): boolean;
}

export function patternsOf(secret: string): readonly SecretPattern[] {
  const text = secret.toWellFormed();
  const bytes = Uint8Array.from(Buffer.from(text, 'utf8'));
  return [textPattern(text), hexPattern(bytes), ...[0, 1, 2].map((offset) => base64Pattern(bytes, offset))];
}

function textPattern(secret: string): SecretPattern {
  const characters = Array.from(secret, (character): Character => ({
    code: character.codePointAt(0) as number,
    utf8: Uint8Array.from(Buffer.from(character, 'utf8')),
  }));
  const [first] = characters;
  const firstValues = new Set([first?.code, first?.utf8[0], secret.charCodeAt(0)]);
  const endsInBackslash = secret.endsWith('\\');
  return {
    bytesMax: secret.length * SPELLING_BYTES_MAX,
    match(bytes, at) {
      const end = matchText(bytes, at, {
        characters,
        index: 0,
        readings: { left: READINGS_PER_CHARACTER * characters.length },
      });
      return end >= 0 && endsInBackslash ? afterBackslashes(bytes, end) : end;
    },
    beginsWith: (value) => firstValues.has(value),
  };
}

/** Most readings of escapes that one match tries, for each character: most have one, and a match that fails fails soon. */
const READINGS_PER_CHARACTER = 4;

interface TextMatch {
  readonly characters: readonly Character[];
  /** The character to begin with. */
  readonly index: number;
  readonly readings: { left: number };
}

function matchText(bytes: Uint8Array, start: number, { characters, index: first, readings }: TextMatch): number {
  let at = start;
  for (let index = first; index < characters.length; index += 1) {
    const character = characters[index] as Character;
    const byte = bytes[at];
    if (byte === undefined) return OPEN;
    if (isEscapeLead(byte)) return longestReading(bytes, at, character, { characters, index, readings });
    at = matchLiteral(bytes, at, character);
    if (at < 0) return at;
  }
  return at;
}

/** The longest match of all readings of an escape, so that no piece of one remains. */
function longestReading(bytes: Uint8Array, at: number, character: Character, match: TextMatch): number {
  const { characters, index, readings } = match;
  let longest = NO;
  let open = false;
  let tried = NO;
  for (const end of possibleEnds(bytes, at, character, index === 0)) {
    open ||= end === OPEN;
    if (end < 0 || end === tried || (readings.left -= 1) < 0) continue;
    tried = end;
    const matched = matchText(bytes, end, { characters, index: index + 1, readings });
    longest = Math.max(longest, matched);
    open ||= matched === OPEN;
  }
  return longest === NO && open ? OPEN : longest;
}

function hexPattern(secret: Uint8Array): SecretPattern {
  const digits = Uint8Array.from([...secret].flatMap((byte) => [byte >> 4, byte & 15]));
  return {
    bytesMax: secret.length * SPELLING_BYTES_MAX,
    match(bytes, start) {
      let at = start;
      for (let index = 0; index < digits.length; index += 1) {
        if (index > 0 && index % 2 === 0) at = afterSeparator(bytes, at);
        const byte = bytes[at];
        if (byte === undefined) return OPEN;
        if (hexDigit(byte) !== digits[index]) return NO;
        at += 1;
      }
      return at;
    },
    beginsWith: () => false,
  };
}

/** What stands between two bytes: nothing, `:`, a space, a line end (also escaped), `\x`, `, 0x`. */
function afterSeparator(bytes: Uint8Array, start: number): number {
  let at = start;
  for (let length = 0; length < 2 && SEPARATORS[bytes[at] ?? 0] === 1; length += 1) at += 1;
  if (bytes[at] === BACKSLASH) at = afterEscapedLetter(bytes, at, LETTERS_BEFORE_HEX);
  return bytes[at] === 0x30 && bytes[at + 1] === 0x78 ? at + 2 : at;
}

const BACKSLASH = 0x5c;
const SEPARATORS: Uint8Array = new Uint8Array(256);
for (const byte of Buffer.from(' :-,\r\n')) SEPARATORS[byte] = 1;
const LETTERS_BEFORE_HEX: ReadonlySet<number> = new Set(Buffer.from('nrx'));
const LETTERS_OF_LINE_END: ReadonlySet<number> = new Set(Buffer.from('nr'));

function afterEscapedLetter(bytes: Uint8Array, at: number, letters: ReadonlySet<number>): number {
  const after = afterBackslashes(bytes, at);
  return after > at && letters.has(bytes[after] ?? 0) ? after + 1 : at;
}

function base64Pattern(secret: Uint8Array, offset: number): SecretPattern {
  const { values, masks } = sextetsOf(secret, offset);
  return {
    bytesMax: values.length * SPELLING_BYTES_MAX,
    match(bytes, start) {
      let at = start;
      for (let index = 0; index < values.length; index += 1) {
        if (index > 0) at = afterLineEnd(bytes, at);
        const byte = bytes[at];
        if (byte === undefined) return OPEN;
        let sextet = SEXTETS[byte] as number;
        if (sextet !== NO) at += 1;
        else {
          at = isEscapeLead(byte) ? readEscape(bytes, at) : NO;
          if (at < 0) return at;
          sextet = SEXTETS[escape.value] ?? NO;
        }
        if (sextet === NO || (sextet & (masks[index] as number)) !== values[index]) return NO;
      }
      return bytes[at] === EQUALS ? (bytes[at + 1] === EQUALS ? at + 2 : at + 1) : at;
    },
    beginsWith: (value) =>
      ((SEXTETS[value] ?? NO) & (masks[0] as number)) === values[0] && (SEXTETS[value] ?? NO) !== NO,
  };
}

const EQUALS = 0x3d;

/** Six bits each, and a mask of those that belong to the secret. */
interface Sextets {
  readonly values: Uint8Array;
  readonly masks: Uint8Array;
}

function sextetsOf(secret: Uint8Array, offset: number): Sextets {
  const values: number[] = [];
  const masks: number[] = [];
  for (let bit = Math.floor((offset * 8) / 6) * 6; bit < (offset + secret.length) * 8; bit += 6) {
    let value = 0;
    let mask = 0;
    for (let at = bit; at < bit + 6; at += 1) {
      const byte = secret[Math.floor(at / 8) - offset];
      value = value * 2 + (((byte ?? 0) >> (7 - (at % 8))) & 1);
      mask = mask * 2 + (byte === undefined ? 0 : 1);
    }
    values.push(value);
    masks.push(mask);
  }
  return { values: Uint8Array.from(values), masks: Uint8Array.from(masks) };
}

/** Encoders break base64 into lines; in JSON the line end is escaped. */
function afterLineEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  if (bytes[at] === 0x0d) at += 1;
  if (bytes[at] === 0x0a) return at + 1;
  if (bytes[start] !== BACKSLASH) return start;
  at = afterEscapedLetter(bytes, start, LETTERS_OF_LINE_END);
  return afterEscapedLetter(bytes, at, LETTERS_OF_LINE_END);
}

const SLASH = 63;
const SEXTETS: Int8Array = new Int8Array(256).fill(NO);
for (const [value, byte] of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/').entries())
  SEXTETS[byte] = value;
SEXTETS[0x2d] = 62;
SEXTETS[0x5f] = SLASH;
