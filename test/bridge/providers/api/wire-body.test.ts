// A request with large files is made in slices: the same bytes and digest as at once, while other work goes on.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadDialect } from '../../../../bridge/providers/api/dialects.ts';
import { digestInSlices, encodeInSlices } from '../../../../bridge/providers/api/wire-body.ts';
import { hasInSlices } from '../../../../bridge/secrets/has-in-slices.ts';
import type { Message } from '../../../../bridge/providers/provider.ts';
import { createRedactor } from '../../../../bridge/secrets/redactor.ts';
import { digestText } from '../../../../schemas/canonical.ts';
import { MODEL_SERVER_NAMES } from '../../../../src/files/model-servers.ts';
import { requestWith } from '../../../support/providers/any-chat.ts';

const MODEL = 'claude-sonnet-4-5';
const target = { model: MODEL, baseUrl: 'https://models.example/v1', stream: true };

const PATTERN = Buffer.from(Array.from({ length: 251 }, (_, index) => (index * 31) % 251));
const bytesOf = (length: number): Uint8Array => Buffer.alloc(length, PATTERN);
const withFiles = (...lengths: readonly number[]): Message => ({
  role: 'user',
  text: 'see "ä" 🙂',
  attachments: lengths.map((length, index) => ({
    media_type: index % 2 === 0 ? ('image/png' as const) : ('application/pdf' as const),
    name: `f${index}.x`,
    bytes: bytesOf(length),
  })),
});
const chat = (...lengths: readonly number[]) =>
  requestWith(
    [
      withFiles(...lengths),
      { role: 'assistant', text: '', calls: [{ id: 'a', name: 'read', arguments: '{}' }] },
      { ...withFiles(...lengths), role: 'tool', call_id: 'a', name: 'read', is_error: false },
      { role: 'user', text: 'and?' },
    ],
    MODEL,
  );

test.each(MODEL_SERVER_NAMES)('for %s it is the same as at once, with files of any length', async (api) => {
  const dialect = await loadDialect(api);
  const SLICE = 3 * 131_072;
  for (const lengths of [[], [0, 5], [SLICE, SLICE + 1], [SLICE + 2, SLICE + 3, 7], [2 * SLICE, 2 * SLICE]]) {
    const request = chat(...lengths);
    const { body, ...wire } = await encodeInSlices(dialect, request, target);
    const { body: whole, ...expected } = dialect.encode(request, target);
    expect(body.equals(Buffer.from(whole, 'utf8'))).toBe(true);
    expect(wire).toEqual(expected);
    expect(await digestInSlices(body)).toBe(digestText(whole));
  }
});

test('a secret is found in it wherever slices end', async () => {
  const secret = 'a-secret-of-thirty-two-characters';
  const redactor = createRedactor([secret]);
  const at = fc.integer({ min: 524_288 - 40, max: 524_288 + 8 });
  await fc.assert(
    fc.asyncProperty(at, async (place) => {
      const bytes = Buffer.alloc(600_000, 'x');
      expect(await hasInSlices(bytes, redactor)).toBe(false);
      bytes.write(secret, place);
      expect(await hasInSlices(bytes, redactor)).toBe(true);
    }),
    { numRuns: 10 },
  );
});

test('other work gets its turn many times while files of 20 MiB are written and hashed', async () => {
  const dialect = await loadDialect('anthropic');
  const request = requestWith([withFiles(16 * 1_048_576, 4 * 1_048_576)], MODEL);
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const { body } = await encodeInSlices(dialect, request, target);
  const digest = await digestInSlices(body);
  done = true;
  expect(turns).toBeGreaterThan(80);
  expect(digest).toBe(digestText(body));
});
