// A secret leaves no byte in a stored response, whether it stands there whole or in the pieces of a stream.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactResponse } from '../../../bridge/secrets/redact-response.ts';
import { SECRET_MARK, createRedactor } from '../../../bridge/secrets/redactor.ts';
import { REDACT_SLICE_BYTES } from '../../../schemas/limits.ts';

const SECRET = 'sk-secret-of-some-30-characters';
const redactor = createRedactor([SECRET]);
const cut = (text: string) => redactResponse(Buffer.from(text), redactor);

const sse = (pieces: readonly string[]): string =>
  pieces.map((text) => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`).join('');

/** A binary frame around JSON, with bytes before it that look like quotes and line feeds. */
const aws = (pieces: readonly string[]): string =>
  pieces.map((text) => `\u0000"\n"${JSON.stringify({ delta: { text } })}\u0000"`).join('');

test('a response without secrets stays as it is', async () => {
  const bytes = Buffer.from(sse(['some', 'text']));
  expect(await redactResponse(bytes, redactor)).toEqual({ bytes, redacted: false });
  expect(await redactResponse(bytes, createRedactor([]))).toEqual({ bytes, redacted: false });
});

test('a whole secret is replaced, also across the slices in which it is looked for', async () => {
  for (let offset = -SECRET.length - 2; offset <= 2; offset += 1) {
    const before = 'x'.repeat(REDACT_SLICE_BYTES + offset);
    const { bytes, redacted } = await cut(`${before}${SECRET} and more`);
    expect(redacted).toBe(true);
    const text = bytes?.toString() ?? '';
    expect(text.replaceAll(SECRET_MARK, '')).toBe(`${before} and more`);
  }
});

test.each([
  ['the events of a stream', sse],
  ['binary frames', aws],
])('a secret in pieces is found in %s, wherever it is divided', async (_what, frames) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: SECRET.length - 1 }), { minLength: 1, maxLength: 6 }),
      fc.string(),
      async (borders, before) => {
        const ends = [...new Set(borders)].sort((a, b) => a - b);
        const pieces = [0, ...ends].map((start, index) => SECRET.slice(start, ends[index] ?? SECRET.length));
        expect(await cut(frames([before, ...pieces, 'after']))).toEqual({ bytes: null, redacted: true });
      },
    ),
  );
});

test('16 MiB of blank lines take no time that grows with their square', async () => {
  const started = performance.now();
  await cut(`${'\n'.repeat(16 * 1_048_576)}"`);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('a secret in pieces is found behind and inside very long strings', async () => {
  const long = 'some "words" '.repeat(REDACT_SLICE_BYTES / 8);
  const [head, tail] = [SECRET.slice(0, 9), SECRET.slice(9)];
  for (const pieces of [
    [long, head, tail],
    [long + head, tail + long],
    [head, tail, long],
  ]) {
    expect(await cut(sse(pieces))).toEqual({ bytes: null, redacted: true });
  }
  const harmless = sse([long, `${head} and ${tail}`, long]);
  expect((await cut(harmless)).redacted).toBe(false);
});
