// The encoding of positions, versions and counts: short, self-delimiting, and in byte order of the numbers. A number below
// ONE_BYTE is one byte; for a greater one the first byte states how many bytes follow, highest first.
import { Buffer } from 'node:buffer';
import { ByteReader } from './byte-reader.ts';

const ONE_BYTE = 0xf0;
const WIDTH_MAX = 7;

export function encodeNumber(value: number): Buffer {
  if (value < ONE_BYTE) return Buffer.of(value);
  let width = 1;
  while (width < WIDTH_MAX && value >= 256 ** width) width += 1;
  const bytes = Buffer.alloc(1 + width, ONE_BYTE + width);
  for (let rest = value, at = width; at > 0; at -= 1, rest = Math.floor(rest / 256)) bytes[at] = rest % 256;
  return bytes;
}

/** The next number; throws a RangeError when there is none, or when it is not in its shortest form. */
export function readNumber(reader: ByteReader): number {
  const head = reader.byte();
  if (head < ONE_BYTE) return head;
  let value = 0;
  for (const byte of reader.take(Math.min(head - ONE_BYTE, WIDTH_MAX))) value = value * 256 + byte;
  if (!Number.isSafeInteger(value) || !encodeNumber(value).subarray(0, 1).equals(Buffer.of(head))) {
    throw new RangeError('a number is not in its shortest form');
  }
  return value;
}

/** The number that the bytes encode, or null. */
export function decodeNumber(bytes: Uint8Array): number | null {
  return decodeWhole(bytes, readNumber);
}

/** What `read` returns for the bytes; null when it throws a RangeError or leaves bytes unread. */
export function decodeWhole<T>(bytes: Uint8Array, read: (reader: ByteReader) => T): T | null {
  const reader = new ByteReader(bytes);
  try {
    const value = read(reader);
    return reader.atEnd ? value : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
