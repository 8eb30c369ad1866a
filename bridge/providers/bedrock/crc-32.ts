// CRC-32 as RFC 1952, section 8 defines it. A call of zlib costs more than the sum of a frame that holds one word, and most
// frames of a stream do: those are summed here, four bytes at a time.
import { crc32 } from 'node:zlib';

/** From this size on zlib is faster. */
const LARGE = 512;

/** The tables for the last, the third, the second and the first of four bytes. */
const [LAST, THIRD, SECOND, FIRST] = tables();

/** The sum of the bytes from `start` to `end`. */
export function crc32Of(bytes: Buffer, start: number, end: number): number {
  if (end - start >= LARGE) return crc32(bytes.subarray(start, end));
  let sum = -1;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    sum ^= byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16) | (byte(bytes, at + 3) << 24);
    sum =
      byte(FIRST, sum & 255) ^
      byte(SECOND, (sum >>> 8) & 255) ^
      byte(THIRD, (sum >>> 16) & 255) ^
      byte(LAST, sum >>> 24);
  }
  for (; at < end; at += 1) sum = byte(LAST, (sum ^ byte(bytes, at)) & 255) ^ (sum >>> 8);
  return ~sum >>> 0;
}

// All indexes are in range; the compiler cannot know it.
function byte(values: Uint8Array | Int32Array, index: number): number {
  return values[index] as number;
}

function tables(): readonly [Int32Array, Int32Array, Int32Array, Int32Array] {
  const last = Int32Array.from({ length: 256 }, (_, value) => {
    let sum = value;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
    return sum;
  });
  const after = (table: Int32Array): Int32Array => table.map((sum) => (sum >>> 8) ^ byte(last, sum & 255));
  const third = after(last);
  const second = after(third);
  return [last, third, second, after(second)];
}
