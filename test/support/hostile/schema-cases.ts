// Schemas of tools with which a check of a small value takes long, and the values that make it so: as arguments of one call
// and of many, and as the answer to a custom call.
import type { JsonObject } from '../../../schemas/json.ts';
import { BODY_BYTES_MAX, BODY_VALUES_MAX, CALLS_PER_BATCH_MAX } from '../../../schemas/limits.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { tool } from '../tools.ts';
import { EMPTY_DIGEST } from './event-cases.ts';
import { type HostileCase, observed, submitOf, upTo } from './request.ts';

interface HostileSchema {
  readonly schema: JsonObject;
  /** A value of about this many characters. */
  readonly value: (chars: number) => JsonObject;
}

const aaa = (chars: number): JsonObject => ({ x: `${'a'.repeat(chars)}!` });
const pattern = (source: string, value = aaa): HostileSchema => ({
  schema: { properties: { x: { type: 'string', pattern: source } } },
  value,
});

const numbers = (chars: number): JsonObject => ({
  x: Array.from({ length: chars / 4 }, (_, index) => [index % 7_919]),
});

const binary = (depth: number, keyword: string): JsonObject =>
  depth === 0 ? { type: 'string' } : { [keyword]: [binary(depth - 1, keyword), binary(depth - 1, keyword)] };

const wide = (count: number, make: (index: number) => JsonObject): readonly JsonObject[] =>
  Array.from({ length: count }, (_, index) => make(index));

const keys = (chars: number): JsonObject =>
  Object.fromEntries(Array.from({ length: chars / 10 }, (_, index) => [`k${index}aaaaaa`, 1]));

const nestedBy = (field: string, chars: number): JsonObject => {
  let value: JsonObject = {};
  for (let level = 0; level < Math.min(50, chars / 6); level += 1) value = { [field]: value };
  return value;
};

const HOSTILE_SCHEMAS: Readonly<Record<string, HostileSchema>> = {
  '(a+)+$': pattern('^(a+)+$'),
  '(a|a)*$': pattern('^(a|a)*$'),
  '(a|aa)+$': pattern('^(a|aa)+$'),
  'quadratic a+$': pattern('a+$'),
  'cubic .*.*.*=': pattern('.*.*.*=$'),
  'counted (a{1,50}){1,50}$': pattern('^(a{1,50}){1,50}$'),
  'look-ahead': pattern('^(?=(a+)+$)a'),
  'look-behind': pattern('(?<=(a+)+)b'),
  'back-reference': pattern('^(a+)\\1+$'),
  'class overlap': pattern('^([a-z]+[a-z]*)*$'),
  'unicode class': pattern('^(\\p{L}+\\p{L}*)*$'),
  'email-like': pattern('^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+$'),
  patternProperties: {
    schema: { patternProperties: { '^(k|a|[0-9]+)+$': { type: 'string' }, '(.+)+x$': {} } },
    value: keys,
  },
  propertyNames: { schema: { propertyNames: { pattern: '^(\\w+)+\\s$' } }, value: keys },
  'uniqueItems of lists': { schema: { properties: { x: { uniqueItems: true } } }, value: numbers },
  'allOf over anyOf': {
    schema: { allOf: wide(60, (at) => ({ anyOf: wide(60, (of) => ({ const: `${at}-${of}` })).concat([{}]) })) },
    value: keys,
  },
  'anyOf tree': { schema: { additionalProperties: binary(9, 'anyOf') }, value: keys },
  'oneOf tree': { schema: { additionalProperties: binary(9, 'oneOf') }, value: keys },
  'not of not': { schema: { additionalProperties: { not: binary(9, 'anyOf') } }, value: keys },
  'recursive anyOf': {
    schema: {
      $defs: {
        node: {
          anyOf: [
            { properties: { a: { $ref: '#/$defs/node' } }, required: ['z'] },
            { properties: { a: { $ref: '#/$defs/node' } }, required: ['y'] },
          ],
        },
      },
      $ref: '#/$defs/node',
    },
    value: (chars) => nestedBy('a', chars),
  },
  // `{ $ref: '#' }` alone is refused with the tool; this one refers to itself where a value has a field.
  'reference to itself': { schema: { dependentSchemas: { k0aaaaaa: { $ref: '#' } } }, value: keys },
  'references that double': {
    schema: {
      $defs: Object.fromEntries(
        Array.from({ length: 26 }, (_, at) => [
          `d${at}`,
          at === 25 ? { type: 'string' } : { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
        ]),
      ),
      $ref: '#/$defs/d0',
    },
    value: keys,
  },
  'dynamic reference': {
    schema: {
      $dynamicAnchor: 'n',
      anyOf: wide(12, () => ({ properties: { a: { $dynamicRef: '#n' } }, required: ['q'] })),
    },
    value: (chars) => nestedBy('a', chars),
  },
  'large enum': {
    schema: { additionalProperties: { enum: Array.from({ length: 4_000 }, (_, at) => ({ at })) } },
    value: keys,
  },
  'large const': { schema: { additionalProperties: { const: numbers(8_000) } }, value: keys },
  'many properties': {
    schema: {
      properties: Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`p${at}`, { type: 'string' }])),
      additionalProperties: false,
    },
    value: keys,
  },
  'many required': { schema: { required: Array.from({ length: 4_000 }, (_, at) => `r${at}`) }, value: keys },
  contains: { schema: { properties: { x: { contains: binary(8, 'anyOf'), minContains: 4_000 } } }, value: numbers },
  'unevaluated properties': {
    schema: {
      allOf: wide(40, (at) => ({ properties: { [`k${at}`]: {} } })),
      unevaluatedProperties: { type: 'number' },
    },
    value: keys,
  },
  'unevaluated items': {
    schema: {
      properties: {
        x: { anyOf: wide(30, (at) => ({ prefixItems: wide(at + 1, () => ({})) })), unevaluatedItems: false },
      },
    },
    value: numbers,
  },
  'if in if': {
    schema: wide(40, () => ({})).reduce<JsonObject>(
      (inner) => ({ if: { required: ['z'] }, else: inner }),
      binary(6, 'oneOf'),
    ),
    value: keys,
  },
  'dependent schemas': {
    schema: {
      dependentSchemas: Object.fromEntries(
        Array.from({ length: 300 }, (_, at) => [`k${at}aaaaaa`, binary(3, 'anyOf')]),
      ),
    },
    value: keys,
  },
  multipleOf: { schema: { additionalProperties: { multipleOf: 1e-300 } }, value: keys },
  maxLength: { schema: { properties: { x: { maxLength: 10_000_000 } } }, value: aaa },
  'a schema that takes long to compile': {
    schema: {
      allOf: wide(1_500, (at) => ({
        properties: { [`k${at}`]: { oneOf: [{ type: 'string' }, { type: 'number', minimum: at }] } },
      })),
    },
    value: keys,
  },
};

const SMALL_CHARS = 100;

/** `count` calls whose arguments have about this many characters each. */
const callsOf = (count: number, value: (chars: number) => JsonObject, chars: number): readonly object[] =>
  upTo(count, { bytes: BODY_BYTES_MAX - 1_000, marks: BODY_VALUES_MAX - 100 }, (index) => ({
    call_id: `c${index}`,
    tool_name: 't',
    arguments: value(chars),
  }));

const toolWith = (schema: JsonObject): ToolSpec =>
  tool('t', { input_schema: schema, parallelism_hint: { parallel_safe: true } });

const answered = (schema: JsonObject): ToolSpec =>
  tool('t', {
    output_schema: schema,
    ownership: 'custom',
    executor: { kind: 'custom' },
    parallelism_hint: { parallel_safe: true },
  });

export const schemaCases: readonly HostileCase[] = Object.entries(HOSTILE_SCHEMAS).flatMap(
  ([name, { schema, value }]) => [
    {
      name: `schema: ${name}, one call with large arguments`,
      requests: async ({ generating }) => {
        const session = await generating([toolWith(schema)]);
        return [submitOf(session, observed(callsOf(1, value, 40_000)))];
      },
    },
    {
      name: `schema: ${name}, as many calls as fit`,
      requests: async ({ generating }) => {
        const session = await generating([toolWith(schema)]);
        return [submitOf(session, observed(callsOf(CALLS_PER_BATCH_MAX, value, SMALL_CHARS)))];
      },
    },
    {
      name: `schema: ${name}, an answer to a custom call`,
      requests: async ({ called }) => {
        const session = await called([answered(schema)], [{ call_id: 'a', tool_name: 't', arguments: {} }]);
        const call = { batch_id: 'batch-1', call_id: 'a', arguments_digest: EMPTY_DIGEST };
        const result = { success: true, data: value(40_000) };
        return [submitOf(session, { kind: 'user.custom_tool_result', ...call, result, output: { text: '' } })];
      },
    },
  ],
);
