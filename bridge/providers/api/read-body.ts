// Reads the body of an answer: events, or one JSON text.
import { ERROR_BYTES_MAX, REPLY_BYTES_MAX, STREAM_SLICE_BYTES } from '../../../schemas/limits.ts';
import { breath, inBreaths } from '../../secrets/breath.ts';
import { ProviderError, type ReplyDelta } from '../provider.ts';
import { type CollectedBytes, newCollectedBytes } from './collected-bytes.ts';
import type { Dialect, StreamEvent } from './dialect.ts';
import type { ExactJson } from './exact-json.ts';
import { type Frames, newFrames, newTextReader } from './frames.ts';
import { parseLong } from './long-json.ts';
import { newCostGuard } from './refuse-costly.ts';
import type { Silence } from './silence.ts';

export type TakeDelta = (delta: ReplyDelta) => void;

/** The final form of the answer; its bytes are added to `received`. Throws a {@link ProviderError} when it is not whole. */
export async function readAnswer(
  response: Response,
  silence: Silence,
  dialect: Dialect,
  { onDelta, received }: { readonly onDelta: TakeDelta; readonly received: CollectedBytes },
): Promise<ExactJson> {
  const slices = readSlices(response, silence, received);
  const first = await firstSlice(slices);
  if (first === null) throw new ProviderError('provider_retryable', 'the answer is empty');
  // Servers send either form under any content type: a JSON text begins with a bracket, and no stream does.
  if (first[0] === 0x7b || first[0] === 0x5b) return await readPlain(first, slices);
  return await readStream(first, slices, dialect, onDelta);
}

type Slices = AsyncGenerator<Uint8Array>;

/** The first slice without white space and a byte order mark before it; null when there is nothing else. */
async function firstSlice(slices: Slices): Promise<Uint8Array | null> {
  // Not with for-await, which would end the slices.
  for (let next = await slices.next(); next.done !== true; next = await slices.next()) {
    const at = next.value.findIndex((byte) => !BLANK.has(byte));
    if (at >= 0) return next.value.subarray(at);
  }
  return null;
}

const BLANK: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09, 0xef, 0xbb, 0xbf]);

async function readPlain(first: Uint8Array, slices: Slices): Promise<ExactJson> {
  const decode = newTextReader();
  const open = newCollectedBytes();
  open.add(first);
  const texts: string[] = [];
  for await (const slice of slices) {
    open.add(slice);
    if (open.size() >= STREAM_SLICE_BYTES) texts.push(decode(open.take()));
  }
  texts.push(decode(open.take()), decode(null));
  try {
    // The pieces need not be kept beside the whole.
    return await parseLong(texts.splice(0).join(''));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ProviderError('provider_retryable', 'the answer is not valid JSON');
    throw error;
  }
}

async function readStream(first: Uint8Array, slices: Slices, dialect: Dialect, onDelta: TakeDelta): Promise<ExactJson> {
  const frames: Frames = await newFrames(dialect.framing);
  const fold = dialect.newFold();
  const refuse = newCostGuard();
  const add = async (events: readonly StreamEvent[]): Promise<void> => {
    for (const event of events) {
      // Nothing follows the end marker, though some servers keep the connection open, and some reset it.
      if (fold.isClosed()) return;
      const isLong = event.data.length > STREAM_SLICE_BYTES;
      if (!isLong) refuse(event.data);
      for (const delta of fold.add(isLong ? await parsed(event, refuse) : event)) {
        if (delta.text.length <= STREAM_SLICE_BYTES) onDelta(delta);
        else await inSlices(delta, onDelta);
      }
    }
  };
  await add(frames.feed(first));
  if (!fold.isClosed()) {
    for await (const slice of slices) {
      await add(frames.feed(slice));
      if (fold.isClosed()) break;
    }
  }
  await slices.return(undefined);
  if (!fold.isClosed()) await add(frames.end());
  const final = await inBreaths(fold.final());
  if (final === null) throw new ProviderError('provider_retryable', 'the answer ended before it was complete');
  return final;
}

/** Data that are not JSON are left to the dialect. */
async function parsed(event: StreamEvent, refuse: (text: string) => void): Promise<StreamEvent> {
  try {
    return { ...event, json: await parseLong(event.data, { refuse }) };
  } catch (error) {
    if (error instanceof SyntaxError) return event;
    throw error;
  }
}

/** Keys are looked for in each delta. */
async function inSlices({ kind, text }: ReplyDelta, onDelta: TakeDelta): Promise<void> {
  for (let at = 0; at < text.length; at += STREAM_SLICE_BYTES) {
    onDelta({ kind, text: text.slice(at, at + STREAM_SLICE_BYTES) });
    await breath();
  }
}

/** The body in slices of bounded size; other work of the process runs between them. */
async function* readSlices(response: Response, silence: Silence, received: CollectedBytes): Slices {
  if (response.body === null) return;
  let bytes = 0;
  let sinceBreath = 0;
  for await (const part of response.body as AsyncIterable<Uint8Array>) {
    silence.heard();
    bytes += part.length;
    if (bytes > REPLY_BYTES_MAX) {
      throw new ProviderError('provider_terminal', `the answer is larger than ${REPLY_BYTES_MAX} bytes`);
    }
    received.add(part);
    for (let at = 0; at < part.length; at += STREAM_SLICE_BYTES) {
      const slice = part.subarray(at, at + STREAM_SLICE_BYTES);
      yield slice;
      // A part of one byte takes as long as one of hundreds.
      sinceBreath += Math.max(slice.length, PART_BYTES);
      if (sinceBreath < STREAM_SLICE_BYTES) continue;
      sinceBreath = 0;
      await breath();
    }
  }
}

const PART_BYTES = 256;

/** The beginning of an error's text; only that matters, and a truncated one is still an error. */
export async function readErrorText(response: Response, silence: Silence, received: CollectedBytes): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const slice of readSlices(response, silence, received)) {
      text += decoder.decode(slice, { stream: true });
      if (text.length > ERROR_BYTES_MAX) break;
    }
  } catch {
    text ||= 'the error message was not received';
  }
  return text;
}
