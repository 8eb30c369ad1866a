// Decodes the records of LevelDB's write-ahead log: batches of writes (LevelDB, db/write_batch.cc).
import { Buffer } from 'node:buffer';
import type { SessionId } from '../../../schemas/ids.ts';
import { ByteReader } from '../byte-reader.ts';
import { sessionIn } from '../keys.ts';
import type { NewestEntry } from './newest-entries.ts';

const SEQUENCE_BYTES = 8;
const COUNT_BYTES = 4;

export interface BatchSpan {
  /** The sequence number of its first write, and the one after its last write. */
  readonly first: number;
  readonly end: number;
}

/** The sequence numbers of the writes in a record; throws a RangeError when the record is not a batch. */
export function spanOfBatch(record: Uint8Array): BatchSpan {
  const reader = new ByteReader(record);
  const first = Number(reader.take(SEQUENCE_BYTES).readBigUInt64LE());
  return { first, end: first + reader.take(COUNT_BYTES).readUInt32LE() };
}

/** The value that a record writes for a key, or null. */
export function writeOf(record: Uint8Array, key: Uint8Array): Uint8Array | null {
  const newest = new Map<string, NewestEntry>();
  addWrites(record, newest);
  return newest.get(Buffer.from(key).toString('latin1'))?.value ?? null;
}

/** Adds the writes of a record to the newest entries; throws a RangeError when the record is not a batch. */
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
  if (!reader.atEnd) throw new RangeError('a batch has more writes than it states');
}

/** The sessions that the readable part of a torn batch writes to. */
export function sessionsWritten(torn: Uint8Array): readonly SessionId[] {
  const reader = new ByteReader(torn);
  const found = new Set<SessionId>();
  try {
    reader.take(SEQUENCE_BYTES + COUNT_BYTES);
    for (let kind = reader.byte(); kind <= 1; kind = reader.byte()) {
      const session = sessionIn(reader.sized());
      if (session !== null) found.add(session);
      // A deletion has no value.
      if (kind === 1) reader.sized();
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return [...found];
}
