// Schemas of tools as the API takes them.
import { expect, test } from 'vitest';
import { messagesTool } from '../../../../bridge/providers/anthropic/tool-schema.ts';
import { type JsonObject, isPlainObject } from '../../../../schemas/json.ts';

const sent = (input_schema: JsonObject, description = 'Does it.') => {
  const tool = messagesTool({
    tool_id: 't',
    tool_ref: 'sha256:0',
    tool_name: 'do',
    description,
    input_schema,
  } as never);
  return tool as { readonly description?: string; readonly input_schema: JsonObject };
};

test('a schema that the API takes stays as it is', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { oneOf: [{ type: 'string' }, { type: 'null' }] },
      b: { $ref: '#/$defs/b' },
      c: { enum: ['OBJECT', 6] },
    },
    required: ['a'],
    additionalProperties: false,
    $defs: { b: { anyOf: [{ const: 1 }] } },
  };
  expect(sent(schema)).toEqual({ name: 'do', description: 'Does it.', input_schema: schema });
  expect(sent({}, ' ')).toEqual({ name: 'do', input_schema: { type: 'object' } });
  expect(sent({ type: ['object', 'null'] }).input_schema).toEqual({ type: 'object' });
});

test('alternatives at the root become one object, and the description says the rest', () => {
  const anyOf = [
    { type: 'object', properties: { id: { type: 'string' }, n: { type: 'integer' } }, required: ['id', 'n'] },
    { properties: { name: { type: 'string' }, n: { type: 'string' } }, required: ['name', 'n'] },
    { type: 'null' },
  ];
  const { description, input_schema } = sent({ type: 'object', properties: { all: {} }, required: ['all'], anyOf });
  expect(input_schema).toEqual({
    type: 'object',
    properties: {
      all: {},
      id: { type: 'string' },
      n: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
      name: { type: 'string' },
    },
    required: ['all', 'n'],
  });
  expect(description).toBe(`Does it.\n\nThe arguments must also match this JSON Schema: ${JSON.stringify({ anyOf })}`);
});

test('what all branches demand, the object demands', () => {
  const allOf = [
    { $ref: '#/$defs/base' },
    { properties: { b: { minimum: 1 } }, required: ['b'] },
    { oneOf: [{ required: ['c'] }, { required: ['d'] }] },
    true,
  ];
  const $defs = { base: { type: 'object', properties: { a: {}, b: { type: 'integer' } }, required: ['a'] } };
  expect(sent({ allOf, $defs }).input_schema).toEqual({
    $defs,
    type: 'object',
    properties: { a: {}, b: { allOf: [{ type: 'integer' }, { minimum: 1 }] } },
    required: ['a', 'b'],
  });
});

test('a reference at the root is followed', () => {
  const definitions = { 'a/b': { type: 'object', properties: { x: {} }, required: ['x'] } };
  expect(sent({ $ref: '#/definitions/a~1b', definitions })).toEqual({
    name: 'do',
    description: 'Does it.',
    input_schema: { definitions, type: 'object', properties: { x: {} }, required: ['x'] },
  });
});

test('words of older drafts and types of other generators are translated everywhere', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-04/schema#',
    type: 'OBJECT',
    properties: {
      pair: { type: 'ARRAY', items: [{ type: 1 }, { type: 'Integer' }], additionalItems: { type: 'number' } },
      n: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false, required: true },
      type: { type: ['STRING', 7], default: { type: 'OBJECT' } },
    },
  };
  expect(sent(schema).input_schema).toEqual({
    type: 'object',
    properties: {
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: { type: 'number' } },
      n: { type: 'number', exclusiveMinimum: 0, maximum: 9 },
      type: { type: ['string', 'null'], default: { type: 'OBJECT' } },
    },
  });
});

test('a long constraint is not quoted', () => {
  const anyOf = [{ properties: { a: { description: 'x'.repeat(5_000) } } }, {}];
  expect(sent({ anyOf }).description).toBe('Does it.');
});

test.each([
  [{ type: 'string' }, '/type'],
  [{ anyOf: [{ type: 'string' }, false] }, '/anyOf'],
  [{ $ref: '#/$defs/none' }, '/$ref'],
  [{ $ref: '#' }, '/$ref'],
  [{ allOf: [{ $ref: 'https://example.com/schema' }] }, '/allOf/0/$ref'],
  [{ $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } }, anyOf: [{ $ref: '#/$defs/a' }] }, 'too deeply'],
  [{ properties: { 'a b/c': {} } }, '/properties/a b~1c'],
  [{ properties: { a: { items: { type: 'map' } } } }, '/properties/a/items/type'],
  [{ properties: { a: { type: 8 } } }, '/properties/a/type'],
])('%j is refused with the tool and the path', (schema, path) => {
  const message = expect.stringMatching(new RegExp(`"do".*${path.replaceAll(/[$/]/g, '\\$&')}`));
  expect(() => sent(schema as JsonObject)).toThrow(expect.objectContaining({ code: 'invalid_request', message }));
});

test('the rewriting leaves the given schema unchanged', () => {
  const schema = Object.freeze({
    type: 'OBJECT',
    anyOf: Object.freeze([Object.freeze({ required: Object.freeze(['a']) })]),
  });
  expect(isPlainObject(sent(schema as unknown as JsonObject).input_schema)).toBe(true);
});
