// Replaces secrets in texts and values of any size: other work of the process runs between the slices of a large one.
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { REDACT_SLICE_BYTES } from '../../schemas/limits.ts';
import { breath } from './breath.ts';
import type { Redactor } from './redactor.ts';

/** What {@link Redactor.text} gives; the same text when it holds no secret. */
export async function redactedText(text: string, redactor: Redactor): Promise<string> {
  if (redactor.reach === 0) return text;
  return text.length <= REDACT_SLICE_BYTES ? redactor.text(text) : await inSlices(text, redactor);
}

/** What {@link Redactor.value} gives; the same object when it holds no secret. */
export async function redactedValue<T>(value: T, redactor: Redactor): Promise<T> {
  if (redactor.reach === 0) return value;
  const given = value as Json;
  const isLarge = charsOf(given, REDACT_SLICE_BYTES) > REDACT_SLICE_BYTES;
  return isLarge ? ((await ofJson(given, redactor, { chars: 0 })) as typeof value) : redactor.value(value);
}

/** Slices are compared as they come, so that nothing is kept of a text without secrets. */
async function inSlices(given: string, redactor: Redactor): Promise<string> {
  const text = given.toWellFormed();
  const stream = redactor.newStream();
  const parts: string[] = [];
  /** So many characters came back as they were; null from the first secret on. */
  let same: number | null = 0;
  const show = (shown: string): void => {
    if (same === null) parts.push(shown);
    else if (shown === text.slice(same, same + shown.length)) same += shown.length;
    else {
      parts.push(text.slice(0, same), shown);
      same = null;
    }
  };
  for (let at = 0; at < text.length; at += REDACT_SLICE_BYTES) {
    if (at > 0) await breath();
    show(stream.take(text.slice(at, at + REDACT_SLICE_BYTES)));
  }
  show(stream.end());
  return same === text.length ? given : parts.join('');
}

/** The characters of all texts in the value; it stops counting above `most`. Each value counts as one more. */
export function charsOf(value: Json, most: number): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  let chars = 1;
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) if ((chars += charsOf(item, most - chars)) > most) break;
    return chars;
  }
  if (!isPlainObject(value)) return chars;
  const object: JsonObject = value;
  for (const key of Object.keys(object)) {
    chars += key.length + charsOf(object[key] as Json, most - chars);
    if (chars > most) break;
  }
  return chars;
}

/** What was looked at since the last breath. */
interface Progress {
  chars: number;
}

/** As {@link Redactor.value} does: an object or a list without secrets stays the same one. */
async function ofJson(value: Json, redactor: Redactor, done: Progress): Promise<Json> {
  // A part that is small is done at once.
  const chars = charsOf(value, REDACT_SLICE_BYTES);
  if (chars <= REDACT_SLICE_BYTES) {
    done.chars += chars;
    if (done.chars > REDACT_SLICE_BYTES) {
      done.chars = chars;
      await breath();
    }
    return redactor.value(value);
  }
  if (typeof value === 'string') return await inSlices(value, redactor);
  if (Array.isArray(value)) {
    const items: Json[] = [];
    for (const item of value as readonly Json[]) items.push(await ofJson(item, redactor, done));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const object = value as JsonObject;
  const entries: (readonly [string, Json])[] = [];
  for (const [key, item] of Object.entries(object)) {
    entries.push([await redactedText(key, redactor), await ofJson(item, redactor, done)]);
  }
  return entries.every(([key, item]) => object[key] === item) ? value : Object.fromEntries(entries);
}
