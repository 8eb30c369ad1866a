// Inputs for tests of limits.
import type { Json } from '../../../schemas/json.ts';

export { ZERO_DIGEST } from '../session.ts';

/** `depth` nested objects. */
export function nested(depth: number): Json {
  let value: Json = {};
  for (let level = 1; level < depth; level += 1) value = { a: value };
  return value;
}
