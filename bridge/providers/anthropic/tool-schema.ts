// Tools as the API takes them. It wants an object at the root of a schema, without `oneOf`, `anyOf` and `allOf` there, and
// the words of JSON Schema 2020-12. What a rewriting loses is said in the description; the engine checks the tool's own schema.
import type { OfferedTool } from '../../../schemas/effect.ts';
import { type Json, type JsonObject, isPlainObject } from '../../../schemas/json.ts';
import { ProviderError } from '../provider.ts';

/** Throws a {@link ProviderError} with the tool and the path when the schema cannot be translated. */
export function messagesTool({ tool_name, description, input_schema }: OfferedTool): JsonObject {
  const context = { tool: tool_name, defs: input_schema };
  const { schema, lost } = rootOf(modern(input_schema, '', context) as JsonObject, context);
  checkKeys(schema, context);
  const said = [description.trim(), lost].filter((part) => part !== '').join('\n\n');
  return { name: tool_name, ...(said === '' ? {} : { description: said }), input_schema: schema };
}

interface Context {
  readonly tool: string;
  /** The whole schema, which references point into. */
  readonly defs: JsonObject;
}

function refuse({ tool }: Context, path: string, fault: string): never {
  throw new ProviderError(
    'invalid_request',
    `the schema of the tool "${tool}" cannot be sent to this API: at "${path}": ${fault}. Change the schema, or disable the tool`,
  );
}

const UNIONS = ['allOf', 'anyOf', 'oneOf'] as const;
/** The longest constraint that is quoted in a description, in characters. */
const QUOTED_CHARS_MAX = 4_096;
const REFERENCES_MAX = 16;

/** The schema with an object at its root; `lost`: what it no longer says. */
function rootOf(schema: JsonObject, context: Context): { readonly schema: JsonObject; readonly lost: string } {
  const used = UNIONS.filter((word) => schema[word] !== undefined);
  if (used.length === 0 && schema['$ref'] === undefined) return { schema: asObject(schema, '', context), lost: '' };
  const lost = JSON.stringify(Object.fromEntries(used.map((word) => [word, schema[word] as Json])));
  const { properties, required, ...flat } = flattened(schema, '', context, 0);
  const names = [...required];
  const { required: _required, properties: _properties, $ref: _ref, ...own } = schema;
  for (const word of UNIONS) delete (own as Record<string, Json>)[word];
  const root = { ...own, ...flat, type: 'object', properties, ...(names.length === 0 ? {} : { required: names }) };
  const quoted = used.length > 0 && lost.length <= QUOTED_CHARS_MAX;
  return { schema: root, lost: quoted ? `The arguments must also match this JSON Schema: ${lost}` : '' };
}

function asObject(schema: JsonObject, path: string, context: Context): JsonObject {
  const { type } = schema;
  if (type === 'object') return schema;
  if (type !== undefined && !(Array.isArray(type) && type.includes('object'))) {
    refuse(context, `${path}/type`, `the arguments of a call are an object, not ${JSON.stringify(type)}`);
  }
  return { ...schema, type: 'object' };
}

interface Flat {
  readonly properties: JsonObject;
  readonly required: readonly string[];
}

/** The properties that any branch has, and those that every one requires. */
function flattened(given: JsonObject, path: string, context: Context, depth: number): Flat {
  if (depth > REFERENCES_MAX) refuse(context, path, 'references and branches are nested too deeply');
  const schema = asObject(resolved(given, path, context), path, context);
  let flat: Flat = { properties: objectOf(schema['properties']), required: namesOf(schema['required']) };
  for (const word of UNIONS) {
    if (schema[word] === undefined) continue;
    const branches = branchesOf(schema[word], `${path}/${word}`, context, depth);
    flat = word === 'allOf' ? branches.reduce(both, flat) : both(flat, branches.reduce(either));
  }
  return flat;
}

// Arguments are an object, so that a branch for anything else never matches; `true` matches every one.
function branchesOf(value: Json, path: string, context: Context, depth: number): readonly Flat[] {
  const branches: Flat[] = [];
  for (const [index, branch] of (Array.isArray(value) ? (value as readonly Json[]) : []).entries()) {
    if (branch === true) branches.push({ properties: {}, required: [] });
    else if (isPlainObject(branch) && mayBeObject(branch['type'])) {
      branches.push(flattened(branch, `${path}/${index}`, context, depth + 1));
    }
  }
  return branches.length > 0 ? branches : refuse(context, path, 'no branch takes an object');
}

const mayBeObject = (type: Json | undefined): boolean =>
  type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));

const both = (a: Flat, b: Flat): Flat => ({
  properties: merged(a.properties, b.properties, 'allOf'),
  required: [...new Set([...a.required, ...b.required])],
});

const either = (a: Flat, b: Flat): Flat => ({
  properties: merged(a.properties, b.properties, 'anyOf'),
  required: a.required.filter((name) => b.required.includes(name)),
});

/** A property that both sides name is described by both; below the root, the API takes a union. */
function merged(a: JsonObject, b: JsonObject, word: 'allOf' | 'anyOf'): JsonObject {
  const properties: Record<string, Json> = { ...a };
  for (const [name, schema] of Object.entries(b)) {
    const known = a[name];
    const same = known === undefined || JSON.stringify(known) === JSON.stringify(schema);
    properties[name] = same ? schema : { [word]: [known, schema] };
  }
  return properties;
}

/** The schema that a local reference names, with what stands beside the reference. */
function resolved(schema: JsonObject, path: string, context: Context): JsonObject {
  let result = schema;
  for (let count = 0; typeof result['$ref'] === 'string'; count += 1) {
    const { $ref: ref, ...beside } = result;
    const target = count < REFERENCES_MAX ? pointedAt(ref, context.defs) : undefined;
    if (!isPlainObject(target)) refuse(context, `${path}/$ref`, `${JSON.stringify(ref)} names no object schema in it`);
    result = { ...(modern(target, path, context) as JsonObject), ...beside };
  }
  return result;
}

/** RFC 6901, as the fragment of a URI. */
function pointedAt(ref: string, root: JsonObject): Json | undefined {
  if (ref !== '#' && !ref.startsWith('#/')) return undefined;
  let value: Json | undefined = root;
  for (const token of ref.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    value = isPlainObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

// The API takes these names of properties only, and arguments cannot be renamed on their way back.
const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

function checkKeys(schema: JsonObject, context: Context): void {
  for (const key of Object.keys(objectOf(schema['properties']))) {
    if (!KEY.test(key)) refuse(context, `/properties/${escaped(key)}`, `the name must match ${KEY.source}`);
  }
}

const SCHEMA_KEYS = new Set([
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
]);
const LIST_KEYS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const MAP_KEYS = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties']);
const NUMBERED_TYPES = ['unspecified', 'string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const;
const TYPES: ReadonlySet<string> = new Set(NUMBERED_TYPES.slice(1));

/** Words of older drafts in those of 2020-12, everywhere in the schema. */
function modern(schema: Json, path: string, context: Context): Json {
  if (!isPlainObject(schema)) return schema;
  const result: Record<string, Json> = {};
  for (const [key, value] of Object.entries(schema)) {
    const at = `${path}/${escaped(key)}`;
    if (LIST_KEYS.has(key) && Array.isArray(value)) result[key] = modernList(value as readonly Json[], at, context);
    else if (MAP_KEYS.has(key) && isPlainObject(value)) result[key] = modernMap(value, at, context);
    else if (key === 'type') result[key] = typeOf(value, at, context);
    else if (key === '$schema' || (key === 'required' && !Array.isArray(value))) continue;
    else result[key] = SCHEMA_KEYS.has(key) && !Array.isArray(value) ? modern(value, at, context) : value;
  }
  const tuple = schema['items'];
  if (Array.isArray(tuple)) {
    const { additionalItems, items: _items, ...rest } = result;
    const more = additionalItems === undefined ? {} : { items: modern(additionalItems, path, context) };
    return {
      ...withBounds(rest),
      prefixItems: modernList(tuple as readonly Json[], `${path}/items`, context),
      ...more,
    };
  }
  return withBounds(result);
}

const modernList = (schemas: readonly Json[], path: string, context: Context): Json =>
  schemas.map((schema, index) => modern(schema, `${path}/${index}`, context));

const modernMap = (schemas: JsonObject, path: string, context: Context): Json =>
  Object.fromEntries(
    Object.entries(schemas).map(([key, schema]) => [key, modern(schema, `${path}/${escaped(key)}`, context)]),
  );

/** Gemini's generators write the types in capitals, or as the numbers of their enumeration. */
function typeOf(value: Json, path: string, context: Context): Json {
  if (Array.isArray(value)) return value.map((entry, index) => typeOf(entry as Json, `${path}/${index}`, context));
  const type = typeof value === 'number' ? NUMBERED_TYPES[value] : typeof value === 'string' ? value.toLowerCase() : '';
  return type !== undefined && TYPES.has(type)
    ? type
    : refuse(context, path, `${JSON.stringify(value)} is no type of JSON Schema`);
}

/** In draft 4 an exclusive bound is a boolean beside the bound. */
function withBounds(schema: Record<string, Json>): JsonObject {
  const result = { ...schema };
  for (const [bound, word] of BOUNDS) {
    if (typeof result[word] !== 'boolean') continue;
    if (result[word] && typeof result[bound] === 'number') {
      result[word] = result[bound];
      delete result[bound];
    } else delete result[word];
  }
  return result;
}

const BOUNDS = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
] as const;

const objectOf = (value: Json | undefined): JsonObject => (isPlainObject(value) ? value : {});
const namesOf = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((name): name is string => typeof name === 'string') : [];
const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
