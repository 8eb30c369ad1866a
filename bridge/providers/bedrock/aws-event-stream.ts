// Frames of `application/vnd.amazon.eventstream` (Amazon's "Event stream encoding"): the total length, the length of the
// headers and a CRC-32 of both, the headers, the payload, and a CRC-32 of all that. Numbers are big-endian. Nothing of a
// frame is used before both sums have been compared.
import { crc32 } from 'node:zlib';
import { REPLY_BYTES_MAX } from '../../../schemas/limits.ts';
import type { StreamEvent } from '../api/dialect.ts';
import { ProviderError } from '../provider.ts';

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

  const keep = (bytes: Buffer): void => {
    if (length + bytes.length > kept.length) {
      const larger = Buffer.allocUnsafe(Math.max(KEPT_BYTES_MIN, 2 * kept.length, length + bytes.length));
      kept.copy(larger, 0, 0, length);
      kept = larger;
    }
    length += bytes.copy(kept, length);
  };

  // Takes what the partial frame lacks; returns the rest, or null when the frame is still partial.
  const complete = (bytes: Buffer, add: (event: StreamEvent) => void): Buffer | null => {
    let rest = bytes;
    const take = (until: number): boolean => {
      const part = rest.subarray(0, Math.max(0, until - length));
      keep(part);
      rest = rest.subarray(part.length);
      return length >= until;
    };
    if (!take(PRELUDE_BYTES)) return null;
    const total = frameLength(kept, 0);
    if (!take(total)) return null;
    add(readFrame(kept.subarray(0, total)));
    length = 0;
    return rest;
  };

  return {
    feed(bytes) {
      if (fault !== null) throw fault;
      const events: StreamEvent[] = [];
      const add = (event: StreamEvent): void => void events.push(event);
      try {
        let rest: Buffer | null = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        if (length > 0) rest = complete(rest, add);
        while (rest !== null && rest.length >= PRELUDE_BYTES) {
          const total = frameLength(rest, 0);
          if (rest.length < total) break;
          add(readFrame(rest.subarray(0, total)));
          rest = rest.subarray(total);
        }
        if (rest !== null && rest.length > 0) keep(rest);
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
  if (crc32(bytes.subarray(at, at + LENGTHS_BYTES)) !== bytes.readUInt32BE(at + LENGTHS_BYTES)) {
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

function readFrame(frame: Buffer): StreamEvent {
  const end = frame.length - SUM_BYTES;
  if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) throw unreadable('its checksum is wrong');
  const headersEnd = PRELUDE_BYTES + frame.readUInt32BE(4);
  const headers = readHeaders(frame.subarray(PRELUDE_BYTES, headersEnd));
  return eventOf(headers, textOf(frame.subarray(headersEnd, end)));
}

type Headers = ReadonlyMap<string, string>;

function eventOf(headers: Headers, payload: string): StreamEvent {
  const type = headers.get(':message-type');
  if (type === 'exception') return { name: headers.get(':exception-type') ?? 'exception', data: payload };
  if (type !== 'error') return { name: headers.get(':event-type') ?? null, data: payload };
  // An error has no payload: its code and message are headers.
  const code = headers.get(':error-code') ?? 'error';
  return { name: code, data: JSON.stringify({ __type: code, message: headers.get(':error-message') ?? payload }) };
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
    const name = textOf(take(take(1).readUInt8()));
    const type = take(1).readUInt8();
    const fixed = VALUE_BYTES[type];
    if (fixed === undefined) throw unreadable(`its header ${name} has the unknown type ${type}`);
    const value = take(fixed ?? take(2).readUInt16BE());
    if (type === TEXT) found.set(name, textOf(value));
  }
  return found;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw unreadable('it has a text that is not UTF-8');
  }
}

const unreadable = (why: string): ProviderError =>
  new ProviderError('provider_retryable', `the server sent a frame that cannot be read: ${why}`);
