// Verifies one table of a LevelDB database, block by block (LevelDB, doc/table_format.md).
import type { Buffer } from 'node:buffer';
import { ByteReader } from './byte-reader.ts';
import { crc32c, maskCrc } from './crc32c.ts';
import { expandSnappy } from './snappy.ts';

const FOOTER_BYTES = 48;
const TRAILER_BYTES = 5;
const MAGIC = 0xdb4775248b80fb57n;
/** An index has a few dozen bytes for each block of 4 KiB, so even that of a very large table is smaller. */
const INDEX_BYTES_MAX = 64 * 1_048_576;

interface BlockHandle {
  readonly offset: number;
  readonly size: number;
}

/** What is wrong with a table, or null. */
export function tableFault(table: Buffer): string | null {
  try {
    if (table.length < FOOTER_BYTES) return 'its file is too short';
    const footer = table.subarray(-FOOTER_BYTES);
    if (footer.readBigUInt64LE(FOOTER_BYTES - 8) !== MAGIC) return 'its file does not end as a table does';
    const handles = new ByteReader(footer);
    const meta = readHandle(handles);
    const index = readHandle(handles);
    for (const handle of [...entriesOf(table, meta), ...entriesOf(table, index)]) verifyBlock(table, handle);
    return null;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

const readHandle = (reader: ByteReader): BlockHandle => ({ offset: reader.varint(), size: reader.varint() });

/** The bytes of a block as stored; a RangeError when they do not have their checksum. */
function verifyBlock(table: Buffer, { offset, size }: BlockHandle): Buffer {
  if (offset + size + TRAILER_BYTES > table.length - FOOTER_BYTES)
    throw new RangeError('a block lies outside its file');
  const crc = table.readUInt32LE(offset + size + 1);
  if (maskCrc(crc32c(table.subarray(offset, offset + size + 1))) !== crc) {
    throw new RangeError(`the block at ${offset} does not have its checksum`);
  }
  return table.subarray(offset, offset + size);
}

/** The handles that an index or metaindex block holds as its values. */
function entriesOf(table: Buffer, handle: BlockHandle): readonly BlockHandle[] {
  const stored = verifyBlock(table, handle);
  const compressed = table[handle.offset + handle.size] === 1;
  const block = compressed ? expandSnappy(stored, INDEX_BYTES_MAX) : stored;
  if (block.length < 4) throw new RangeError('an index is too short');
  // At the end of a block stand the offsets of its restart points, and their number.
  const restarts = block.readUInt32LE(block.length - 4);
  const entries = new ByteReader(block.subarray(0, Math.max(0, block.length - 4 * (restarts + 1))));
  const handles: BlockHandle[] = [];
  while (!entries.atEnd) {
    entries.varint(); // bytes shared with the key before
    const keyBytes = entries.varint();
    const valueBytes = entries.varint();
    entries.take(keyBytes);
    handles.push(readHandle(new ByteReader(entries.take(valueBytes))));
  }
  return handles;
}
