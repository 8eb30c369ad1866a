// Results as the record keeps them: a text that is no JSON stands for itself, anything else is JSON. So a text is read back
// as a text, and a value as a value, from what the model reads alone.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Json, checkJson } from '../../schemas/index.ts';

/** Throws a TypeError for what is no JSON. Dates and the like become what `JSON.stringify` makes of them. */
export function textOfResult(value: unknown): string {
  if (typeof value === 'string') {
    const text = value.toWellFormed();
    return text === '' || isJsonText(text) ? JSON.stringify(text) : text;
  }
  const text = JSON.stringify(value ?? null) as string | undefined;
  const checked = text === undefined ? null : checkJson(JSON.parse(text));
  if (checked !== null && !isLeft(checked)) return JSON.stringify(checked.right);
  const why = checked === null ? `is a ${typeof value}` : `at "${checked.left.path}" ${checked.left.message}`;
  throw new TypeError(`the tool ran, and its result is no JSON: it ${why}. It may have had its effect`);
}

/** The value of a recorded text. */
export function resultOfText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
