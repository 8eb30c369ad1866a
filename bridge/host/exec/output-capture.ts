// Captures what a command writes to one stream: head and tail in memory, the whole in a file, all bounded. The stream is
// always read to its end, so that the limits never block the command on a full pipe.
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { HEAD_BYTES, PROGRESS_BYTES_MAX, SPILL_BYTES_MAX, TAIL_BYTES } from '../../../schemas/limits.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import { readRange } from '../workspace/workspace.ts';

export interface Capture {
  push(chunk: Buffer): void;
  /** How many bytes were written, kept or not. */
  total(): number;
  /** The output in at most `bytesMax` bytes, from both ends; secrets replaced. */
  excerpt(bytesMax: number): Excerpt;
  /** The whole output up to the spill limit; secrets replaced. Throws when writing the file failed. */
  whole(): Buffer;
  /** The output since the last call, only its end if it is long; secrets replaced. */
  takeNew(): string;
  close(): void;
}

export interface Excerpt {
  readonly text: string;
  readonly bytesOmitted: number;
}

export function openCapture(spoolPath: string, redactor: Redactor): Capture {
  const { reach } = redactor;
  const headMax = HEAD_BYTES + reach;
  let head = Buffer.alloc(0);
  let tail: Buffer[] = [];
  let tailBytes = 0;
  let total = 0;
  let taken = 0;
  const spool = newSpool(spoolPath, SPILL_BYTES_MAX + reach);

  function keepTail(chunk: Buffer): void {
    tail.push(chunk);
    tailBytes += chunk.length;
    while (tailBytes - (tail[0]?.length ?? 0) >= TAIL_BYTES + reach) tailBytes -= tail.shift()?.length ?? 0;
  }

  return {
    push(chunk) {
      const room = headMax - head.length;
      if (room >= chunk.length) head = Buffer.concat([head, chunk]);
      else {
        const more = room > 0 && !spool.isStarted() ? fillHead(chunk, room) : chunk;
        // The file is started when the head is full, and holds everything from the first byte on.
        if (!spool.isStarted()) spool.keep(head);
        spool.keep(more);
      }
      keepTail(chunk);
      total += chunk.length;
    },
    total: () => total,
    excerpt(bytesMax) {
      const last = Buffer.concat(tail);
      if (total <= Math.min(bytesMax, HEAD_BYTES + TAIL_BYTES)) {
        const all =
          total <= head.length ? head : Buffer.concat([head, last.subarray(head.length - (total - tailBytes))]);
        return { text: redactor.window(all, 0, total).toString('utf8'), bytesOmitted: 0 };
      }
      const half = Math.floor(bytesMax / 2);
      const end = characterStart(head, Math.min(half, HEAD_BYTES));
      const start = nextCharacter(last, last.length - Math.min(half, TAIL_BYTES));
      const bytesOmitted = total - end - (last.length - start);
      const first = redactor.window(head, 0, end).toString('utf8');
      const closing = redactor.window(last, start, last.length).toString('utf8');
      return { text: `${first}\n[… ${bytesOmitted} bytes left out …]\n${closing}`, bytesOmitted };
    },
    whole() {
      const all = spool.isStarted() ? spool.whole() : head;
      return redactor.window(all, 0, Math.min(all.length, SPILL_BYTES_MAX));
    },
    takeNew() {
      const last = Buffer.concat(tail);
      // Bytes that may begin a secret wait until the next bytes decide it.
      const end = last.length - redactor.pending(last);
      const fresh = Math.max(0, total - (last.length - end) - taken);
      const start = nextCharacter(last, Math.max(0, end - Math.min(fresh, PROGRESS_BYTES_MAX)));
      taken = total - (last.length - end);
      return start < end ? redactor.window(last, start, end).toString('utf8') : '';
    },
    close() {
      spool.close();
      tail = [];
    },
  };

  /** Fills the head, and returns the rest of the chunk, which goes to the file. */
  function fillHead(chunk: Buffer, room: number): Buffer {
    head = Buffer.concat([head, chunk.subarray(0, room)]);
    return chunk.subarray(room);
  }
}

/**
 * A file of at most `bytesMax` bytes. When the disk is full, only the middle of the output is lost. `keep` must not throw:
 * a stream listener calls it, and no caller would catch the error.
 */
function newSpool(path: string, bytesMax: number) {
  let fd: number | null = null;
  let bytes = 0;
  let started = false;
  let failure: unknown = null;
  return {
    isStarted: () => started,
    keep(chunk: Buffer): void {
      started = true;
      const kept = chunk.subarray(0, bytesMax - bytes);
      if (failure !== null || kept.length === 0) return;
      try {
        fd ??= openSync(path, 'wx+', 0o600);
        for (let at = 0; at < kept.length;) at += writeSync(fd, kept, at);
        bytes += kept.length;
      } catch (error) {
        failure = error;
      }
    },
    /** Throws when writing failed. */
    whole(): Buffer {
      if (failure !== null) throw failure;
      return fd === null ? Buffer.alloc(0) : readRange(fd, 0, bytes);
    },
    close(): void {
      if (fd !== null) closeSync(fd);
      rmSync(path, { force: true });
    },
  };
}

/** The first byte of the character that byte `at` belongs to. */
export function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && at - start < 3 && isContinuation(bytes[start])) start -= 1;
  return isContinuation(bytes[start]) ? at : start;
}

/** The first byte at or after `at` that starts a character. */
export function nextCharacter(bytes: Buffer, at: number): number {
  let start = Math.max(0, at);
  while (start < bytes.length && start - at < 3 && isContinuation(bytes[start])) start += 1;
  return isContinuation(bytes[start]) ? Math.max(0, at) : start;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
