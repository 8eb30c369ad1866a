// Reads the manifest of a LevelDB database, which states the files that are in use: a log of edits (LevelDB,
// db/version_edit.cc). Tables and logs that it does not name are leftovers, which LevelDB deletes.
import type { Buffer } from 'node:buffer';
import { ByteReader } from '../byte-reader.ts';
import { type KeySpan, userKey } from './key-spans.ts';
import { readLog } from './log-format.ts';

export interface LiveFiles {
  /** The tables by number, each with its first and last key. */
  readonly tables: ReadonlyMap<number, KeySpan>;
  /** The oldest log in use, which always exists but may be empty; 0 before the first log. */
  readonly firstLog: number;
  /** Whether the log of this number may hold writes that are in no table yet. */
  readonly isLiveLog: (number: number) => boolean;
  /** What is wrong with the manifest, or null. A faulty manifest may name deleted files and may omit files in use. */
  readonly fault: string | null;
}

interface Edits {
  readonly tables: Map<number, KeySpan>;
  firstLog: number | null;
  previousLog: number;
  hasNextFile: boolean;
  hasLastSequence: boolean;
}

export function readManifest(manifest: Buffer): LiveFiles {
  const edits: Edits = {
    tables: new Map(),
    firstLog: null,
    previousLog: 0,
    hasNextFile: false,
    hasLastSequence: false,
  };
  const { records, faults } = readLog(manifest);
  const [first] = faults;
  let fault = first === undefined ? null : `the checksum or the length of the edit at ${first.at} does not match`;
  try {
    for (const { bytes } of records) applyEdit(bytes, edits);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    fault ??= error.message;
  }
  if (records.length === 0) fault ??= 'it is empty';
  // LevelDB writes these in one edit, after the edit that lists the tables: without them the manifest is cut short.
  if (edits.firstLog === null || !edits.hasNextFile || !edits.hasLastSequence) {
    fault ??= 'it ends before the edit that names the log';
  }
  const { tables, previousLog } = edits;
  const firstLog = edits.firstLog ?? 0;
  return { tables, firstLog, isLiveLog: (number) => number >= firstLog || number === previousLog, fault };
}

function applyEdit(record: Uint8Array, edits: Edits): void {
  const reader = new ByteReader(record);
  while (!reader.atEnd) {
    const tag = reader.varint();
    switch (tag) {
      case 1: // the comparator
        reader.sized();
        break;
      case 2:
        edits.firstLog = reader.varint();
        break;
      case 3: // the next file number
        reader.varint();
        edits.hasNextFile = true;
        break;
      case 4: // the last sequence number
        reader.varint();
        edits.hasLastSequence = true;
        break;
      case 5: // where the next compaction of a level begins
        reader.varint();
        reader.sized();
        break;
      case 6: // a removed table: level and number
        reader.varint();
        edits.tables.delete(reader.varint());
        break;
      case 7: // a new table: level, number, size, first and last key
        reader.varint();
        addTable(reader, edits);
        break;
      case 9:
        edits.previousLog = reader.varint();
        break;
      default:
        throw new RangeError(`an edit has the unknown kind ${tag}`);
    }
  }
}

function addTable(reader: ByteReader, { tables }: Edits): void {
  const number = reader.varint();
  reader.varint();
  tables.set(number, { first: userKey(reader.sized()), last: userKey(reader.sized()) });
}
