// Fields that say nothing.
import { type ExactJson, RawJson } from '../api/exact-json.ts';

/** Null, an empty text or list, or an object of blank fields, zeros and `false`: servers write them where they have nothing to say. */
export function isBlank(value: ExactJson | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (typeof value !== 'object' || value instanceof RawJson) return false;
  if (Array.isArray(value)) return value.length === 0;
  return Object.values(value).every((field) => field === 0 || field === false || isBlank(field as ExactJson));
}
