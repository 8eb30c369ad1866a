// Tools as functions. The API takes any JSON Schema of an object when `strict` is off, but for a few forms, which are rewritten:
// the top gets `type: "object"` and `properties`, and its `oneOf`, `anyOf`, `allOf`, `enum`, `const`, `not`, `if`, `then` and `else` move into
// the description; an array without one schema of its items gets `items: {}`. A schema of anything but an object is refused. The engine
// checks the arguments against the tool's own schema, so that a looser one lets nothing through.
import type { OfferedTool } from '../../../schemas/effect.ts';
import type { ExactJson, ExactObject } from '../api/exact-json.ts';
import { exactText, isExactObject, objectIn } from '../api/exact-json.ts';
import { ProviderError } from '../provider.ts';

export function encodeTool({ tool_name, description, input_schema }: OfferedTool): ExactObject {
  const { parameters, note } = parametersOf(tool_name, input_schema);
  const whole = note === null ? description : `${description}\n\n${note}`.trim();
  return {
    type: 'function',
    name: tool_name,
    ...(whole === '' ? {} : { description: whole }),
    parameters,
    strict: false,
  };
}

/** Keywords that the API refuses at the top of a schema. What they ask goes into the description, for the model to read. */
const NOT_AT_TOP = ['oneOf', 'anyOf', 'allOf', 'enum', 'const', 'not', 'if', 'then', 'else'] as const;

function parametersOf(tool: string, schema: ExactObject): { parameters: ExactObject; note: string | null } {
  const { type } = schema;
  const isObject = type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (!isObject) throw untranslatable(tool, '$.type', `is ${exactText(type ?? null)}, not "object"`);
  const rest: Record<string, ExactJson> = { ...schema, type: 'object', properties: objectIn(schema['properties']) };
  const moved: Record<string, ExactJson> = {};
  for (const keyword of NOT_AT_TOP) {
    if (rest[keyword] === undefined) continue;
    moved[keyword] = rest[keyword];
    delete rest[keyword];
  }
  const note =
    Object.keys(moved).length === 0 ? null : `The arguments must also match this JSON Schema: ${exactText(moved)}`;
  return { parameters: objectIn(withItems(rest, tool, '$')), note };
}

const untranslatable = (tool: string, path: string, what: string): ProviderError =>
  new ProviderError(
    'invalid_request',
    `the tool ${tool} cannot be offered over the Responses API: ${path} of its input schema ${what}; change the schema or disable the tool`,
  );

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = new Set([
  'items',
  'additionalProperties',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'propertyNames',
  'unevaluatedProperties',
]);
const LIST = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

const DEPTH_MAX = 64;

/** The schema with `items` in every array: the API refuses an array without. */
function withItems(schema: ExactJson, tool: string, path: string, depth = 0): ExactJson {
  if (depth > DEPTH_MAX) throw untranslatable(tool, path, `is nested deeper than ${DEPTH_MAX} schemas`);
  if (!isExactObject(schema)) return schema;
  const next = (value: ExactJson, key: string): ExactJson => withItems(value, tool, `${path}.${key}`, depth + 1);
  const entries = Object.entries(schema).map(([key, value]): [string, ExactJson] => {
    if (ONE.has(key) && isExactObject(value)) return [key, next(value, key)];
    if (LIST.has(key) && Array.isArray(value)) {
      return [key, (value as readonly ExactJson[]).map((each, index) => next(each, `${key}[${index}]`))];
    }
    if (!NAMED.has(key) || !isExactObject(value)) return [key, value];
    const named = Object.entries(value).map(([name, each]): [string, ExactJson] => [
      name,
      next(each, `${key}.${name}`),
    ]);
    return [key, Object.fromEntries(named)];
  });
  const { type } = schema;
  const isArray = type === 'array' || (Array.isArray(type) && type.includes('array'));
  const bare =
    isArray &&
    (schema['items'] === undefined || Array.isArray(schema['items']) || typeof schema['items'] === 'boolean');
  return Object.fromEntries(bare ? [...entries.filter(([key]) => key !== 'items'), ['items', {}]] : entries);
}
