// How a tool's schema is rewritten for Gemini.
import { describe, expect, test } from 'vitest';
import { functionParameters } from '../../../../bridge/providers/gemini/tool-schema.ts';
import type { OfferedTool } from '../../../../schemas/effect.ts';
import type { Json, JsonObject } from '../../../../schemas/json.ts';

const translate = (input_schema: JsonObject): JsonObject | null =>
  functionParameters({ tool_name: 'look', input_schema } as unknown as OfferedTool);

/** The translation of one property. */
function property(schema: Json, more: JsonObject = {}): Json | undefined {
  const properties = translate({ type: 'object', properties: { at: schema }, ...more })?.['properties'];
  return (properties as JsonObject | undefined)?.['at'];
}

describe('a tool', () => {
  test('without parameters has no schema', () => {
    for (const schema of [{}, { type: 'object' }, { type: 'OBJECT', properties: {} }])
      expect(translate(schema)).toBeNull();
  });

  test('with a map as parameters has one', () => {
    expect(translate({ type: 'object', additionalProperties: { type: 'integer' } })).toEqual({
      type: 'object',
      additionalProperties: { type: 'integer' },
    });
  });

  test('keeps what Gemini documents and loses the rest', () => {
    const kept = { type: 'string', title: 'At', description: 'Where', format: 'date', minLength: 1, pattern: '^x' };
    expect(property({ ...kept, $comment: 'x', contentEncoding: 'y', not: {}, 'x-own': 1 })).toEqual(kept);
    const nested = {
      type: 'object',
      properties: { properties: { type: 'number', minimum: 0 } },
      required: ['properties'],
    };
    expect(property(nested)).toEqual(nested);
  });

  test('with types of Gemini has those of JSON Schema', () => {
    expect(translate({ type: 6, properties: { at: { type: 'ARRAY', items: { type: 1 } } } })).toEqual({
      type: 'object',
      properties: { at: { type: 'array', items: { type: 'string' } } },
    });
  });
});

describe('values', () => {
  test.each<[JsonObject, JsonObject]>([
    [{ const: 'a' }, { enum: ['a'] }],
    [{ enum: ['a', 1] }, { enum: ['a', 1] }],
    [
      { type: 'string', enum: ['a', null] },
      { type: ['string', 'null'], enum: ['a'] },
    ],
    [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      { type: 'boolean', const: true, description: 'Yes.' },
      { type: 'boolean', description: 'Yes.\nOne of: [true]' },
    ],
  ])('%j becomes %j', (schema, written) => {
    expect(property(schema)).toEqual(written);
  });
});

describe('alternatives', () => {
  test('are anyOf, without the impossible', () => {
    expect(property({ oneOf: [{ type: 'string' }, false, true] })).toEqual({ anyOf: [{ type: 'string' }, {}] });
  });

  test('that must all hold are one schema', () => {
    const a = { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] };
    const b = { properties: { y: { type: 'string' } }, required: ['y'] };
    expect(property({ allOf: [a, b], description: 'Both.' })).toEqual({
      type: 'object',
      description: 'Both.',
      properties: { x: { type: 'string' }, y: { type: 'string' } },
      required: ['x', 'y'],
    });
  });

  test('of a tuple are prefixItems', () => {
    expect(property({ type: 'array', items: [{ type: 'string' }, true] })).toEqual({
      type: 'array',
      prefixItems: [{ type: 'string' }, {}],
    });
  });
});

describe('a reference', () => {
  const $defs = { place: { type: 'string', description: 'A place.' }, 'a/b': { type: 'number' } };

  test('is written out, and its neighbours count', () => {
    expect(property({ $ref: '#/$defs/place' }, { $defs })).toEqual($defs.place);
    expect(property({ $ref: '#/$defs/place', description: 'There.' }, { $defs })).toEqual({
      type: 'string',
      description: 'There.',
    });
    expect(property({ $ref: '#/$defs/a~1b' }, { $defs })).toEqual({ type: 'number' });
    expect(translate({ $ref: '#/$defs/root', $defs: { root: { properties: { at: { type: 'string' } } } } })).toEqual({
      type: 'object',
      properties: { at: { type: 'string' } },
    });
  });

  test('in a circle stands for any value of its type', () => {
    const tree = { type: 'object', properties: { next: { $ref: '#/$defs/tree' } } };
    expect(property({ $ref: '#/$defs/tree' }, { $defs: { tree } })).toEqual({
      type: 'object',
      properties: { next: { type: 'object' } },
    });
  });

  test('that doubles at every step ends', () => {
    const doubling: Record<string, Json> = { d0: { type: 'string' } };
    for (let step = 1; step <= 40; step += 1) {
      const half = { $ref: `#/$defs/d${step - 1}` };
      doubling[`d${step}`] = { type: 'object', properties: { a: half, b: half } };
    }
    expect(JSON.stringify(property({ $ref: '#/$defs/d40' }, { $defs: doubling })).length).toBeLessThan(500_000);
  });

  test.each([
    ['https://example.org/schema.json', '#/properties/at/$ref'],
    ['#/$defs/none', '#/properties/at/$ref'],
  ])('to %s is refused with its path', ($ref, path) => {
    expect(() => property({ $ref })).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(path) }),
    );
  });
});

test.each<[JsonObject, string]>([
  [{ type: 'string' }, '#/type'],
  [{ type: 'object', properties: { 'a/b': 7 } }, '#/properties/a~1b'],
  [{ type: 'object', properties: { a: { anyOf: [{}, 'x'] } } }, '#/properties/a/anyOf/1'],
])('%j is refused with the tool and the path', (schema, path) => {
  expect(() => translate(schema)).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      message: expect.stringMatching(`tool look .*${path.replace('/', '\\/')}`),
    }),
  );
});
