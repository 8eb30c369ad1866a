// Expands one raw Snappy block (google/snappy, format_description.txt): LevelDB compresses the blocks of its tables, and
// Node has no Snappy. Throws a RangeError when the bytes are not a valid block.
import { Buffer } from 'node:buffer';
import { ByteReader } from '../byte-reader.ts';

export function expandSnappy(bytes: Uint8Array, bytesMax: number): Buffer {
  const reader = new ByteReader(bytes);
  const length = reader.varint();
  if (length > bytesMax) throw new RangeError('a compressed block is too long');
  const output = Buffer.alloc(length);
  let at = 0;
  while (!reader.atEnd) {
    const tag = reader.byte();
    if ((tag & 3) === 0) at += copyLiteral(reader, tag, output, at);
    else at += copyBack(reader, tag, output, at);
  }
  if (at !== length) throw new RangeError('a compressed block is shorter than its stated length');
  return output;
}

function copyLiteral(reader: ByteReader, tag: number, output: Buffer, at: number): number {
  const short = tag >>> 2;
  // The values 60 to 63 state in how many bytes (1 to 4) the length follows.
  const length = short < 60 ? short + 1 : reader.take(short - 59).readUIntLE(0, short - 59) + 1;
  if (length > output.length - at) throw new RangeError('a compressed block is longer than its stated length');
  output.set(reader.take(length), at);
  return length;
}

function copyBack(reader: ByteReader, tag: number, output: Buffer, at: number): number {
  const kind = tag & 3;
  const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
  const offset = kind === 1 ? ((tag >>> 5) << 8) | reader.byte() : readOffset(reader, kind);
  if (offset === 0 || offset > at || length > output.length - at) {
    throw new RangeError('a compressed block copies from outside its bounds');
  }
  // Byte by byte, because a copy may overlap its output, which repeats the bytes.
  for (let index = at; index < at + length; index += 1) output[index] = output[index - offset] ?? 0;
  return length;
}

const readOffset = (reader: ByteReader, kind: number): number =>
  kind === 2 ? reader.take(2).readUInt16LE() : reader.take(4).readUInt32LE();
