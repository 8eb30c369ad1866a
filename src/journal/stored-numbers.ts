// How positions, versions and counts are written: short, of their own length, and so that byte order is the order of
// the numbers. One below ONE_BYTE is that byte; of a greater one the first byte says how many follow, high first.
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

/** The next number; a RangeError when there is none, or one that is written in another way. */
export function readNumber(reader: ByteReader): number {
  const head = reader.byte();
  if (head < ONE_BYTE) return head;
  let value = 0;
  for (const byte of reader.take(Math.min(head - ONE_BYTE, WIDTH_MAX))) value = value * 256 + byte;
  if (!Number.isSafeInteger(value) || !encodeNumber(value).subarray(0, 1).equals(Buffer.of(head))) {
    throw new RangeError('a number is not written as it should be');
  }
  return value;
}

/** The number that the bytes are, or null. */
export function decodeNumber(bytes: Uint8Array): number | null {
  return decodeWhole(bytes, readNumber);
}

/** What `read` makes of all of the bytes; null when it cannot, or when some are left. */
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
