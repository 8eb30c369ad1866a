// The types of JSON Schema, where a tool was written with another API's: Gemini's SDKs write `OBJECT`, or `6` of its protocol.
import type { Json, JsonObject } from '../../schemas/json.ts';

/**
 * The schema with JSON Schema's types: names in upper case and Gemini's numbers become `object` and its like, an
 * unspecified type is left out, and bounds that a protocol buffer prints as text (`"maxItems": "3"`) become numbers. Values
 * (`const`, `enum`, `default`, `examples`) stay. The same object when there is nothing to do, so that a digest stays too.
 */
export function normalisedTypes(schema: JsonObject): JsonObject {
  return normalised(schema) as JsonObject;
}

// Type of google.ai.generativelanguage.v1beta and of google.cloud.aiplatform.v1, which agree.
const NUMBERED = [undefined, 'string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const;
const NAMES: ReadonlySet<string> = new Set(NUMBERED.filter((name) => name !== undefined));

const BOUNDS: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'example', 'required']);
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);

function normalised(value: Json): Json {
  if (isList(value)) return mapped(value, normalised);
  if (!isObject(value)) return value;
  return fieldsOf(value, (key, field) => {
    if (key === 'type') return typeOf(field);
    if (VALUES.has(key)) return field;
    if (BOUNDS.has(key)) return typeof field === 'string' && /^[0-9]{1,15}$/.test(field) ? Number(field) : field;
    if (NAMED.has(key) && isObject(field)) return fieldsOf(field, (_name, member) => normalised(member));
    return normalised(field);
  });
}

/** The JSON Schema type; undefined for an unspecified one. An unknown word stays, for the compiler to refuse. */
function typeOf(type: Json): Json | undefined {
  if (isList(type)) return mapped(type, (member) => typeOf(member) ?? member);
  if (typeof type === 'number') return type === 0 ? undefined : (NUMBERED[type] ?? type);
  if (typeof type !== 'string') return type;
  if (type === 'TYPE_UNSPECIFIED') return undefined;
  const name = type.toLowerCase();
  return NAMES.has(name) ? name : type;
}

/** The object with mapped fields, without those that become undefined; itself when none changes. */
function fieldsOf(object: JsonObject, map: (key: string, field: Json) => Json | undefined): JsonObject {
  let changed = false;
  const entries: (readonly [string, Json])[] = [];
  for (const [key, field] of Object.entries(object)) {
    const next = map(key, field);
    changed ||= next !== field;
    if (next !== undefined) entries.push([key, next]);
  }
  return changed ? Object.fromEntries(entries) : object;
}

function mapped(list: readonly Json[], map: (member: Json) => Json): readonly Json[] {
  const members = list.map(map);
  return members.some((member, index) => member !== list[index]) ? members : list;
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const isObject = (value: Json): value is JsonObject => typeof value === 'object' && value !== null && !isList(value);
