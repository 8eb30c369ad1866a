import * as fc from 'fast-check';
import { isRight } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { checkJson, isJson } from '../../schemas/json.ts';
import { JSON_DEPTH_MAX, JSON_NODES_MAX } from '../../schemas/limits.ts';
import { anyValue } from '../support/any-value.ts';

test('isJson and checkJson agree on random values', () => {
  fc.assert(
    fc.property(fc.oneof(anyValue(), fc.jsonValue()), (value) => {
      expect(isJson(value)).toBe(isRight(checkJson(value)));
    }),
    { numRuns: 3_000 },
  );
});

test('isJson and checkJson agree at every limit', () => {
  const nested = (depth: number): unknown => (depth === 0 ? [] : [nested(depth - 1)]);
  const bounds = [
    ...[JSON_DEPTH_MAX - 2, JSON_DEPTH_MAX - 1, JSON_DEPTH_MAX].map(nested),
    ...[JSON_NODES_MAX - 1, JSON_NODES_MAX].map((length) => Array.from({ length }, () => 1)),
  ];
  for (const value of bounds) expect(isJson(value)).toBe(isRight(checkJson(value)));
});
