// Whether two values of a record are the same.
import { canonicalText } from '../../schemas/index.ts';

/** Absent counts as null. */
export const isSame = (a: unknown, b: unknown): boolean =>
  canonicalText({ value: (a ?? null) as never }) === canonicalText({ value: (b ?? null) as never });
