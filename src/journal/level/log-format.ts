// LevelDB's log format (LevelDB, doc/log_format.md), in which its write-ahead log and its manifest are kept: records
// cut into pieces, none of which crosses a block, each with a checksum.
import { Buffer } from 'node:buffer';
import { crc32c, crc32cEach, maskCrc } from './crc32c.ts';

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;

/** How a piece lies in its record. */
const PIECE = { full: 1, first: 2, middle: 3, last: 4 } as const;

export interface LogRecord {
  readonly at: number;
  readonly bytes: Buffer;
}

export interface LogFault {
  readonly at: number;
  readonly end: number;
  /** Whether only the length of a piece is damaged: then its record can be told, though LevelDB cannot. */
  readonly isMended: boolean;
}

export interface LogContents {
  /** The whole records, before and behind faults. */
  readonly records: readonly LogRecord[];
  readonly faults: readonly LogFault[];
}

export function readLog(log: Buffer): LogContents {
  const records: LogRecord[] = [];
  const faults: LogFault[] = [];
  let begun: { readonly at: number; readonly pieces: Buffer[] } | null = null;
  for (let at = 0; at < log.length;) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES);
    if (left < HEADER_BYTES) {
      at += left;
      continue;
    }
    const whole = pieceAt(log, at);
    // One that begins a record, where another is not ended, is looked at again with what came before it given up.
    const piece = whole ?? mendedPieceAt(log, at);
    if (piece === null || begins(piece) !== (begun === null)) {
      const end =
        piece === null ? nextBeginning(log, at + 1) : begins(piece) ? at : at + HEADER_BYTES + piece.bytes.length;
      faults.push({ at: begun?.at ?? at, end, isMended: false });
      begun = null;
      at = end;
      continue;
    }
    const end = at + HEADER_BYTES + piece.bytes.length;
    if (whole === null) faults.push({ at, end, isMended: true });
    begun ??= { at, pieces: [] };
    begun.pieces.push(piece.bytes);
    if (piece.type === PIECE.full || piece.type === PIECE.last) {
      records.push({ at: begun.at, bytes: Buffer.concat(begun.pieces) });
      begun = null;
    }
    at = end;
  }
  if (begun !== null) faults.push({ at: begun.at, end: log.length, isMended: false });
  return { records, faults };
}

/**
 * Whether what begins there can be a last write that a crash tore. Every write is synced before the next one begins, so
 * behind a write that was torn there is nothing: a piece that says that it ends its record, and ends before the log does,
 * was followed once, whatever it holds now.
 */
export function canBeTorn(log: Buffer, from: number): boolean {
  for (let at = from; at + HEADER_BYTES <= log.length;) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES);
    if (left < HEADER_BYTES) {
      at += left;
      continue;
    }
    const type = log[at + 6];
    const end = at + HEADER_BYTES + log.readUInt16LE(at + 4);
    if (type === PIECE.full || type === PIECE.last) return end >= log.length;
    // Only pieces that end with their block are followed by others of their record.
    if ((type !== PIECE.first && type !== PIECE.middle) || end - at !== left) return true;
    at = end;
  }
  return true;
}

/** What can be read of the record that begins there, whole or not: to name things, never to trust them. */
export function readTorn(log: Buffer, from: number): Buffer {
  const pieces: Buffer[] = [];
  for (let at = from; at + HEADER_BYTES < log.length;) {
    const end = Math.min(log.length, at - (at % BLOCK_BYTES) + BLOCK_BYTES);
    pieces.push(log.subarray(at + HEADER_BYTES, end));
    at = end;
  }
  return Buffer.concat(pieces);
}

interface Piece {
  readonly type: number;
  readonly bytes: Buffer;
}

const begins = ({ type }: Piece): boolean => type === PIECE.full || type === PIECE.first;

/** Where the next record begins, or the end of the log. */
function nextBeginning(log: Buffer, from: number): number {
  for (let at = from; at <= log.length - HEADER_BYTES; at += 1) {
    const type = log[at + 6];
    if ((type === PIECE.full || type === PIECE.first) && pieceAt(log, at) !== null) return at;
  }
  return log.length;
}

/** The piece that begins there, or null when none does that is whole and has its checksum. */
function pieceAt(log: Buffer, at: number): Piece | null {
  const end = blockEnd(log, at);
  if (at + HEADER_BYTES > end) return null;
  const length = log.readUInt16LE(at + 4);
  if (at + HEADER_BYTES + length > end) return null;
  // The checksum is of the type and what follows it.
  const typed = log.subarray(at + 6, at + HEADER_BYTES + length);
  if (maskCrc(crc32c(typed)) !== log.readUInt32LE(at)) return null;
  return isType(typed[0]) ? { type: typed.readUInt8(), bytes: typed.subarray(1) } : null;
}

/**
 * The piece that begins there when nothing but its length is damaged: its checksum says where it ended. There it has to
 * be followed as a piece is: by another one, by the end of its block, or by nothing.
 */
function mendedPieceAt(log: Buffer, at: number): Piece | null {
  const end = blockEnd(log, at);
  if (at + HEADER_BYTES > end || !isType(log[at + 6])) return null;
  const stored = log.readUInt32LE(at);
  let length = 0;
  for (const crc of crc32cEach(log.subarray(at + 6, end))) {
    const next = at + HEADER_BYTES + length;
    if (maskCrc(crc) === stored && (end - next < HEADER_BYTES || pieceAt(log, next) !== null)) {
      return { type: log.readUInt8(at + 6), bytes: log.subarray(at + HEADER_BYTES, next) };
    }
    length += 1;
  }
  return null;
}

const isType = (type: number | undefined): boolean => type !== undefined && type >= PIECE.full && type <= PIECE.last;

const blockEnd = (log: Buffer, at: number): number => Math.min(log.length, at - (at % BLOCK_BYTES) + BLOCK_BYTES);
