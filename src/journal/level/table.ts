// Reads one table of a LevelDB database, and verifies it block by block (LevelDB, doc/table_format.md).
import { Buffer } from 'node:buffer';
import { ByteReader } from '../byte-reader.ts';
import { crc32c, maskCrc } from './crc32c.ts';
import { type KeySpan, userKey } from './key-spans.ts';
import { expandSnappy } from './snappy.ts';

const FOOTER_BYTES = 48;
const TRAILER_BYTES = 5;
const MAGIC = 0xdb4775248b80fb57n;
/** An index takes a few dozen bytes for each block of 4 KiB, and a block exceeds 4 KiB by one value at most. */
const BLOCK_BYTES_MAX = 1_024 * 1_048_576;

interface BlockHandle {
  readonly offset: number;
  readonly size: number;
}

export interface TableEntry {
  /** Including its sequence number. */
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface TableFault {
  /** The first thing that is wrong. */
  readonly message: string;
  /** Spans in which keys may be lost; empty when only filters are damaged. */
  readonly lost: readonly KeySpan[];
}

/** What is wrong with a table that contains this span of keys, or null. */
export function verifyTable(table: Buffer, span: KeySpan): TableFault | null {
  const verifying = verifyingTable(table, span);
  for (;;) {
    const step = verifying.next();
    if (step.done === true) return step.value;
  }
}

/** The same in steps, each of which verifies one block and yields its size. */
export function* verifyingTable(table: Buffer, span: KeySpan): Generator<number, TableFault | null> {
  const faults: string[] = [];
  const lost: KeySpan[] = [];
  let first = span.first;
  const index = attempt(() => indexOf(table), faults);
  if (index === null) lost.push(span);
  for (const { handle, last } of index ?? []) {
    // For each block the index contains a key at or after every key of the block, and before every key of the next.
    const end = Buffer.compare(last, span.last) < 0 ? last : span.last;
    if (attempt(() => verifyBlock(table, handle), faults) === null) lost.push({ first, last: end });
    first = last;
    yield handle.size;
  }
  // A damaged filter loses no key, but LevelDB would still trust it.
  attempt(() => verifyMeta(table), faults);
  const [message] = faults;
  return message === undefined ? null : { message, lost };
}

/** The span from the first to the last key of a table, or slightly more; null when its index cannot be read. */
export function spanOfTable(table: Buffer): KeySpan | null {
  const blocks = attempt(() => indexOf(table), []);
  const [first, last] = [blocks?.at(0), blocks?.at(-1)];
  if (first === undefined || last === undefined) return null;
  const begin = attempt(() => entriesOf(table, first.handle).next().value?.key ?? null, []);
  return { first: begin === null ? Buffer.alloc(0) : userKey(begin), last: last.last };
}

/** The entries of the blocks whose checksum matches, in order. */
export function* readTable(table: Buffer): Generator<TableEntry> {
  for (const { handle } of attempt(() => indexOf(table), []) ?? []) {
    if (attempt(() => verifyBlock(table, handle), []) !== null) yield* entriesOf(table, handle);
  }
}

function attempt<T>(work: () => T, faults: string[]): T | null {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    faults.push(error.message);
    return null;
  }
}

/** The positions of the metaindex and the index. */
function readFooter(table: Buffer): { readonly meta: BlockHandle; readonly index: BlockHandle } {
  if (table.length < FOOTER_BYTES) throw new RangeError('its file is too short');
  const footer = table.subarray(-FOOTER_BYTES);
  if (footer.readBigUInt64LE(FOOTER_BYTES - 8) !== MAGIC)
    throw new RangeError('its file does not end with the mark of a table');
  const handles = new ByteReader(footer);
  return { meta: readHandle(handles), index: readHandle(handles) };
}

/** Every data block, with a key at or after every key of the block. */
function indexOf(table: Buffer): readonly { readonly handle: BlockHandle; readonly last: Buffer }[] {
  return [...entriesOf(table, readFooter(table).index)].map(({ key, value }) => ({
    handle: readHandle(new ByteReader(value)),
    last: userKey(key),
  }));
}

function verifyMeta(table: Buffer): true {
  for (const { value } of entriesOf(table, readFooter(table).meta)) {
    verifyBlock(table, readHandle(new ByteReader(value)));
  }
  return true;
}

const readHandle = (reader: ByteReader): BlockHandle => ({ offset: reader.varint(), size: reader.varint() });

/** The stored bytes of a block; throws a RangeError when their checksum does not match. */
function verifyBlock(table: Buffer, { offset, size }: BlockHandle): Buffer {
  if (offset + size + TRAILER_BYTES > table.length - FOOTER_BYTES)
    throw new RangeError('a block lies outside its file');
  const crc = table.readUInt32LE(offset + size + 1);
  if (maskCrc(crc32c(table.subarray(offset, offset + size + 1))) !== crc) {
    throw new RangeError(`the checksum of the block at ${offset} does not match`);
  }
  return table.subarray(offset, offset + size);
}

/** The entries of a block: keys in order, each stored without the prefix that it shares with the key before it. */
function* entriesOf(table: Buffer, handle: BlockHandle): Generator<TableEntry> {
  const stored = verifyBlock(table, handle);
  const compressed = table[handle.offset + handle.size] === 1;
  const block = compressed ? expandSnappy(stored, BLOCK_BYTES_MAX) : stored;
  if (block.length < 4) throw new RangeError('a block is too short');
  // A block ends with the offsets of its restart points and their number.
  const restarts = block.readUInt32LE(block.length - 4);
  const entries = new ByteReader(block.subarray(0, Math.max(0, block.length - 4 * (restarts + 1))));
  let key = Buffer.alloc(0);
  while (!entries.atEnd) {
    const sharedBytes = entries.varint();
    const keyBytes = entries.varint();
    const valueBytes = entries.varint();
    if (sharedBytes > key.length) throw new RangeError('a key shares more bytes than the key before it has');
    key = Buffer.concat([key.subarray(0, sharedBytes), entries.take(keyBytes)]);
    yield { key, value: entries.take(valueBytes) };
  }
}
