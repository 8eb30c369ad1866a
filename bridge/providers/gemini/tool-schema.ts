// A tool's schema as `parametersJsonSchema`. Gemini documents a subset of JSON Schema for it, in which references may not
// have neighbours; README.md lists the rewriting. The engine checks arguments against the tool's own schema all the same.
import { normalisedTypes } from '../../../src/core/json-schema-types.ts';
import type { OfferedTool } from '../../../schemas/effect.ts';
import type { Json, JsonObject } from '../../../schemas/json.ts';
import { ProviderError } from '../provider.ts';

/** Null for a tool without parameters. Throws `invalid_request` with the path of what cannot be translated. */
export function functionParameters({ tool_name, input_schema }: OfferedTool): JsonObject | null {
  const root = normalisedTypes(input_schema);
  const translate = newTranslation(tool_name, root);
  const schema = translate(root, '#', []);
  const type = schema['type'] ?? 'object';
  if (type !== 'object' && !(Array.isArray(type) && (type as readonly Json[]).includes('object'))) {
    throw refusal(tool_name, '#/type', `a function takes an object, but this is ${JSON.stringify(type)}`);
  }
  const { properties, anyOf } = schema;
  const takesNone = (properties === undefined || Object.keys(objectOf(properties)).length === 0) && anyOf === undefined;
  return takesNone && !isObject(schema['additionalProperties']) ? null : { ...schema, type: 'object' };
}

type Translate = (schema: Json, path: string, within: readonly string[]) => JsonObject;

/** Most schemas that references may be written out to. After that, and in a circle, one stands for any value. */
const SCHEMAS_MAX = 2_000;
const KEPT = [
  'title',
  'description',
  'format',
  'default',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'pattern',
  'required',
  'propertyOrdering',
] as const;

function newTranslation(tool: string, root: JsonObject): Translate {
  let schemas = 0;

  const translate: Translate = (schema, path, within) => {
    schemas += 1;
    if (schema === true) return {};
    if (!isObject(schema)) throw refusal(tool, path, `${JSON.stringify(schema)} is no schema`);
    if (typeof schema['$ref'] === 'string') return translateReference(schema, path, within);
    if (Array.isArray(schema['allOf'])) return translateAll(schema, path, within);
    return withTypes(schema, {
      ...pick(schema, KEPT),
      ...propertiesOf(schema, path, within),
      ...itemsOf(schema, path, within),
      ...alternativesOf(schema, path, within),
      ...additionalOf(schema, path, within),
    });
  };

  function translateReference(schema: JsonObject, path: string, within: readonly string[]): JsonObject {
    const { $ref, ...beside } = schema;
    const reference = typeof $ref === 'string' ? $ref : '';
    const target = targetOf(root, reference);
    if (target === undefined) throw refusal(tool, `${path}/$ref`, `${JSON.stringify(reference)} is not in this schema`);
    if (within.includes(reference) || schemas > SCHEMAS_MAX) {
      const own = isObject(target) ? pick(target, ['type', 'title', 'description']) : {};
      return { ...own, ...pick(beside, ['title', 'description']) };
    }
    const written = translate(target, path, [...within, reference]);
    return { ...written, ...translate(beside, path, within) };
  }

  /** One schema with the demands of all: the API ignores `allOf`. */
  function translateAll(schema: JsonObject, path: string, within: readonly string[]): JsonObject {
    const { allOf, ...beside } = schema;
    const members = [...(allOf as readonly Json[]), beside].map((member, index) =>
      translate(member, `${path}/allOf/${index}`, within),
    );
    return members.reduce(bothOf, {});
  }

  function propertiesOf(schema: JsonObject, path: string, within: readonly string[]): JsonObject {
    if (!isObject(schema['properties'])) return {};
    // A property that may not be there (`false`) is not shown.
    const entries = Object.entries(schema['properties']).filter(([, property]) => property !== false);
    const properties = entries.map(
      ([name, property]) => [name, translate(property, `${path}/properties/${pointerOf(name)}`, within)] as const,
    );
    return { properties: Object.fromEntries(properties) };
  }

  function itemsOf(schema: JsonObject, path: string, within: readonly string[]): JsonObject {
    const { items, prefixItems } = schema;
    // A list of items is the tuple of older drafts.
    const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : null;
    return {
      ...(tuple === null ? {} : { prefixItems: members(tuple as readonly Json[], `${path}/prefixItems`, within) }),
      ...(isObject(items) ? { items: translate(items, `${path}/items`, within) } : {}),
    };
  }

  function alternativesOf(schema: JsonObject, path: string, within: readonly string[]): JsonObject {
    const word = Array.isArray(schema['anyOf']) ? 'anyOf' : 'oneOf';
    const alternatives = schema[word];
    if (!Array.isArray(alternatives)) return {};
    const possible = (alternatives as readonly Json[]).filter((alternative) => alternative !== false);
    return { anyOf: members(possible, `${path}/${word}`, within) };
  }

  function additionalOf(schema: JsonObject, path: string, within: readonly string[]): JsonObject {
    const { additionalProperties: more } = schema;
    if (typeof more === 'boolean') return { additionalProperties: more };
    return isObject(more) ? { additionalProperties: translate(more, `${path}/additionalProperties`, within) } : {};
  }

  const members = (list: readonly Json[], path: string, within: readonly string[]): readonly JsonObject[] =>
    list.map((member, index) => translate(member, `${path}/${index}`, within));

  return translate;
}

/** Where two schemas say different things, the second one counts. */
function bothOf(a: JsonObject, b: JsonObject): JsonObject {
  const properties = { ...objectOf(a['properties']), ...objectOf(b['properties']) };
  const required = [...new Set([...listOf(a['required']), ...listOf(b['required'])])];
  return {
    ...a,
    ...b,
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** `type`, `enum` and `const`: the API knows text and numbers in `enum`, and OpenAPI's `nullable` is one more type. */
function withTypes(schema: JsonObject, written: JsonObject): JsonObject {
  const values = valuesOf(schema);
  const types = typesOf(schema, values?.includes(null) === true);
  const shown = (values ?? []).filter((value) => typeof value === 'string' || typeof value === 'number');
  const isWhole = values === null || values.every((value) => value === null || shown.some((each) => each === value));
  const said = isWhole ? null : `One of: ${JSON.stringify(values)}`;
  const description = [written['description'], said].filter((text) => typeof text === 'string').join('\n');
  return {
    ...(types.length === 0 ? {} : { type: types.length === 1 ? (types[0] as Json) : types }),
    ...written,
    ...(isWhole && shown.length > 0 ? { enum: shown } : {}),
    ...(description === '' ? {} : { description }),
  };
}

/** The only values that are allowed; null when the schema does not list them. */
function valuesOf(schema: JsonObject): readonly Json[] | null {
  if (Array.isArray(schema['enum'])) return schema['enum'] as readonly Json[];
  return schema['const'] === undefined ? null : [schema['const']];
}

function typesOf({ type, nullable }: JsonObject, hasNull: boolean): readonly Json[] {
  if (type === undefined) return [];
  const types = Array.isArray(type) ? (type as readonly Json[]) : [type];
  return (nullable === true || hasNull) && !types.includes('null') ? [...types, 'null'] : types;
}

/** What a JSON pointer names within the schema; undefined when it names nothing there. */
function targetOf(root: JsonObject, reference: string): Json | undefined {
  if (!/^#(\/|$)/.test(reference)) return undefined;
  let target: Json | undefined = root;
  for (const segment of reference.split('/').slice(1)) {
    const key = decoded(segment).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return undefined;
    target = (target as JsonObject)[key];
  }
  return target;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const pointerOf = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

function pick(schema: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.flatMap((key) => (schema[key] === undefined ? [] : [[key, schema[key]]])));
}

const refusal = (tool: string, path: string, reason: string): ProviderError =>
  new ProviderError(
    'invalid_request',
    `the schema of the tool ${tool} cannot be written for Gemini: at ${path}, ${reason}; change the schema, or do not offer the tool`,
  );
