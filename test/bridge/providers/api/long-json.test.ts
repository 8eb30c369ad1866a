// Long JSON texts are parsed in slices, and give what they give when they are parsed at once.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ExactJson, exactText, parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { parseLong } from '../../../../bridge/providers/api/long-json.ts';

/** Small, so that short texts are cut everywhere. */
const SIZES = { slice: 8, string: 3 };

/** What is read of the text, or the name of the error: in slices, and at once. */
const both = async (text: string): Promise<readonly [string, string]> => {
  const settled = (parse: () => ExactJson | Promise<ExactJson>): Promise<string> =>
    (async () => exactText(await parse()))().catch((error: unknown) => (error as Error).name);
  return [await settled(() => parseLong(text, { sizes: SIZES })), await settled(() => parseExact(text))];
};

const strings = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .array(fc.constantFrom('\\', '"', '\n', 'é', '🙂', '\ud83d', 'abc', '\ue000', '12345678901234567'), {
      maxLength: 30,
    })
    .map((all) => all.join('')),
);
const { json } = fc.letrec<{ readonly json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    strings,
    fc.constantFrom(0, -1.5, null, true),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(strings, tie('json'), { maxKeys: 4 }),
  ),
}));
/** As a server may escape it: all but ASCII, or every character. */
const escaped = (text: string, which: RegExp): string =>
  text.replaceAll(which, (character) =>
    character === '\\' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

test('any JSON is read as it is when it is parsed at once', async () => {
  await fc.assert(
    fc.asyncProperty(json, fc.integer({ min: 0, max: 2 }), fc.boolean(), async (value, indent, ascii) => {
      const text = JSON.stringify(value, null, indent);
      const [inSlices, atOnce] = await both(ascii ? escaped(text, /[\u0080-\uffff]/g) : text);
      expect(inSlices).toBe(atOnce);
    }),
    { numRuns: 500 },
  );
});

test('what is no JSON is refused alike', async () => {
  const marks = fc.constantFrom('"', '\\', '{', '}', '[', ']', ':', ',', '1', 'abcdef', '\n', '\\u00', 'é', ' ');
  await fc.assert(
    fc.asyncProperty(fc.array(marks, { minLength: 4, maxLength: 24 }), async (all) => {
      const [inSlices, atOnce] = await both(all.join(''));
      expect(inSlices).toBe(atOnce);
    }),
    { numRuns: 1_000 },
  );
});

const every = Array.from({ length: 6_400 }, (_, index) => String.fromCodePoint(0xe000 + index)).join('');

test.each([
  [
    'large integers, equal keys and odd keys beside long strings',
    '{"id":12345678901234567890,"__proto__":"a long string","a long key":1,"b":2,"a long key":"another one"}',
  ],
  [
    'escapes',
    `["${String.raw`\"`.repeat(40)}","${String.raw`\\`.repeat(40)}","${String.raw`\u00e9\ud83d\ude00`.repeat(9)}"]`,
  ],
  ['all characters that could take the place of strings', JSON.stringify(['a long string', every])],
  ['all of these escaped', escaped(JSON.stringify(['a long string', every]), /[\ue000-\uf8ff]/g)],
])('%s stay', async (_what, text) => {
  const [inSlices, atOnce] = await both(text);
  expect(inSlices).toBe(atOnce);
  expect(atOnce).not.toMatch(/Error$/);
});
