// Long values are written in steps, and give the text that they give when they are written at once.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ExactJson, exactText, parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { textSteps } from '../../../../bridge/providers/api/long-text.ts';
import { REPLY_DEPTH_MAX, STREAM_SLICE_BYTES } from '../../../../schemas/limits.ts';
import { runSteps } from '../../../../src/core/steps.ts';

/** Small, so that short values are cut everywhere. */
const SLICE = 4;

const strings = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc
    .array(fc.constantFrom('🙂', '\ud83d', '\ude42', '\\', '"', '\n', 'é', 'a'), { maxLength: 30 })
    .map((all) => all.join('')),
);
const { json } = fc.letrec<{ readonly json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    strings,
    fc.constantFrom(0, -1.5, null, true),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(strings, fc.constantFrom('__proto__', '1')), tie('json'), { maxKeys: 4 }),
  ),
}));

test('any value has the same text in steps as at once', () => {
  fc.assert(
    fc.property(json, fc.constantFrom('1', '12345678901234567890', '-0'), (value, number) => {
      const exact = parseExact(`[${JSON.stringify(value)},${number}]`);
      expect(runSteps(textSteps(exact, { chars: 0 }, SLICE))).toBe(exactText(exact));
    }),
    { numRuns: 1_000 },
  );
});

test('fields that are undefined are left out', () => {
  const value = { a: undefined, b: 'a long text', c: undefined } as unknown as ExactJson;
  expect(runSteps(textSteps(value, { chars: 0 }, SLICE))).toBe('{"b":"a long text"}');
});

/** How often other work may run while the value is written. */
function stepsOf(value: ExactJson): number {
  let count = 0;
  for (const steps = textSteps(value); steps.next().done !== true;) count += 1;
  return count;
}

test('a small value takes one step, and a long string or a long list as many as it has slices', () => {
  expect(stepsOf(['small'])).toBe(0);
  const slices = 10;
  expect(stepsOf(['x'.repeat(slices * STREAM_SLICE_BYTES)])).toBeGreaterThanOrEqual(slices);
  const items = Array.from({ length: slices * 64 }, () => 'x'.repeat(STREAM_SLICE_BYTES / 64));
  expect(stepsOf(items)).toBeGreaterThanOrEqual(slices);
});

test('a value that is nested too deeply is refused', () => {
  let deep: ExactJson = 'a long text';
  for (let level = 0; level <= REPLY_DEPTH_MAX; level += 1) deep = [deep];
  expect(() => runSteps(textSteps(deep, { chars: 0 }, SLICE))).toThrow('nested deeper');
});
