// Linear passes over JSON text before it is parsed. `JSON.parse` takes seconds over deep nesting and silently keeps the
// last of two equal keys. A quick pass bounds the nesting and counts the keys: when the parsed value has fewer keys, one
// was given twice. A slow pass finds what is wrong and where. Neither checks the grammar; the parser does.
import { JSON_DEPTH_MAX, JSON_NODES_MAX } from '../limits.ts';
import { pointerSegment, type Rejection, reject } from '../rejection.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;

/** An open container: the keys so far and the last one in an object, the index in an array. */
interface Frame {
  readonly keys: Set<string> | null;
  at: string | number;
}

/**
 * The number of keys in the text; null when {@link scanJson} must check the text before it is parsed. In JSON there are no
 * more keys than commas and opening brackets, so `marksMax` bounds them too: other text may have more.
 */
export function countKeys(text: string, marksMax: number): number | null {
  let depth = 0;
  let values = 0;
  let opened = 0;
  let keys = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = stringEnd(text, index) - 1;
    else if (code === COLON) {
      keys += 1;
      if (keys > marksMax) return null;
    } else if (code === COMMA) {
      values += 1;
      if (values + opened > marksMax) return null;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      opened += 1;
      if (depth > JSON_DEPTH_MAX || values + opened > marksMax) return null;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
  }
  return values > JSON_NODES_MAX ? null : keys;
}

/** The commas and opening brackets of JSON text, as a reader of requests counts them. */
export const countMarks = (text: string): number => measureJson(text).marks;

/** The commas and opening brackets of JSON text, and how deep it is nested. Stops at the mark above `marksMax`. */
export function measureJson(text: string, marksMax = Infinity): { readonly marks: number; readonly depth: number } {
  let marks = 0;
  let open = 0;
  let depth = 0;
  for (let index = 0; index < text.length && marks <= marksMax; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = stringEnd(text, index) - 1;
    else if (code === COMMA) marks += 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      marks += 1;
      open += 1;
      if (open > depth) depth = open;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) open -= 1;
  }
  return { marks, depth };
}

/**
 * Null when the text may be parsed, else a rejection `too_deep`, `too_large` or `duplicate_key`. `marksMax`: most commas and
 * opening brackets, which are at least as many as half of the values.
 */
export function scanJson(text: string, marksMax = Infinity): Rejection | null {
  const open: Frame[] = [];
  let values = 0;
  let opened = 0;
  let keys = 0;
  let index = 0;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    const frame = open.at(-1);
    if (code === QUOTE) {
      const end = stringEnd(text, index);
      const repeated = repeatsKey(frame, text, index, end);
      if (repeated) return reject('duplicate_key', pathOf(open), 'the object has this key twice; remove one');
      index = end;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      opened += 1;
      open.push(code === OPEN_BRACE ? { keys: new Set(), at: '' } : { keys: null, at: 0 });
      if (open.length > JSON_DEPTH_MAX) return reject('too_deep', '', tooDeep);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      open.pop();
    } else if (code === COMMA) {
      values += 1;
      if (values > JSON_NODES_MAX) return reject('too_large', '', tooManyValues);
      nextItem(frame);
    } else if (code === COLON) keys += 1;
    if (values + opened > marksMax || keys > marksMax) return reject('too_large', '', tooManyMarks(marksMax));
    index += 1;
  }
  return null;
}

export const tooDeep = `the JSON is nested deeper than ${JSON_DEPTH_MAX} levels; flatten it`;
export const tooManyValues = `the JSON has more than ${JSON_NODES_MAX} values; send less`;

export const tooManyMarks = (most: number): string =>
  `the JSON has more than ${most} commas and brackets; send fewer values at a time, and large data as blobs`;

/** Whether the string from `index` to `end` is a key that its object has already. */
const repeatsKey = (frame: Frame | undefined, text: string, index: number, end: number): boolean =>
  frame !== undefined && frame.keys !== null && isKey(text, end) && takeKey(frame, unescape(text.slice(index, end)));

/** Notes that the next item of an array begins. */
function nextItem(frame: Frame | undefined): void {
  if (frame !== undefined && typeof frame.at === 'number') frame.at += 1;
}

/** Adds the key to an object; true when it has this key already. */
function takeKey(frame: Frame, key: string): boolean {
  if (frame.keys === null) return false;
  frame.at = key;
  if (frame.keys.has(key)) return true;
  frame.keys.add(key);
  return false;
}

const pathOf = (open: readonly Frame[]): string => open.map(({ at }) => pointerSegment(at)).join('');

function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (end - 1 - backslashes > start && text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

function isKey(text: string, end: number): boolean {
  let index = end;
  while (index < text.length && ' \t\n\r'.includes(text[index] ?? '')) index += 1;
  return text.charCodeAt(index) === COLON;
}

// "a" and "\u0061" are the same key.
function unescape(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}
