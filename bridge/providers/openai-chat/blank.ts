// Fields that say nothing.
import { type ExactJson, type ExactObject, RawJson } from '../api/exact-json.ts';

/** Null, an empty text or list, or an object of blank fields, zeros and `false`: servers write them where they have nothing to say. */
export function isBlank(value: ExactJson | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (typeof value !== 'object' || value instanceof RawJson) return false;
  if (Array.isArray(value)) return value.length === 0;
  return Object.values(value).every((field) => field === 0 || field === false || isBlank(field as ExactJson));
}

/** The fields that are not among the known ones, and not blank; null when there are none, as in most calls. */
export function furtherFields(fields: ExactObject, known: ReadonlySet<string>): ExactObject | null {
  let further: Record<string, ExactJson> | null = null;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (known.has(name) || value === undefined || isBlank(value)) continue;
    further ??= {};
    further[name] = value;
  }
  return further;
}
