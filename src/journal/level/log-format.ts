// Reads LevelDB's log format (LevelDB, doc/log_format.md), which its write-ahead log and its manifest use. Records are cut
// into pieces; no piece crosses a block boundary, and each piece has a checksum.
import { Buffer } from 'node:buffer';
import { crc32c, crc32cEach, maskCrc } from './crc32c.ts';

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;

/** The types of pieces: where a piece lies in its record. */
const PIECE = { full: 1, first: 2, middle: 3, last: 4 } as const;

export interface LogRecord {
  readonly at: number;
  readonly bytes: Buffer;
}

export interface LogFault {
  readonly at: number;
  readonly end: number;
  /** Whether only the length of a piece is damaged: its record can still be read, though not by LevelDB. */
  readonly isReadable: boolean;
}

export interface LogContents {
  /** The whole records, before and after faults. */
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
    // When a piece begins a record before the previous record ended, the previous one is dropped and the piece read again.
    const piece = whole ?? pieceByChecksumAt(log, at);
    if (piece === null || begins(piece) !== (begun === null)) {
      const end =
        piece === null ? nextBeginning(log, at + 1) : begins(piece) ? at : at + HEADER_BYTES + piece.bytes.length;
      faults.push({ at: begun?.at ?? at, end, isReadable: false });
      begun = null;
      at = end;
      continue;
    }
    const end = at + HEADER_BYTES + piece.bytes.length;
    if (whole === null) faults.push({ at, end, isReadable: true });
    begun ??= { at, pieces: [] };
    begun.pieces.push(piece.bytes);
    if (piece.type === PIECE.full || piece.type === PIECE.last) {
      records.push({ at: begun.at, bytes: Buffer.concat(begun.pieces) });
      begun = null;
    }
    at = end;
  }
  if (begun !== null) faults.push({ at: begun.at, end: log.length, isReadable: false });
  return { records, faults };
}

/**
 * Whether the damaged record at `from` can be a last write that a crash tore. Every write is synced before the next one
 * begins, so nothing follows a torn write. A piece whose header states that it ends its record, and that ends before the
 * log does, was followed by another write: it is damaged, not torn.
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

/** The readable bytes of the possibly incomplete record at `from`. Use them only to name sessions: they are not verified. */
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

/** The offset at which the next record begins, or the end of the log. */
function nextBeginning(log: Buffer, from: number): number {
  for (let at = from; at <= log.length - HEADER_BYTES; at += 1) {
    const type = log[at + 6];
    if ((type === PIECE.full || type === PIECE.first) && pieceAt(log, at) !== null) return at;
  }
  return log.length;
}

/** The piece at `at`; null when it is incomplete or its checksum does not match. */
function pieceAt(log: Buffer, at: number): Piece | null {
  const end = blockEnd(log, at);
  if (at + HEADER_BYTES > end) return null;
  const length = log.readUInt16LE(at + 4);
  if (at + HEADER_BYTES + length > end) return null;
  // The checksum covers the type and the bytes after it.
  const typed = log.subarray(at + 6, at + HEADER_BYTES + length);
  if (maskCrc(crc32c(typed)) !== log.readUInt32LE(at)) return null;
  return isType(typed[0]) ? { type: typed.readUInt8(), bytes: typed.subarray(1) } : null;
}

/**
 * The piece at `at` when only its length is damaged: its end is where the checksum matches. Another piece, the end of the
 * block or the end of the log must follow there.
 */
function pieceByChecksumAt(log: Buffer, at: number): Piece | null {
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
