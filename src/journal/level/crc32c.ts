// CRC-32C (Castagnoli; RFC 3720 appendix B.4), which LevelDB stores with every block. Node offers only CRC-32 (IEEE).

const POLYNOMIAL = 0x82f63b78;
/** LevelDB rotates and offsets a CRC before it stores it, because a CRC of data that contains CRCs is weak. */
const MASK_DELTA = 0xa282ead8;

// Four tables, four bytes a step: three times as fast as one table. Verification reads every byte of the journal.
const TABLES = makeTables();

export function crc32c(bytes: Uint8Array): number {
  const [one, two, three, four] = TABLES;
  let crc = 0xffffffff;
  let at = 0;
  for (const end = bytes.length - 3; at < end; at += 4) {
    crc ^= at32(bytes, at);
    crc =
      (four[crc & 0xff] ?? 0) ^
      (three[(crc >>> 8) & 0xff] ?? 0) ^
      (two[(crc >>> 16) & 0xff] ?? 0) ^
      (one[crc >>> 24] ?? 0);
  }
  for (; at < bytes.length; at += 1) crc = (one[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The checksums of the first byte, of the first two bytes, and so on. */
export function* crc32cEach(bytes: Uint8Array): Generator<number> {
  const [one] = TABLES;
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc = (one[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
    yield ~crc >>> 0;
  }
}

/** The form in which LevelDB stores a CRC. */
export const maskCrc = (crc: number): number => (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;

const at32 = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);

function makeTables(): readonly [Int32Array, Int32Array, Int32Array, Int32Array] {
  const one = Int32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    return crc;
  });
  const next = (table: Int32Array): Int32Array => table.map((crc) => (crc >>> 8) ^ (one[crc & 0xff] ?? 0));
  const two = next(one);
  const three = next(two);
  return [one, two, three, next(three)];
}
