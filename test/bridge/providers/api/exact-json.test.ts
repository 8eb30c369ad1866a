import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { exactText, parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { ProviderError } from '../../../../bridge/providers/provider.ts';
import { REPLY_DEPTH_MAX } from '../../../../schemas/limits.ts';

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

const nested = (levels: number, open = '[', end = ']'): string => open.repeat(levels) + end.repeat(levels);

test.each([
  ['lists', '[', ']'],
  ['objects', '{"a":', '}'],
  ['lists beside a large integer', '[12345678901234567890,', ']'],
])('%s are read to a depth, and refused beyond it', (_name, open, end) => {
  const inside = end === '}' ? '1' : open === '[' ? '' : '1';
  const text = (levels: number): string => `${open.repeat(levels)}${inside}${end.repeat(levels)}`;
  expect(exactText(parseExact(text(REPLY_DEPTH_MAX)))).toBe(text(REPLY_DEPTH_MAX));
  for (const levels of [REPLY_DEPTH_MAX + 1, 200_000]) {
    expect(() => parseExact(text(levels))).toThrow(ProviderError);
    expect(() => parseExact(text(levels))).toThrow('nested deeper than 1000 levels');
  }
});

test('brackets inside strings, and one after another, are no depth', () => {
  const text = JSON.stringify(['[{"\\'.repeat(5_000), ...Array.from({ length: 5_000 }, () => [{}])]);
  expect(exactText(parseExact(text))).toBe(text);
});

test('a value that was made too deep is refused when it is written', () => {
  const deep = JSON.parse(nested(200_000)) as never;
  expect(() => exactText(deep)).toThrow('nested deeper than 1000 levels');
});

test.each([
  ['white space', (size: number) => `[1,${' '.repeat(size)}-1]`],
  ['digits', (size: number) => `[${'7'.repeat(size)}]`],
  ['quotes', (size: number) => `[0.5,"${String.raw`\"`.repeat(size / 2)}"]`],
  ['backslashes', (size: number) => `["${'\\'.repeat(size)}"]`],
])('16 MiB of %s are read', (_name, textOf) => {
  const text = textOf(16 * 1_048_576);
  expect(JSON.parse(exactText(parseExact(text)))).toEqual(JSON.parse(text));
});
