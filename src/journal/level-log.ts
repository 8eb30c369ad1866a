// LevelDB's log format (LevelDB, doc/log_format.md), in which its write-ahead log and its manifest are kept: records
// cut into pieces, none of which crosses a block, each with a checksum.
import { Buffer } from 'node:buffer';
import { crc32c, maskCrc } from './crc32c.ts';

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;

/** How a piece lies in its record. */
const PIECE = { full: 1, first: 2, middle: 3, last: 4 } as const;

export interface LogContents {
  /** The whole records before the fault, if there is one. */
  readonly records: readonly Uint8Array[];
  /** Where the first piece begins that is torn or damaged. */
  readonly faultAt: number | null;
}

export function readLog(log: Buffer): LogContents {
  const records: Uint8Array[] = [];
  let pieces: Uint8Array[] = [];
  for (let at = 0; at < log.length;) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES);
    if (left < HEADER_BYTES) {
      at += left;
      continue;
    }
    const piece = pieceAt(log, at);
    if (piece === null) return { records, faultAt: at };
    if (piece.type === PIECE.full || piece.type === PIECE.first) pieces = [];
    pieces.push(piece.bytes);
    if (piece.type === PIECE.full || piece.type === PIECE.last) records.push(Buffer.concat(pieces));
    at += HEADER_BYTES + piece.bytes.length;
  }
  return { records, faultAt: null };
}

/**
 * Whether a record begins anywhere behind a fault. Every write is synced before the next one begins, so behind a
 * write that a crash tore there is nothing: what has something behind it was whole once, and is damaged.
 */
export function isFollowed(log: Buffer, faultAt: number): boolean {
  for (let at = faultAt + 1; at <= log.length - HEADER_BYTES; at += 1) {
    const type = log[at + 6];
    if ((type === PIECE.full || type === PIECE.first) && pieceAt(log, at) !== null) return true;
  }
  return false;
}

/**
 * Whether what begins at a fault is whole when it is taken to end with its block or file: then nothing tore it, and
 * it is its length that is damaged.
 */
export function isWholeToTheEnd(log: Buffer, faultAt: number): boolean {
  const end = Math.min(log.length, faultAt - (faultAt % BLOCK_BYTES) + BLOCK_BYTES);
  if (faultAt + HEADER_BYTES >= end) return false;
  return maskCrc(crc32c(log.subarray(faultAt + 6, end))) === log.readUInt32LE(faultAt);
}

interface Piece {
  readonly type: number;
  readonly bytes: Buffer;
}

/** The piece that begins there, or null when none does that is whole and has its checksum. */
function pieceAt(log: Buffer, at: number): Piece | null {
  const end = Math.min(log.length, at - (at % BLOCK_BYTES) + BLOCK_BYTES);
  if (at + HEADER_BYTES > end) return null;
  const length = log.readUInt16LE(at + 4);
  if (at + HEADER_BYTES + length > end) return null;
  // The checksum is of the type and what follows it.
  const typed = log.subarray(at + 6, at + HEADER_BYTES + length);
  if (maskCrc(crc32c(typed)) !== log.readUInt32LE(at)) return null;
  return { type: typed.readUInt8(), bytes: typed.subarray(1) };
}
