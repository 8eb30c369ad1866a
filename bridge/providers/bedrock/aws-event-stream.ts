// Frames of `application/vnd.amazon.eventstream` (Amazon's "Event stream encoding"): the total length, the length of the
// headers and a CRC-32 of both, the headers, the payload, and a CRC-32 of all that. Numbers are big-endian. Nothing of a
// frame is used before both sums have been compared.
import { REPLY_BYTES_MAX } from '../../../schemas/limits.ts';
import type { StreamEvent } from '../api/dialect.ts';
import { ProviderError } from '../provider.ts';
import { crc32Of } from './crc-32.ts';

export interface AwsFrames {
  /**
   * The events of the frames that are complete now. Throws a {@link ProviderError} when the bytes are no frame; if events
   * come before that, they are returned, and the next call throws.
   */
  feed(bytes: Uint8Array): readonly StreamEvent[];
  /** The bytes so far are whole frames. */
  isClean(): boolean;
}

const LENGTHS_BYTES = 8;
const PRELUDE_BYTES = 12;
const SUM_BYTES = 4;
/** Bytes of a partial frame that are kept at first; the space doubles as they come, whatever length the frame claims. */
const KEPT_BYTES_MIN = 1_024;

export function newAwsFrames(): AwsFrames {
  // The bytes of the frame that is not complete.
  let kept: Buffer = Buffer.alloc(0);
  let length = 0;
  let fault: unknown = null;
  let known: { readonly bytes: Buffer; readonly toEvent: ToEvent } = { bytes: kept, toEvent: toEventOf(new Map()) };

  const keep = (bytes: Buffer): void => {
    if (length + bytes.length > kept.length) {
      const larger = Buffer.allocUnsafe(Math.max(KEPT_BYTES_MIN, 2 * kept.length, length + bytes.length));
      kept.copy(larger, 0, 0, length);
      kept = larger;
    }
    length += bytes.copy(kept, length);
  };

  // Takes what the partial frame lacks; returns where the rest begins, or null when the frame is still partial.
  const complete = (bytes: Buffer, events: StreamEvent[]): number | null => {
    let at = 0;
    const take = (until: number): boolean => {
      const part = bytes.subarray(at, at + Math.max(0, until - length));
      keep(part);
      at += part.length;
      return length >= until;
    };
    if (!take(PRELUDE_BYTES)) return null;
    const total = frameLength(kept, 0);
    if (!take(total)) return null;
    events.push(readFrame(kept, 0, total));
    length = 0;
    return at;
  };

  const readFrame = (bytes: Buffer, at: number, total: number): StreamEvent => {
    const end = at + total - SUM_BYTES;
    if (crc32Of(bytes, at, end) !== bytes.readUInt32BE(end)) throw unreadable('its checksum is wrong');
    const start = at + PRELUDE_BYTES;
    const headersEnd = start + bytes.readUInt32BE(at + 4);
    // Most frames have the headers of the one before.
    if (!isSame(known.bytes, bytes, start, headersEnd)) {
      const copy = Buffer.from(bytes.subarray(start, headersEnd));
      known = { bytes: copy, toEvent: toEventOf(readHeaders(copy)) };
    }
    return known.toEvent(textOf(bytes, headersEnd, end));
  };

  return {
    feed(bytes) {
      if (fault !== null) throw fault;
      const events: StreamEvent[] = [];
      try {
        const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        let at = length > 0 ? complete(all, events) : 0;
        if (at === null) return events;
        while (all.length - at >= PRELUDE_BYTES) {
          const total = frameLength(all, at);
          if (all.length - at < total) break;
          events.push(readFrame(all, at, total));
          at += total;
        }
        keep(all.subarray(at));
      } catch (error) {
        fault = error;
        if (events.length === 0) throw error;
      }
      return events;
    },
    isClean: () => fault === null && length === 0,
  };
}

/** The length of the frame that begins at `at`. Its prelude is complete. */
function frameLength(bytes: Buffer, at: number): number {
  const total = bytes.readUInt32BE(at);
  const headers = bytes.readUInt32BE(at + 4);
  if (crc32Of(bytes, at, at + LENGTHS_BYTES) !== bytes.readUInt32BE(at + LENGTHS_BYTES)) {
    throw unreadable('the checksum of its lengths is wrong');
  }
  if (total > REPLY_BYTES_MAX) {
    throw new ProviderError('provider_terminal', `a frame of the stream is larger than ${REPLY_BYTES_MAX} bytes`);
  }
  if (total < PRELUDE_BYTES + headers + SUM_BYTES) {
    throw unreadable(`its headers have ${headers} bytes, but the whole frame has ${total}`);
  }
  return total;
}

function isSame(known: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let at = 0; at < known.length; at += 1) if (known[at] !== bytes[start + at]) return false;
  return true;
}

type Headers = ReadonlyMap<string, string>;
type ToEvent = (payload: string) => StreamEvent;

/** What a frame with these headers says. */
function toEventOf(headers: Headers): ToEvent {
  const type = headers.get(':message-type');
  if (type !== 'error') {
    const name =
      headers.get(type === 'exception' ? ':exception-type' : ':event-type') ?? (type === 'exception' ? type : null);
    return (data) => ({ name, data });
  }
  // An error has no payload: its code and message are headers.
  const code = headers.get(':error-code') ?? type;
  const message = headers.get(':error-message');
  return (payload) => ({ name: code, data: JSON.stringify({ __type: code, message: message ?? payload }) });
}

const TEXT = 7;
/** How many bytes the values of each type have. Those of type 6 and {@link TEXT} state their length. */
const VALUE_BYTES: readonly (number | null)[] = [0, 0, 1, 2, 4, 8, null, null, 8, 16];

/** The headers whose values are text. */
function readHeaders(bytes: Buffer): Headers {
  const found = new Map<string, string>();
  let at = 0;
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) throw unreadable('its headers end in the middle of one');
    at += count;
    return bytes.subarray(at - count, at);
  };
  while (at < bytes.length) {
    const name = wholeText(take(take(1).readUInt8()));
    const type = take(1).readUInt8();
    const fixed = VALUE_BYTES[type];
    if (fixed === undefined) throw unreadable(`its header ${name} has the unknown type ${type}`);
    const value = take(fixed ?? take(2).readUInt16BE());
    if (type === TEXT) found.set(name, wholeText(value));
  }
  return found;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const wholeText = (bytes: Buffer): string => textOf(bytes, 0, bytes.length);

function textOf(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  // It stands for bytes that are not UTF-8, unless it was sent. The strict decoder, which is slower, tells.
  if (!text.includes('\ufffd')) return text;
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    throw unreadable('it has a text that is not UTF-8');
  }
}

const unreadable = (why: string): ProviderError =>
  new ProviderError('provider_retryable', `the server sent a frame that cannot be read: ${why}`);
