// What can be attached: by the first bytes of a file, and by the shape of its description.
import * as fc from 'fast-check';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { decode } from '../../schemas/codec.ts';
import { Attachment, Attachments, MEDIA_TYPES, sniffMediaType } from '../../schemas/content.ts';
import { ATTACHMENTS_MAX, ATTACHMENT_BYTES_MAX, ATTACHMENT_NAME_CHARS_MAX } from '../../schemas/limits.ts';
import { FILES, PNG, ZIP, attachmentOf } from '../support/attachments.ts';

describe('the type of a file', () => {
  test.each(MEDIA_TYPES)('is %s by its first bytes, whatever follows', (type) => {
    expect(sniffMediaType(FILES[type])).toBe(type);
    expect(sniffMediaType(Uint8Array.of(...FILES[type], 0, 255, 80))).toBe(type);
  });

  test('is that of either version of GIF', () => {
    expect(sniffMediaType(new TextEncoder().encode('GIF87a...'))).toBe('image/gif');
    expect(sniffMediaType(new TextEncoder().encode('GIF88a...'))).toBeNull();
  });

  test('is unknown for an archive, a text, another RIFF file and nothing', () => {
    for (const file of [ZIP, new TextEncoder().encode('see %PDF-1.7'), new Uint8Array()]) {
      expect(sniffMediaType(file)).toBeNull();
    }
    expect(sniffMediaType(new TextEncoder().encode('RIFF\u0004\0\0\0WAVE'))).toBeNull();
  });

  const types = fc.constantFrom(...MEDIA_TYPES);
  /** The bytes of each signature that decide: a WebP file has its size in between. */
  const decides = (type: string, at: number): boolean => type !== 'image/webp' || at < 4 || at >= 8;
  const SIGNATURE_BYTES = {
    'image/png': 16,
    'image/jpeg': 3,
    'image/gif': 6,
    'image/webp': 12,
    'application/pdf': 5,
  } as const;

  test('is unknown when any byte of the signature is another one', () => {
    fc.assert(
      fc.property(types, fc.nat(), fc.integer({ min: 1, max: 255 }), (type, place, change) => {
        const at = place % SIGNATURE_BYTES[type];
        fc.pre(decides(type, at));
        const file = FILES[type].slice();
        file[at] = (file[at] ?? 0) ^ change;
        // The two versions of GIF differ in one digit.
        fc.pre(!(type === 'image/gif' && at === 4 && file[at] === '7'.charCodeAt(0)));
        expect(sniffMediaType(file)).toBeNull();
      }),
    );
  });

  test.each(MEDIA_TYPES)('is unknown for a file that ends inside the signature of %s', (type) => {
    for (let cut = 0; cut < SIGNATURE_BYTES[type]; cut += 1)
      expect(sniffMediaType(FILES[type].slice(0, cut))).toBeNull();
  });
});

describe('the description of an attachment', () => {
  const good = attachmentOf(PNG, 'image/png', 'a.png');
  const codeOf = (value: unknown): string => {
    const decoded = decode(Attachment, value);
    return isLeft(decoded) ? `${decoded.left.code} ${decoded.left.path}` : 'good';
  };

  test('has a digest, a size, a type and perhaps a name', () => {
    expect(codeOf(good)).toBe('good');
    expect(codeOf(attachmentOf(PNG, 'image/png'))).toBe('good');
    expect(codeOf({ ...good, bytes: ATTACHMENT_BYTES_MAX })).toBe('good');
    expect(codeOf({ ...good, name: 'n'.repeat(ATTACHMENT_NAME_CHARS_MAX) })).toBe('good');
  });

  test.each([
    ['17 MiB', { bytes: 17 * 1_048_576 }, '/bytes'],
    ['a type that no model takes', { media_type: 'application/zip' }, '/media_type'],
    ['a name that is too long', { name: 'n'.repeat(ATTACHMENT_NAME_CHARS_MAX + 1) }, '/name'],
    ['an empty name', { name: '' }, '/name'],
    ['no digest', { ref: 'a.png' }, '/ref'],
    ['its bytes', { data: 'AAAA' }, '/data'],
  ])('is refused with %s', (_, change, path) => {
    expect(codeOf({ ...good, ...change })).toBe(`invalid_shape ${path}`);
  });

  test('stands at most sixteen times in a list, and at least once', () => {
    expect(Attachments.is(Array.from({ length: ATTACHMENTS_MAX }, () => good))).toBe(true);
    expect(Attachments.is(Array.from({ length: ATTACHMENTS_MAX + 1 }, () => good))).toBe(false);
    expect(Attachments.is([])).toBe(false);
  });
});
