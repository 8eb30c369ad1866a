// Large texts and values are redacted in slices, and come out as they do at once.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactedText, redactedValue } from '../../../bridge/secrets/redact-value.ts';
import { createRedactor } from '../../../bridge/secrets/redactor.ts';
import { REDACT_SLICE_BYTES } from '../../../schemas/limits.ts';

const SECRET = 'sk-secret-of-some-30-characters';
const redactor = createRedactor([SECRET, 'key-xxxxkey-xxxxkey-xxxx']);
const pieces = fc.array(
  fc.oneof(fc.constantFrom(SECRET, 'key-xxxx', 'sk-secret', '\ud83d', '🙂', '\\', 'é'), fc.string({ unit: 'binary' })),
  { maxLength: 8 },
);

test('a text of any length is as it is at once, wherever its slices end', async () => {
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: -60, max: 10 }), pieces, async (before, offset, behind) => {
      const text = `${before.join('')}${'x'.repeat(REDACT_SLICE_BYTES + offset)}${behind.join('')}`;
      expect((await redactedText(text, redactor)) === redactor.text(text)).toBe(true);
    }),
    { numRuns: 40 },
  );
});

test('a value of any size is as it is at once, and the same object when it holds no secret', async () => {
  const large = 'some words '.repeat(20_000);
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), pieces, fc.boolean(), async (small, all, isKey) => {
      const text = all.join('');
      const value = [{ large, small, [isKey ? text : 'key']: [text, { large: text + large }] }, new Date(0), small];
      const redacted = await redactedValue(value, redactor);
      expect(redacted).toEqual(redactor.value(value));
      expect(redacted === value).toBe(redactor.value(value) === value);
    }),
    { numRuns: 40 },
  );
});

test('other work runs between the slices of a large text, and between the parts of a large value', async () => {
  const text = 'some words '.repeat(REDACT_SLICE_BYTES);
  const values = [text, Array.from({ length: 2_000 }, () => 'some words '.repeat(100))];
  for (const value of values) {
    let turns = 0;
    let running = true;
    const turn = (): void => {
      turns += 1;
      if (running) setImmediate(turn);
    };
    setImmediate(turn);
    await redactedValue(value, redactor);
    running = false;
    expect(turns).toBeGreaterThan(8);
  }
});
