// The JSON Schemas of codecs as components of one document: each shape that has a name stands there once, and is referred to.
import { type Json, type JsonObject, isPlainObject } from '../../../schemas/json.ts';
import { invariant } from '../../../schemas/rejection.ts';

export interface Components {
  /** The schema of what a codec accepts, with references to the components. */
  schemaOf(codec: { readonly jsonSchema: JsonObject }): JsonObject;
  /** All that were referred to, by name. */
  all(): JsonObject;
}

/** What a component may be called (OpenAPI 3.1.1, section 4.8.7). */
const NAME = /^[A-Za-z0-9._-]+$/;

export function newComponents(): Components {
  const named = new Map<string, { readonly source: JsonObject; readonly schema: JsonObject }>();
  // One codec is in many others.
  const known = new WeakMap<object, JsonObject>();

  /** The name of a shape: its title, after that of the shape around it when another shape has the same title. */
  function nameOf(title: string, source: JsonObject, owner: string): string {
    const free = [title, `${owner}.${title}`].find((name) => isSame(named.get(name)?.source ?? source, source));
    invariant(free !== undefined, `three shapes are called ${title}; rename one`);
    return free;
  }

  function written(schema: JsonObject, owner: string): JsonObject {
    const made = known.get(schema);
    if (made !== undefined) return made;
    const { title } = schema;
    if (typeof title !== 'string' || !NAME.test(title)) return within(schema, owner);
    const name = nameOf(title, schema, owner);
    if (!named.has(name)) {
      named.set(name, { source: schema, schema: {} });
      named.set(name, { source: schema, schema: within(schema, name) });
    }
    const reference = { $ref: `#/components/schemas/${name}` };
    known.set(schema, reference);
    return reference;
  }

  /** Schemas are below these keywords; below any other, such as `enum`, are values. */
  function within(schema: JsonObject, owner: string): JsonObject {
    const entries = Object.entries(schema).map(([key, value]): readonly [string, Json] => {
      if (MANY.has(key) && Array.isArray(value)) return [key, value.map((one) => part(one, owner))];
      if (BY_NAME.has(key) && isPlainObject(value)) {
        return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, part(one, owner)]))];
      }
      return [key, ONE.has(key) ? part(value, owner) : value];
    });
    return Object.fromEntries(entries);
  }

  const part = (schema: Json, owner: string): Json => (isPlainObject(schema) ? written(schema, owner) : schema);

  return {
    schemaOf: ({ jsonSchema }) => written(jsonSchema, 'Anonymous'),
    all: () =>
      Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, { schema }]) => [name, schema])),
  };
}

/** Most parts are compared with themselves: a codec that is made twice has two schemas, whose parts are mostly shared. */
function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => isSame((a as JsonObject)[key], (b as JsonObject)[key]))
  );
}

const ONE: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'propertyNames', 'not']);
const MANY: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);
const BY_NAME: ReadonlySet<string> = new Set(['properties']);
