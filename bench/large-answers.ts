// The largest answers that a model server may send, each in one piece of JSON, and how a bridge reads one.
import { apiProvider } from '../bridge/providers/api/api-provider.ts';
import type { GenerateReply, GenerateRequest } from '../bridge/providers/provider.ts';
import { brand } from '../schemas/ids.ts';
import { REPLY_BYTES_MAX, STREAM_SLICE_BYTES } from '../schemas/limits.ts';
import { systemClock } from '../src/clock.ts';

/** The key of the server, which some of the answers repeat. */
const KEY = 'sk-bench-key-of-32-characters-00';
const WORDS = 'some words of a "long" text\n';

type Shape = 'line' | 'body';

/** An answer in one event of a stream, or in one body, of at most so many bytes. */
export function largeAnswer(shape: Shape, bytes: number, withKey: boolean): Buffer {
  const words = WORDS.repeat(Math.floor((bytes - 1_024) / (WORDS.length + 3)));
  const text = withKey ? `${words}${KEY}` : words;
  const choice = { index: 0, finish_reason: 'stop' };
  const json = JSON.stringify({
    choices: [{ ...choice, [shape === 'line' ? 'delta' : 'message']: { content: text } }],
  });
  return Buffer.from(shape === 'line' ? `data: ${json}\n\ndata: [DONE]\n\n` : json);
}

export const LARGEST_BYTES = REPLY_BYTES_MAX;

/** Reads an answer as a bridge does, from the bytes to the reply and its record without the key. */
export const readAsBridge = (answer: Buffer): Promise<GenerateReply> =>
  apiProvider({
    api: 'openai-chat',
    baseUrl: 'https://localhost/v1',
    apiKey: KEY,
    clock: systemClock,
    transport: () => Promise.resolve(new Response(inPieces(answer))),
  }).generate(REQUEST, new AbortController().signal);

const REQUEST: GenerateRequest = {
  session_id: brand('s'),
  run_id: brand('run-1'),
  turn: 1,
  provider: 'openai',
  model: 'm',
  instructions: null,
  output_tokens_max: null,
  tools: [],
  messages: [{ role: 'user', text: 'go' }],
};

/** Each piece is memory of its own, as a socket gives it. */
function inPieces(bytes: Buffer): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(Uint8Array.from(bytes.subarray(at, at + STREAM_SLICE_BYTES)));
      at += STREAM_SLICE_BYTES;
    },
  });
}
