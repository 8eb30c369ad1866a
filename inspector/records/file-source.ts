// An exported stream in a file. It is read in slices: a file of any size needs the memory of one slice and of a sparse index
// of its commits. What is beyond the index is found by halving, because each line says its position.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type CommitRecord, type StreamRecord, versionAfter } from '../../schemas/record.ts';
import { newLineSplitter, readStreamLine } from '../../src/core/stream-text.ts';
import { type RecordSource, SourceFault } from './record-source.ts';

const SLICE_BYTES = 262_144;
/** The slices of a reader that wants what is near a position. */
const NEAR_BYTES = 65_536;
/** A place of the index for so many events. */
const INDEX_EVERY = 256;
/** A last line that is longer is not looked for. */
const LAST_LINE_BYTES_MAX = 8 * 1_048_576;

interface Place {
  /** The position of the first event of the commit whose line begins at `offset`. */
  readonly position: number;
  readonly offset: number;
}

export function newFileSource(kind: 'file' | 'embedded', name: string, file: Blob): RecordSource {
  const places: Place[] = [{ position: 0, offset: 0 }];
  /** The commits before this position were read, one after the other; a line that claims another position ends that. */
  let read = 0;

  function note(record: StreamRecord, offset: number): void {
    const last = places.at(-1);
    if (record.kind !== 'commit' || last === undefined || record.position !== read) return;
    read = versionAfter(record);
    if (record.position >= last.position + INDEX_EVERY) places.push({ position: record.position, offset });
  }

  /** A place at or before a position, near it. */
  async function placeOf(position: number): Promise<number> {
    const after = places.findIndex((place) => place.position > position);
    const known = places.at(after === -1 ? -1 : after - 1) ?? { position: 0, offset: 0 };
    // What was read is found by reading on: a later line may claim an earlier position.
    return after === -1 && position >= read ? await halve(file, position, known.offset) : known.offset;
  }

  return {
    kind,
    name,
    async *records() {
      for await (const lines of linesFrom(file, 0)) yield* recordsIn(lines, note);
    },
    async *commitsFrom(position) {
      // One by one: a reader that has what it wants has not paid for the rest of the slice.
      for await (const lines of linesFrom(file, await placeOf(position), NEAR_BYTES)) {
        for (const line of lines) {
          for (const records of recordsIn([line])) {
            yield records.filter((record) => isCommit(record)).filter((record) => versionAfter(record) > position);
          }
        }
      }
    },
    total: async () => {
      const last = await lastRecord(file);
      return last === null ? null : last.kind === 'commit' ? versionAfter(last) : 0;
    },
  };
}

interface Line {
  readonly bytes: Uint8Array;
  /** Where it begins in the file. */
  readonly offset: number;
  /** From 1, as far as counted: where reading began. */
  readonly number: number;
}

/** The lines from an offset on; those of one slice at a time. */
async function* linesFrom(
  file: Blob,
  from: number,
  sliceBytes: number = SLICE_BYTES,
): AsyncGenerator<readonly Line[], void> {
  const splitter = newLineSplitter();
  let [at, number] = [from, 0];
  const place = (bytes: Uint8Array): Line => {
    const line = { bytes, offset: at, number: (number += 1) };
    at += bytes.length + 1;
    return line;
  };
  for (let offset = from; offset < file.size && !splitter.isFull(); offset += sliceBytes) {
    const lines = splitter.add(await bytesOf(file, offset, offset + sliceBytes)).map(place);
    if (lines.length > 0) yield lines;
  }
  const rest = splitter.rest();
  if (rest !== null) yield [place(rest)];
}

async function bytesOf(file: Blob, from: number, to: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.slice(from, to).arrayBuffer());
  } catch (error) {
    // A browser refuses to read a file that has changed since it was chosen.
    const message = `the file cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    throw new SourceFault({ code: 'damaged', message }, false);
  }
}

const isCommit = (record: StreamRecord): record is CommitRecord => record.kind === 'commit';

/** The records of lines. Throws at a line that is none, after those before it. */
function* recordsIn(
  lines: readonly Line[],
  note?: (record: StreamRecord, offset: number) => void,
): Generator<readonly StreamRecord[], void> {
  const records: StreamRecord[] = [];
  for (const { bytes, offset, number } of lines) {
    const read = readStreamLine(bytes);
    if (read === null) continue;
    if (isLeft(read)) {
      yield records;
      const { code, path, message } = read.left;
      throw new SourceFault({ code, message: `line ${number}: ${message}${path === '' ? '' : ` at ${path}`}` }, true);
    }
    note?.(read.right, offset);
    records.push(read.right);
  }
  yield records;
}

/** The offset of a line at or before the commit that contains a position, found between an offset and the end. */
async function halve(file: Blob, position: number, from: number): Promise<number> {
  let [low, high] = [from, file.size];
  while (high - low > 2 * SLICE_BYTES) {
    const middle = Math.floor((low + high) / 2);
    const found = await commitAfter(file, middle, high);
    if (found === null || found.record.position > position) high = middle;
    else low = found.offset;
  }
  return low;
}

/** The first commit whose line begins after an offset and before `end`. */
async function commitAfter(
  file: Blob,
  offset: number,
  end: number,
): Promise<{ readonly record: CommitRecord; readonly offset: number } | null> {
  let isFirst = true;
  for await (const lines of linesFrom(file, offset)) {
    for (const line of lines) {
      // The first one is the rest of a line that begins before.
      if (isFirst) {
        isFirst = false;
        continue;
      }
      if (line.offset >= end) return null;
      const read = readStreamLine(line.bytes);
      if (read !== null && !isLeft(read) && read.right.kind === 'commit')
        return { record: read.right, offset: line.offset };
    }
  }
  return null;
}

/** The last record; null when the last line is none, or is very long. */
async function lastRecord(file: Blob): Promise<StreamRecord | null> {
  for (let size = SLICE_BYTES; ; size *= 4) {
    const from = Math.max(0, file.size - size);
    const bytes = await bytesOf(file, from, file.size);
    let end = bytes.length;
    while (end > 0 && isSpace(bytes[end - 1] ?? 0)) end -= 1;
    const start = bytes.lastIndexOf(0x0a, end - 1) + 1;
    if (start === 0 && from > 0) {
      if (size > LAST_LINE_BYTES_MAX) return null;
      continue;
    }
    const read = readStreamLine(bytes.subarray(start, end));
    return read === null || isLeft(read) ? null : read.right;
  }
}

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
