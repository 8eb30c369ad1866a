// Text as the content of an event: inline when it is small, else a blob. An output that exceeds what the model may read is
// cut in the middle, and the cut names the blob that holds the whole.
import type { BlobText, Content } from '../../schemas/content.ts';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, EXCERPT_CHARS, INLINE_CHARS_MAX } from '../../schemas/limits.ts';

export type PutBlob = (bytes: Uint8Array) => Promise<Digest>;

/** A whole output that is already a blob. */
export interface WholeOutput {
  readonly ref: Digest;
  readonly bytes: number;
}

/** The maximum size of the line that names a whole output, in bytes. */
export const WHOLE_NOTE_BYTES = 128;

/** Content of a text, never cut for the model; a blob holds at most `BLOB_BYTES_MAX`. */
export async function contentOf(text: string, putBlob: PutBlob, inlineMax = INLINE_CHARS_MAX): Promise<Content> {
  if (text.length <= inlineMax) return { text };
  const bytes = Buffer.from(text, 'utf8').subarray(0, BLOB_BYTES_MAX);
  return blobText(text, { ref: await putBlob(bytes), bytes: bytes.length });
}

export const blobText = (text: string, { ref, bytes }: WholeOutput): BlobText => ({
  ref,
  bytes,
  head: firstChars(text, EXCERPT_CHARS),
  tail: lastChars(text, EXCERPT_CHARS),
});

/**
 * Content of a call's output, of which the model reads at most `bytesMax` bytes: the head, a line that states how much is
 * cut and which blob holds the whole, the tail. That line may exceed a very small maximum.
 */
export function outputContent(text: string, limits: OutputLimits, putBlob: PutBlob): Content | Promise<Content> {
  const { bytesMax, whole } = limits;
  // A UTF-16 unit is at most three bytes of UTF-8, so a small text need not be measured.
  const small = whole === undefined && text.length <= INLINE_CHARS_MAX && 3 * text.length <= bytesMax;
  return small ? { text } : measuredContent(text, limits, putBlob);
}

interface OutputLimits {
  readonly bytesMax: number;
  readonly whole?: WholeOutput | undefined;
}

async function measuredContent(text: string, { bytesMax, whole }: OutputLimits, putBlob: PutBlob): Promise<Content> {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length > bytesMax) {
    const kept = bytes.subarray(0, BLOB_BYTES_MAX);
    const ref = whole?.ref ?? (await putBlob(kept));
    return contentOf(cutMiddle(bytes, bytesMax, { ref, bytes: whole?.bytes ?? kept.length }), putBlob);
  }
  const note = whole === undefined ? '' : `\n[the whole output is blob ${whole.ref}, ${whole.bytes} bytes]`;
  const fits = bytes.length + Buffer.byteLength(note) <= bytesMax;
  return contentOf(fits ? text + note : text, putBlob);
}

function cutMiddle(bytes: Buffer, bytesMax: number, whole: WholeOutput): string {
  const marker = (cut: number): string =>
    `\n[${cut} bytes cut here; the whole output is blob ${whole.ref}, ${whole.bytes} bytes]\n`;
  const budget = Math.max(0, bytesMax - Buffer.byteLength(marker(bytes.length)));
  const head = firstBytes(bytes, Math.ceil(budget / 2));
  const tail = lastBytes(bytes, Math.floor(budget / 2));
  return head.toString('utf8') + marker(bytes.length - head.length - tail.length) + tail.toString('utf8');
}

// A byte of the form 10xxxxxx continues a character (RFC 3629 section 3): a cut must not precede one.
const continues = (bytes: Buffer, at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;

function firstBytes(bytes: Buffer, max: number): Buffer {
  let end = Math.min(max, bytes.length);
  while (end > 0 && end < bytes.length && continues(bytes, end)) end -= 1;
  return bytes.subarray(0, end);
}

function lastBytes(bytes: Buffer, max: number): Buffer {
  let start = Math.max(0, bytes.length - max);
  while (start < bytes.length && continues(bytes, start)) start += 1;
  return bytes.subarray(start);
}

/** At most `max` UTF-16 units from the start, never ending in half a surrogate pair. */
export function firstChars(text: string, max: number): string {
  const part = text.slice(0, max);
  return part.isWellFormed() ? part : part.slice(0, -1);
}

/** At most `max` UTF-16 units from the end, never starting with half a surrogate pair. */
export function lastChars(text: string, max: number): string {
  const part = text.length <= max ? text : text.slice(-max);
  return part.isWellFormed() ? part : part.slice(1);
}
