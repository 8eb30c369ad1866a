// Frames: four bytes with a length, the higher first, then so many bytes of JSON in UTF-8. The reader takes the bytes in
// whatever pieces they come, and gives the texts of the whole frames; what they say is the business of others.
import { FRAME_BYTES_MAX } from '../../../schemas/limits.ts';

const HEAD_BYTES = 4;

/** Why the bytes are no frames: nothing after them can be read. */
export type FrameFault = 'too_large' | 'invalid_frame';

export interface ReadFrames {
  readonly texts: readonly string[];
  readonly fault: FrameFault | null;
}

export interface FrameReader {
  /** The frames that these bytes complete, and the fault that ends them; after one, nothing more is read. */
  read(bytes: Uint8Array): ReadFrames;
  /** Whether a frame has begun and is not whole. */
  isBegun(): boolean;
}

/** The bytes of a frame. */
export function encodeFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + length);
  bytes.writeUInt32BE(length, 0);
  bytes.write(text, HEAD_BYTES);
  return bytes;
}

export function newFrameReader(bytesMax = FRAME_BYTES_MAX): FrameReader {
  const head = Buffer.alloc(HEAD_BYTES);
  /** The bytes of the frame that has begun; null while its head is not whole. */
  let body: Buffer | null = null;
  /** How many bytes of the head, or of the body, are there. */
  let used = 0;
  let fault: FrameFault | null = null;

  /** Copied as they come: a small piece keeps all of the buffer in which it was read. */
  function copy(to: Buffer, bytes: Buffer, at: number): number {
    const copied = bytes.copy(to, used, at, Math.min(bytes.length, at + to.length - used));
    used += copied;
    return copied;
  }

  /** The length that a whole head states; null when it is more than a frame may have. */
  function lengthAt(bytes: Buffer, at: number): number | null {
    const length = bytes.readUInt32BE(at);
    if (length > bytesMax) fault = 'too_large';
    return fault === null ? length : null;
  }

  function add(texts: string[], bytes: Buffer): void {
    const text = textOf(bytes);
    if (text === null) fault = 'invalid_frame';
    else texts.push(text);
  }

  /** Reads on in the frame that has begun, or begins one; returns how many bytes that took. */
  function readOn(bytes: Buffer, at: number, texts: string[]): number {
    if (body === null) {
      const copied = copy(head, bytes, at);
      const length = used < HEAD_BYTES ? null : lengthAt(head, 0);
      if (length === null) return copied;
      used = 0;
      // Whole in these bytes, as most are: read where it is.
      if (bytes.length - at - copied >= length) {
        add(texts, bytes.subarray(at + copied, at + copied + length));
        return copied + length;
      }
      body = Buffer.allocUnsafeSlow(length);
      return copied;
    }
    const copied = copy(body, bytes, at);
    if (used < body.length) return copied;
    add(texts, body);
    body = null;
    used = 0;
    return copied;
  }

  return {
    isBegun: () => body !== null || used > 0,
    read(chunk) {
      const texts: string[] = [];
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      let at = fault === null ? 0 : bytes.length;
      while (at < bytes.length) {
        at += readOn(bytes, at, texts);
        if (fault !== null) break;
      }
      return { texts, fault };
    },
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text; null when the bytes are no UTF-8. */
function textOf(bytes: Buffer): string | null {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd')) return text;
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
