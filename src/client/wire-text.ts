// What a request looks like on the wire. Both clients pass through here, so that one that stays in its process is
// refused in the same words, and keeps its own objects to itself.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { checkJson } from '../../schemas/json.ts';
import { BODY_BYTES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';

export interface WireText {
  readonly text: string;
  readonly bytes: number;
}

const taken = new WeakMap<object, number>();

/** Says of a value that was just read from so many bytes of JSON that nobody else has it: it is taken as it is. */
export function ownWire<T>(value: T, bytes: number): T {
  if (typeof value === 'object' && value !== null) taken.set(value, bytes);
  return value;
}

/** The bytes of a value of {@link ownWire}; undefined for any other. */
export const ownWireBytes = (value: unknown): number | undefined =>
  typeof value === 'object' && value !== null ? taken.get(value) : undefined;

/** The JSON text of a request (`null` for none): `invalid_value` or `too_deep` with the path, or `too_large`. */
export function wireText(request: unknown): Either<Rejection, WireText> {
  const checked = checkJson(request ?? null);
  if (isLeft(checked)) return checked;
  const text = JSON.stringify(checked.right);
  const bytes = Buffer.byteLength(text);
  if (bytes <= BODY_BYTES_MAX) return right({ text, bytes });
  return left(reject('too_large', '', `the request has ${bytes} bytes; at most ${BODY_BYTES_MAX} are taken`));
}
