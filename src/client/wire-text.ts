// The JSON text of a request. Both clients use it, so that both refuse a request with the same messages.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { countMarks, tooManyMarks } from '../../schemas/json/json-scan.ts';
import { checkJson } from '../../schemas/json.ts';
import { BODY_BYTES_MAX, BODY_VALUES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { platform } from '#client-platform';

export interface WireText {
  readonly text: string;
  readonly bytes: number;
  /** Its commas and opening brackets, which bound its values. */
  readonly marks: number;
}

const unshared = new WeakMap<object, number>();

/** Marks a value that was just parsed from `bytes` bytes of JSON: no other code refers to it, so it need not be copied. */
export function markUnshared<T>(value: T, bytes: number): T {
  if (typeof value === 'object' && value !== null) unshared.set(value, bytes);
  return value;
}

/** The size of a value that {@link markUnshared} marked; undefined for any other value. */
export const unsharedBytes = (value: unknown): number | undefined =>
  typeof value === 'object' && value !== null ? unshared.get(value) : undefined;

/** The JSON text of a request (`null` for none): `invalid_value` or `too_deep` with the path, or `too_large`. */
export function wireText(request: unknown): Either<Rejection, WireText> {
  const checked = checkJson(request ?? null);
  if (isLeft(checked)) return checked;
  const text = JSON.stringify(checked.right);
  const bytes = platform.utf8Length(text);
  if (bytes > BODY_BYTES_MAX) {
    return left(reject('too_large', '', `the request has ${bytes} bytes; the limit is ${BODY_BYTES_MAX}`));
  }
  const marks = countMarks(text);
  return marks > BODY_VALUES_MAX
    ? left(reject('too_large', '', tooManyMarks(BODY_VALUES_MAX)))
    : right({ text, bytes, marks });
}
