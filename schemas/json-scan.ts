// A single linear pass over JSON text before it is parsed. `JSON.parse` takes seconds over deep nesting and keeps
// the last of two equal keys without a word; this pass refuses both first. It does not judge grammar: that is the
// parser's work afterwards.
import { JSON_DEPTH_MAX, JSON_NODES_MAX } from './limits.ts';
import { type Rejection, reject } from './rejection.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;

/** Null when the text may be parsed, else the rejection: `too_deep`, `too_large` or `duplicate_key`. */
export function scanJson(text: string): Rejection | null {
  // One entry per open container: the keys seen so far in an object, null in an array.
  const open: (Set<string> | null)[] = [];
  let values = 0;
  let index = 0;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      const end = stringEnd(text, index);
      const keys = open.at(-1) ?? null;
      if (keys !== null && isKey(text, end)) {
        const key = unescape(text.slice(index, end));
        if (keys.has(key)) return reject('duplicate_key', '', `the key ${JSON.stringify(key)} is given twice`);
        keys.add(key);
      }
      index = end;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      open.push(code === OPEN_BRACE ? new Set() : null);
      if (open.length > JSON_DEPTH_MAX) return reject('too_deep', '', `nested deeper than ${JSON_DEPTH_MAX}`);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      open.pop();
    } else if (code === COMMA) {
      values += 1;
      if (values > JSON_NODES_MAX) return reject('too_large', '', `more than ${JSON_NODES_MAX} values`);
    }
    index += 1;
  }
  return null;
}

function stringEnd(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === BACKSLASH) index += 2;
    else if (code === QUOTE) return index + 1;
    else index += 1;
  }
  return text.length;
}

function isKey(text: string, end: number): boolean {
  let index = end;
  while (index < text.length && ' \t\n\r'.includes(text[index] ?? '')) index += 1;
  return text.charCodeAt(index) === COLON;
}

// Two spellings of one key ("a" and "\u0061") are one key.
function unescape(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}
