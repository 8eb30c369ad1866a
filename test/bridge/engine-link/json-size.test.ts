import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonSizeAtMost } from '../../../bridge/engine-link/json-size.ts';

test('the bound is never below the size in characters and in bytes', () => {
  const value = fc.jsonValue({ stringUnit: fc.constantFrom('a', '\u0000', '"', '\u2028', '😀', '\uD800') as never });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), value), (one) => {
      const text = JSON.stringify(one);
      expect(jsonSizeAtMost(one, Infinity)).toBeGreaterThanOrEqual(Buffer.byteLength(text));
    }),
    { numRuns: 2_000 },
  );
});

test('the bound of a value above the maximum exceeds the maximum', () => {
  const large = Array.from({ length: 100 }, (_, index) => ({ index }));
  expect(jsonSizeAtMost(large, 100)).toBeGreaterThan(100);
});
