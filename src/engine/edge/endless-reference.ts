// Finds schemas that consist of references that lead back to themselves. Every check against one would recurse without end;
// found here, the verdict does not depend on how fast another thread meets that end.
import { type Json, type JsonObject, isPlainObject } from '../../../schemas/json.ts';

/** True when the schema is a reference within itself, and following such references never leads to anything else. */
export function isEndlessReference(schema: JsonObject): boolean {
  const seen = new Set<Json>();
  let at: Json | undefined = schema;
  while (at !== undefined && isReference(at)) {
    if (seen.has(at)) return true;
    seen.add(at);
    at = targetOf(schema, at.$ref);
  }
  return false;
}

interface Reference extends JsonObject {
  readonly $ref: string;
}

/** A schema that checks nothing besides its reference. */
const isReference = (value: Json): value is Reference =>
  isPlainObject(value) && typeof value['$ref'] === 'string' && Object.keys(value).every((key) => PASSIVE.has(key));

const PASSIVE: ReadonlySet<string> = new Set([
  '$ref',
  '$defs',
  'definitions',
  '$schema',
  '$comment',
  'title',
  'description',
]);

/** What a JSON pointer (RFC 6901, section 6) within the schema leads to; undefined for any other reference. */
function targetOf(schema: JsonObject, reference: string): Json | undefined {
  if (reference === '#') return schema;
  if (!/^#(?:\/[\w$]+)+$/.test(reference)) return undefined;
  let at: Json | undefined = schema;
  for (const key of reference.slice(2).split('/')) {
    at = isPlainObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}
