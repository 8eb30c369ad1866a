import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { exactText, parseExact } from '../../../../bridge/providers/api/exact-json.ts';

const numbers = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.stringMatching(/^[1-9][0-9]{0,24}$/), fc.constant('0')),
    fc.constantFrom('', '.0', '.50', '.123456789', '.1234567890123456789'),
    fc.constantFrom('', 'e3', 'E-400', 'e+99'),
  )
  .map((parts) => parts.join(''));
const PLACES = ['@', '[@]', '[ @ , @]', '{"a":@}', '{"a" :\n\t@}', '{"a":{"0e1":[1,[@]]}}', '["x:1e5", @]'];

/** The numbers of the text that stand outside its strings. */
const numbersIn = (text: string): readonly string[] =>
  text.replaceAll(/"[^"]*"/g, '').match(/-?[0-9][-+.0-9eE]*/g) ?? [];

test('a number keeps its value wherever it stands', () => {
  fc.assert(
    fc.property(numbers, fc.constantFrom(...PLACES), (number, place) => {
      const read = place.replaceAll('@', number);
      const written = numbersIn(exactText(parseExact(read)));
      // A double holds up to fifteen digits: then the number may be written in another way.
      const exact = number.replaceAll(/[-.]/g, '').length < 16 && !/[eE]|^-0(\.0+)?$/.test(number);
      const expected = numbersIn(read).map((each) => (exact ? JSON.stringify(Number(each)) : each));
      expect(written.map((each) => (exact ? JSON.stringify(Number(each)) : each))).toEqual(expected);
    }),
    { numRuns: 1_000 },
  );
});

test('any value of JSON is written as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.parse(exactText(parseExact(text)))).toEqual(JSON.parse(text));
    }),
  );
});

test('ids and signatures inside strings that look like numbers are none', () => {
  const text = JSON.stringify({ id: 'resp_0e43-0f1234567890123456', signature: '-0-0-0e5,1e5:-0'.repeat(100) });
  expect(exactText(parseExact(text))).toBe(text);
});
