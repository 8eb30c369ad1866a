// Numbers that keep their text beside strings of any length.
import { expect, test } from 'vitest';
import * as fc from 'fast-check';
import { RawJson, exactText, parseExact } from '../../../../bridge/providers/api/exact-json.ts';

test('a long string with many escapes lies beside a large integer', () => {
  const long = '"\\'.repeat(2 << 20);
  const text = `{"id":12345678901234567890,"text":${JSON.stringify(long)}}`;
  const value = parseExact(text) as { readonly id: RawJson; readonly text: string };
  expect(value.id).toEqual(new RawJson('12345678901234567890'));
  expect(value.text === long).toBe(true);
});

test('any JSON beside a large integer is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 3 }), (value, indent) => {
      const text = JSON.stringify([value, 0], null, indent).replace(/0(?=\s*\]$)/, '12345678901234567890');
      const [read, large] = parseExact(text) as readonly [never, RawJson];
      expect(large).toEqual(new RawJson('12345678901234567890'));
      expect(JSON.parse(exactText(read))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
