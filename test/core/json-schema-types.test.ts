// Types of other APIs in the schemas of tools.
import * as fc from 'fast-check';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { normalisedTypes } from '../../src/core/json-schema-types.ts';
import type { Json, JsonObject } from '../../schemas/json.ts';

test('names in upper case and numbers become types, wherever a schema may stand', () => {
  const schema = {
    type: 6,
    properties: {
      type: { type: 'STRING', enum: ['OBJECT', 'STRING'] },
      list: { type: 'ARRAY', items: { type: 2 }, maxItems: '3' },
      either: { anyOf: [{ type: 'INTEGER' }, { type: 7 }] },
      any: { type: 'TYPE_UNSPECIFIED', description: 'Anything' },
      none: { type: 0 },
      both: { type: ['STRING', 'NULL'] },
    },
    $defs: { flag: { type: 4, default: { type: 'OBJECT' } } },
  };
  const written = {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['OBJECT', 'STRING'] },
      list: { type: 'array', items: { type: 'number' }, maxItems: 3 },
      either: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      any: { description: 'Anything' },
      none: {},
      both: { type: ['string', 'null'] },
    },
    $defs: { flag: { type: 'boolean', default: { type: 'OBJECT' } } },
  };
  expect(normalisedTypes(schema)).toEqual(written);
  expect(() => new Ajv2020().compile(schema)).toThrow(/type/);
  expect(() => new Ajv2020().compile(written)).not.toThrow();
});

test('an unknown type stays, for the compiler to refuse', () => {
  expect(normalisedTypes({ type: 'MAP', items: { type: 9 } })).toEqual({ type: 'MAP', items: { type: 9 } });
});

const aType = fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'null');
const { schema } = fc.letrec<{ readonly schema: JsonObject }>((tie) => ({
  schema: fc.record(
    {
      type: aType,
      enum: fc.array(fc.jsonValue() as fc.Arbitrary<Json>, { maxLength: 3 }),
      properties: fc.dictionary(fc.string(), tie('schema'), { maxKeys: 3 }),
      items: tie('schema'),
      minItems: fc.nat(),
    },
    { requiredKeys: [] },
  ),
}));

test('a schema with the types of JSON Schema stays the same object', () => {
  fc.assert(
    fc.property(schema, (plain) => {
      expect(normalisedTypes(plain)).toBe(plain);
    }),
  );
});
