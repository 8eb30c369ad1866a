import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentOf, firstChars, lastChars, outputContent } from '../../../bridge/engine-link/text-content.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { Content } from '../../../schemas/content.ts';
import type { Digest } from '../../../schemas/ids.ts';

const newStore = () => {
  const blobs = new Map<Digest, string>();
  const put = (bytes: Uint8Array) => {
    const ref = digestText(bytes);
    blobs.set(ref, Buffer.from(bytes).toString());
    return Promise.resolve(ref);
  };
  const read = (content: Content): string => ('text' in content ? content.text : (blobs.get(content.ref) ?? 'missing'));
  return { blobs, put, read };
};

const anyText = fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.toWellFormed());

describe('content', () => {
  test('is inline up to the limit and a blob above it', async () => {
    const { put } = newStore();
    expect(await contentOf('x'.repeat(4_096), put)).toEqual({ text: 'x'.repeat(4_096) });
    expect(await contentOf('x'.repeat(4_097), put)).toMatchObject({ bytes: 4_097 });
  });

  test('excerpts never split a character', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 40 }), (text, max) => {
        expect(firstChars(text, max).isWellFormed()).toBe(true);
        expect(lastChars(text, max).isWellFormed()).toBe(true);
        expect(text.startsWith(firstChars(text, max))).toBe(true);
        expect(text.endsWith(lastChars(text, max))).toBe(true);
      }),
    );
  });
});

describe('an output', () => {
  test('is whole, or cut to its limit with the whole stored as a blob', async () => {
    const sizes = [fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 3_000 })] as const;
    await fc.assert(
      fc.asyncProperty(anyText, ...sizes, async (unit, times, bytesMax) => {
        const text = unit.repeat(times);
        const { put, read, blobs } = newStore();
        const content = await outputContent(text, { bytesMax }, put);
        expect(Content.is(content)).toBe(true);
        const shown = read(content);
        const size = Buffer.byteLength(text);
        if (size <= bytesMax) return shown === text;
        const [marker = '', cut, ref] =
          /\n\[(\d+) bytes cut here; the whole output is blob (\S{71}), \d+ bytes\]\n/.exec(shown) ?? [];
        const markerBytes = Buffer.byteLength(marker);
        expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(Math.max(bytesMax, markerBytes));
        expect(Number(cut) + Buffer.byteLength(shown) - markerBytes).toBe(size);
        return blobs.get(ref as Digest) === text && shown.isWellFormed();
      }),
    );
  });

  test('that the executor has already stored is named and not stored again', async () => {
    const { put, blobs } = newStore();
    const whole = { ref: digestText('whole'), bytes: 999_999 };
    const content = await outputContent('head … tail', { bytesMax: 1_000, whole }, put);
    expect(content).toEqual({ text: `head … tail\n[the whole output is blob ${whole.ref}, 999999 bytes]` });
    expect(blobs.size).toBe(0);
    const cut = await outputContent('x'.repeat(900), { bytesMax: 300, whole }, put);
    expect('text' in cut && cut.text).toContain(whole.ref);
  });
});
