// Cuts the bytes of a stream into events.
import { isUtf8 } from 'node:buffer';
import { createParser } from 'eventsource-parser';
import { STREAM_SLICE_BYTES } from '../../../schemas/limits.ts';
import { ProviderError } from '../provider.ts';
import { newCollectedBytes } from './collected-bytes.ts';
import type { StreamEvent } from './dialect.ts';

export interface Frames {
  /** The events that these bytes complete. Throws a {@link ProviderError} for bytes that are no stream. */
  feed(bytes: Uint8Array): readonly StreamEvent[];
  /** The events that the end of the stream completes. Throws a {@link ProviderError} when it ends inside a frame. */
  end(): readonly StreamEvent[];
}

export const newFrames = async (framing: 'sse' | 'aws'): Promise<Frames> =>
  framing === 'sse' ? newSseFrames() : await newBinaryFrames();

/** Server-sent events (WHATWG HTML section 9.2). */
function newSseFrames(): Frames {
  let events: StreamEvent[] = [];
  const decode = newTextReader();
  const parser = createParser({
    onEvent({ event, data }) {
      if (data.length > 8 || data.trim() !== '') events.push({ name: event ?? null, data });
    },
    // A field that the standard does not know is ignored there. Here it may be a damaged `data`, without which the arguments of
    // a call might still be valid JSON, but not what the model wrote.
    onError({ type, line = '' }) {
      if (type === 'unknown-field') throw fault(`the stream has a line that is not an event: ${line.slice(0, 80)}`);
    },
  });
  const take = (text: string): readonly StreamEvent[] => {
    parser.feed(text);
    const taken = events;
    events = [];
    return taken;
  };
  const lines = newLineFeeds();
  // A line that comes a few bytes at a time waits, so that it is not kept as so many texts.
  const open = newCollectedBytes();
  return {
    feed(bytes) {
      open.add(bytes);
      const waits = open.size() < STREAM_SLICE_BYTES && !bytes.includes(LINE_FEED) && !bytes.includes(RETURN);
      return waits ? [] : take(lines(decode(open.take())));
    },
    end: () => take(lines(`${decode(open.take())}${decode(null)}\n\n`)),
  };
}

const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/** Every line end as a line feed; a text may end between a return and its line feed. The parser is quick with line feeds only. */
function newLineFeeds(): (text: string) => string {
  let returned = false;
  return (text) => {
    const rest = returned && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') returned = text.endsWith('\r');
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
  };
}

async function newBinaryFrames(): Promise<Frames> {
  const { newAwsFrames } = await import('../bedrock/aws-event-stream.ts');
  const frames = newAwsFrames();
  return {
    feed: (bytes) => frames.feed(bytes),
    end() {
      if (!frames.isClean()) throw fault('the answer ended inside a message');
      return [];
    },
  };
}

/**
 * Decodes bytes that may end inside a character; null ends them. Bytes that are not UTF-8 fail the attempt. It takes a third of
 * the time of a TextDecoder that streams.
 */
export function newTextReader(): (bytes: Uint8Array | null) => string {
  let rest: Uint8Array = new Uint8Array();
  return (bytes) => {
    const all = bytes === null ? Buffer.from(rest) : rest.length === 0 ? asBuffer(bytes) : Buffer.concat([rest, bytes]);
    const whole = bytes === null ? all.length : all.length - openBytes(all);
    if (!isUtf8(all.subarray(0, whole))) throw fault('the answer is not valid UTF-8');
    rest = Uint8Array.from(all.subarray(whole));
    return all.toString('utf8', 0, whole);
  };
}

const asBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length);

/** How many bytes at the end begin a character that is not whole. */
function openBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? back : 0;
  }
  return 0;
}

const fault = (message: string): ProviderError => new ProviderError('provider_retryable', message);
