// What the records of LevelDB's write-ahead log say: batches of writes (LevelDB, db/write_batch.cc).
import { Buffer } from 'node:buffer';
import { ByteReader } from './byte-reader.ts';
import type { NewestEntry } from './level-merge.ts';

const SEQUENCE_BYTES = 8;
const COUNT_BYTES = 4;

/** Adds what a record writes. Records come in the order of their writing; a RangeError when one is none. */
export function addWrites(record: Uint8Array, newest: Map<string, NewestEntry>): void {
  const reader = new ByteReader(record);
  const first = Number(reader.take(SEQUENCE_BYTES).readBigUInt64LE());
  const count = reader.take(COUNT_BYTES).readUInt32LE();
  for (let index = 0; index < count; index += 1) {
    const deletes = reader.byte() === 0;
    const key = reader.sized();
    const value = deletes ? null : reader.sized();
    const name = key.toString('latin1');
    const sequence = first + index;
    if ((newest.get(name)?.sequence ?? -1) < sequence) newest.set(name, { key: Buffer.from(key), value, sequence });
  }
  if (!reader.atEnd) throw new RangeError('a batch has more writes than it says');
}
