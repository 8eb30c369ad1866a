// Cuts the bytes of a stream into events.
import { createParser } from 'eventsource-parser';
import { type ProviderErrorCode, ProviderError } from '../provider.ts';
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
      if (data.trim() !== '') events.push({ name: event ?? null, data });
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
  return { feed: (bytes) => take(decode(bytes)), end: () => take(`${decode(null)}\n\n`) };
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

/** Decodes bytes that may end inside a character; null ends them. Bytes that are not UTF-8 fail the attempt. */
export function newTextReader(): (bytes: Uint8Array | null) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return (bytes) => {
    try {
      return bytes === null ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw fault('the answer is not valid UTF-8');
    }
  };
}

const fault = (message: string, code: ProviderErrorCode = 'provider_retryable'): ProviderError =>
  new ProviderError(code, message);
