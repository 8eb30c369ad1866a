// Writes long JSON values without holding the event loop: a long string in slices, and small values one after another.
import type { Json } from '../../../schemas/json.ts';
import { STREAM_SLICE_BYTES } from '../../../schemas/limits.ts';
import type { Steps } from '../../../src/core/steps.ts';
import { charsOf } from '../../secrets/redact-value.ts';
import { type ExactJson, type ExactObject, RawJson, exactText, holdsRaw } from './exact-json.ts';

/** What was written since the last step. Values that are written one after another share one. */
export interface Written {
  chars: number;
}

/** What `exactText` gives and throws for the value. A small one is written in one step, unless much was written before it. */
export function* textSteps(
  value: ExactJson,
  written: Written = { chars: 0 },
  slice = STREAM_SLICE_BYTES,
): Steps<string> {
  if (charsOf(value as Json, slice) <= slice) return yield* atOnce(value, { written, slice });
  // Throws when the value is too deep for what follows.
  holdsRaw(value);
  yield;
  return (yield* pieces(value, { written, slice })).join('');
}

interface Writing {
  readonly written: Written;
  /** The most characters of a step. */
  readonly slice: number;
}

function* atOnce(value: ExactJson, { written, slice }: Writing): Steps<string> {
  const text = exactText(value);
  written.chars += text.length;
  if (written.chars > slice) {
    written.chars = 0;
    yield;
  }
  return text;
}

/** The text of a value in pieces. */
function* pieces(value: ExactJson, writing: Writing): Steps<string[]> {
  if (charsOf(value as Json, writing.slice) <= writing.slice || value instanceof RawJson) {
    return [yield* atOnce(value, writing)];
  }
  if (typeof value === 'string') return yield* stringPieces(value, writing);
  const parts: string[] = [];
  const isList = Array.isArray(value);
  for (const [key, field] of Object.entries(value as ExactObject)) {
    // As in `exactText`.
    if (field === undefined) continue;
    parts.push(parts.length === 0 ? '' : ',');
    if (!isList) parts.push(...(yield* pieces(key, writing)), ':');
    for (const part of yield* pieces(field, writing)) parts.push(part);
  }
  return isList ? ['[', ...parts, ']'] : ['{', ...parts, '}'];
}

function* stringPieces(text: string, writing: Writing): Steps<string[]> {
  const parts: string[] = ['"'];
  for (let at = 0; at < text.length;) {
    const end = pairBorder(text, Math.min(text.length, at + writing.slice));
    parts.push((yield* atOnce(text.slice(at, end), writing)).slice(1, -1));
    at = end;
  }
  parts.push('"');
  return parts;
}

/** `end`, or one less where it would divide a surrogate pair: each half of one is written as an escape. */
const pairBorder = (text: string, end: number): number =>
  end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
