// How tools spell one character when they print it: literally, escaped (JSON, JSON in JSON, shells, C), percent-encoded or
// as an HTML entity. Each spelling is bounded in length, so that a match takes time in proportion to the secret.

/** The match fails at this byte. */
export const NO = -1;
/** The bytes end before the match is decided. */
export const OPEN = -2;

/** One character of a secret. */
export interface Character {
  readonly code: number;
  readonly utf8: Uint8Array;
}

/** Longest spelling of one UTF-16 unit of a secret, with what may stand before it, in bytes. */
export const SPELLING_BYTES_MAX = 40;

/** Backslashes that may stand before a character: three levels of JSON in JSON write one as eight. */
const BACKSLASHES_MAX = 8;
/** `&amp;amp;lt;`, `%252525`: how often the first character of a spelling may be spelled in its own way. */
const NESTED_MAX = 3;

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * What the last successful {@link readEscape} read: a byte of UTF-8, or a number that is a UTF-16 unit or a code point. An
 * object for each escape would cost more than the rest of the search.
 */
export const escape = { value: 0, isByte: false };

/** The end of the character that is spelled literally at `at`, or NO or OPEN. */
export function matchLiteral(bytes: Uint8Array, at: number, { code, utf8 }: Character): number {
  for (let index = 0; index < utf8.length; index += 1) {
    if (at + index >= bytes.length) return OPEN;
    if (bytes[at + index] !== utf8[index]) return matchOtherForm(bytes, at, code);
  }
  return at + utf8.length;
}

/** A form field writes a space as `+`; a line end may be CRLF. */
function matchOtherForm(bytes: Uint8Array, at: number, code: number): number {
  if (code === 0x20 && bytes[at] === 0x2b) return at + 1;
  if (code !== LINE_FEED || bytes[at] !== CARRIAGE_RETURN) return NO;
  return at + 1 >= bytes.length ? OPEN : bytes[at + 1] === LINE_FEED ? at + 2 : NO;
}

export const isEscapeLead = (byte: number | undefined): boolean =>
  byte === BACKSLASH || byte === PERCENT || byte === AMPERSAND;

/**
 * Every end that the character can have where an escape may begin. A percent sign may be a percent sign or begin `%25`; of
 * `\\u0075` the backslash may escape the letter u, or be the beginning of the escape of another.
 */
export function possibleEnds(bytes: Uint8Array, at: number, character: Character, isFirst: boolean): readonly number[] {
  const ends = [matchLiteral(bytes, at, character)];
  const lead = bytes[at];
  if (lead === BACKSLASH && !isFirst) {
    const after = afterBackslashes(bytes, at);
    ends.push(after >= bytes.length ? OPEN : matchLiteral(bytes, after, character));
  }
  const end = readEscape(bytes, at);
  if (end < 0) ends.push(end);
  else ends.push(escape.isByte ? matchBytes(bytes, end, character.utf8) : matchUnits(bytes, end, character.code));
  if (character.code === lead || character.code === AMPERSAND) ends.push(...nestedLeads(bytes, at, character.code));
  return ends;
}

/** The ends of `%25`, `%2525` and of `&amp;`, `&amp;amp;`, `\\u0026` as the character that begins them. */
function nestedLeads(bytes: Uint8Array, at: number, code: number): readonly number[] {
  let end = at + 1;
  if (bytes[at] === BACKSLASH) {
    const after = afterBackslashes(bytes, at);
    end = bytes[after] === 0x75 ? readHex(bytes, after + 1, 4, false) : NO;
    if (end < 0 || escape.value !== code) return [end < 0 ? end : NO];
  } else if (bytes[at] !== code) return [];
  const ends: number[] = bytes[at] === BACKSLASH ? [end] : [];
  for (let times = 0; times < NESTED_MAX && end >= 0; times += 1) {
    end = afterText(bytes, end, code === PERCENT ? TWENTY_FIVE : AMP);
    ends.push(end);
  }
  return ends;
}

function matchBytes(bytes: Uint8Array, firstEnd: number, utf8: Uint8Array): number {
  if (escape.value !== utf8[0]) return NO;
  let end = firstEnd;
  for (let index = 1; index < utf8.length; index += 1) {
    end = readEscape(bytes, end);
    if (end < 0) return end;
    if (!escape.isByte || escape.value !== utf8[index]) return NO;
  }
  return end;
}

function matchUnits(bytes: Uint8Array, firstEnd: number, code: number): number {
  if (escape.value === code) return firstEnd;
  if (code < 0x1_0000) return NO;
  const units = String.fromCodePoint(code);
  if (escape.value !== units.charCodeAt(0)) return NO;
  const end = readEscape(bytes, firstEnd);
  return end < 0 || escape.value === units.charCodeAt(1) ? end : NO;
}

/** The end of the escape at `at`, which {@link escape} then holds; NO where there is none. */
export function readEscape(bytes: Uint8Array, at: number): number {
  if (at >= bytes.length) return OPEN;
  if (bytes[at] === BACKSLASH) return readBackslash(bytes, at);
  if (bytes[at] === PERCENT) return readHex(bytes, afterRepeats(bytes, at + 1, TWENTY_FIVE), 2, true);
  return bytes[at] === AMPERSAND ? readEntity(bytes, at + 1) : NO;
}

function readBackslash(bytes: Uint8Array, at: number): number {
  const after = afterBackslashes(bytes, at);
  const letter = bytes[after];
  if (letter === undefined) return OPEN;
  const control = CONTROLS[letter] as number;
  if (control !== 0) return escaped(control, false, after + 1);
  if (letter === 0x78) return readHex(bytes, after + 1, 2, true);
  if (letter === 0x75) {
    const end = readHex(bytes, after + 1, 4, false);
    return end >= 0 && escape.value === AMPERSAND ? entityOrUnit(bytes, end) : end;
  }
  if (letter >= 0x30 && letter <= 0x37) return readOctal(bytes, after);
  return letter < 0x80 && !isLetterOrDigit(letter) && letter !== BACKSLASH ? escaped(letter, false, after + 1) : NO;
}

function escaped(value: number, isByte: boolean, end: number): number {
  escape.value = value;
  escape.isByte = isByte;
  return end;
}

/** `\u0026lt;`: some JSON encoders escape the ampersand of an entity. */
function entityOrUnit(bytes: Uint8Array, end: number): number {
  const entity = readEntity(bytes, end);
  return entity === NO ? escaped(AMPERSAND, false, end) : entity;
}

function readEntity(bytes: Uint8Array, start: number): number {
  const at = afterRepeats(bytes, start, AMP);
  const end = bytes[at] === 0x23 ? readNumber(bytes, at + 1) : readName(bytes, at);
  // `&amp;` that names no further entity is an ampersand.
  return end === NO && at > start ? escaped(AMPERSAND, false, at) : end;
}

function readName(bytes: Uint8Array, at: number): number {
  for (const { name, value } of ENTITIES) {
    const end = afterText(bytes, at, name);
    if (end === OPEN) return OPEN;
    if (end !== NO) return escaped(value, false, end);
  }
  return NO;
}

/** The digits of `&#47;` or `&#x2f;`, at most `ENTITY_DIGITS_MAX`. */
function readNumber(bytes: Uint8Array, start: number): number {
  const hex = ((bytes[start] ?? 0) | 0x20) === 0x78;
  const first = hex ? start + 1 : start;
  let value = 0;
  for (let at = first; at - first <= ENTITY_DIGITS_MAX; at += 1) {
    if (at >= bytes.length) return OPEN;
    if (bytes[at] === SEMICOLON) return at === first ? NO : escaped(value, false, at + 1);
    const digit = hexDigit(bytes[at] as number);
    if (digit === NO || (!hex && digit > 9)) return NO;
    value = value * (hex ? 16 : 10) + digit;
  }
  return NO;
}

const ENTITY_DIGITS_MAX = 8;
const SEMICOLON = 0x3b;

function readHex(bytes: Uint8Array, at: number, digits: number, isByte: boolean): number {
  let value = 0;
  for (let index = 0; index < digits; index += 1) {
    if (at + index >= bytes.length) return OPEN;
    const digit = hexDigit(bytes[at + index] as number);
    if (digit === NO) return NO;
    value = value * 16 + digit;
  }
  return escaped(value, isByte, at + digits);
}

function readOctal(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let index = 0; index < 3; index += 1) {
    const digit = bytes[at + index];
    if (digit === undefined) return OPEN;
    if (digit < 0x30 || digit > 0x37) return NO;
    value = value * 8 + digit - 0x30;
  }
  return escaped(value, true, at + 3);
}

export function afterBackslashes(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end - at < BACKSLASHES_MAX && bytes[end] === BACKSLASH) end += 1;
  return end;
}

function afterRepeats(bytes: Uint8Array, start: number, text: Uint8Array): number {
  let at = start;
  for (let times = 0; times < NESTED_MAX; times += 1) {
    const end = afterText(bytes, at, text);
    if (end < 0) break;
    at = end;
  }
  return at;
}

function afterText(bytes: Uint8Array, at: number, text: Uint8Array): number {
  for (let index = 0; index < text.length; index += 1) {
    if (at + index >= bytes.length) return OPEN;
    if (bytes[at + index] !== text[index]) return NO;
  }
  return at + text.length;
}

export function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : NO;
}

const isLetterOrDigit = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a);

const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const TWENTY_FIVE = bytesOf('25');
const AMP = bytesOf('amp;');
/** For each letter after a backslash, the control character that it stands for, or 0. */
const CONTROLS: Uint8Array = new Uint8Array(256);
for (const [index, letter] of Buffer.from('nrtbfv').entries()) CONTROLS[letter] = '\n\r\t\b\f\v'.charCodeAt(index);
const ENTITIES = Object.entries({ 'lt;': '<', 'gt;': '>', 'quot;': '"', 'apos;': "'", 'nbsp;': '\u00a0' }).map(
  ([name, text]) => ({ name: bytesOf(name), value: text.charCodeAt(0) }),
);
