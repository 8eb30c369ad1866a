import type { ExactObject } from '../api/exact-json.ts';

/** A copy of the object without these fields. */
export const withoutFields = (value: ExactObject, names: readonly string[]): ExactObject =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
