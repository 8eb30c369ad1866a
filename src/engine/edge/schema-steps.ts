// Counts what a check costs before it is made. A schema without references is visited at most once at each place of the
// value, so that a check takes at most the values of the schema times those of the value.
import { type Json, isPlainObject } from '../../../schemas/json.ts';

/** Keywords whose cost does not follow from the sizes: patterns, references, comparisons of all pairs. */
const UNCOUNTED: ReadonlySet<string> = new Set([
  'pattern',
  'patternProperties',
  'uniqueItems',
  'unevaluatedItems',
  'unevaluatedProperties',
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
]);

/** Keywords whose value is an object of named schemas. */
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);

/** Whether the steps of a check against this schema can be counted. */
export function isCountable(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.every(isCountable);
  if (!isPlainObject(schema)) return true;
  return Object.entries(schema).every(([name, part]) => {
    if (UNCOUNTED.has(name)) return false;
    return NAMED.has(name) && isPlainObject(part) ? Object.values(part).every(isCountable) : isCountable(part);
  });
}

/** So many characters cost as much as one value. */
const CHARS_PER_VALUE = 16;

/** The values in a JSON value, long text counted as several; counting stops beyond `most`. */
export function valuesIn(root: Json, most: number): number {
  let count = 0;
  function visit(value: Json): void {
    count += 1;
    if (count > most) return;
    if (typeof value === 'string') count += Math.floor(value.length / CHARS_PER_VALUE);
    else if (Array.isArray(value)) for (const item of value) visit(item as Json);
    else if (isPlainObject(value)) {
      for (const key of Object.keys(value)) {
        count += Math.floor(key.length / CHARS_PER_VALUE);
        visit(value[key] as Json);
      }
    }
  }
  visit(root);
  return count;
}
