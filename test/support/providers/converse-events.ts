// The events that ConverseStream would send instead of an answer of Converse.
import { awsEventBytes } from './aws-frames.ts';

export interface ConverseEvent {
  readonly name: string;
  readonly data: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** `cut` says where a text is divided into deltas; each place counts from the start of the text. */
export function converseEvents(body: Fields, cut: (length: number) => readonly number[] = halves): ConverseEvent[] {
  const { output, stopReason, additionalModelResponseFields, ...metadata } = body as {
    output: { message: { role: string; content: readonly Fields[] } };
    stopReason: string;
    additionalModelResponseFields?: unknown;
  };
  const { role, content } = output.message;
  return [
    event('messageStart', { role }),
    ...content.flatMap((block, index) => blockEvents(block, index, cut)),
    event('messageStop', {
      stopReason,
      ...(additionalModelResponseFields === undefined ? {} : { additionalModelResponseFields }),
    }),
    event('metadata', metadata),
  ];
}

export const framesOf = (events: readonly ConverseEvent[]): Buffer =>
  Buffer.concat(events.map(({ name, data }) => awsEventBytes(name, data)));

const halves = (length: number): readonly number[] => [Math.floor(length / 2)];

// Each event is padded, as the service does it, so that sizes say nothing.
const event = (name: string, data: Fields): ConverseEvent => ({
  name,
  data: JSON.stringify({ ...data, p: 'abcdefghijklmnopqrstuvwxyz'.slice(0, JSON.stringify(data).length % 26) }),
});

function blockEvents(
  block: Fields,
  contentBlockIndex: number,
  cut: (length: number) => readonly number[],
): ConverseEvent[] {
  const delta = (value: Fields) => event('contentBlockDelta', { contentBlockIndex, delta: value });
  const start = (value: Fields) => event('contentBlockStart', { contentBlockIndex, start: value });
  const stop = event('contentBlockStop', { contentBlockIndex });
  const { text, toolUse, reasoningContent, citationsContent, toolResult } = block as Record<string, Fields>;
  if (typeof text === 'string') return [...pieces(text, cut).map((piece) => delta({ text: piece })), stop];
  if (toolUse !== undefined) {
    const { input, ...head } = toolUse;
    const written = JSON.stringify(input);
    const inputs = pieces(written === '{}' ? '' : written, cut);
    return [start({ toolUse: head }), ...inputs.map((piece) => delta({ toolUse: { input: piece } })), stop];
  }
  if (reasoningContent !== undefined) {
    return [...reasoningDeltas(reasoningContent, cut).map((each) => delta({ reasoningContent: each })), stop];
  }
  if (citationsContent !== undefined) {
    const { content, citations } = citationsContent as { content: [{ text: string }]; citations: Fields[] };
    const texts = pieces(content[0].text, cut).map((piece) => delta({ text: piece }));
    return [...texts, ...citations.map((citation) => delta({ citation })), stop];
  }
  if (toolResult !== undefined) {
    const { content, ...head } = toolResult;
    return [start({ toolResult: head }), delta({ toolResult: content }), stop];
  }
  return [delta(block), stop];
}

function reasoningDeltas(reasoning: Fields, cut: (length: number) => readonly number[]): readonly Fields[] {
  const { reasoningText, redactedContent } = reasoning as {
    reasoningText?: { text: string; signature?: string };
    redactedContent?: string;
  };
  if (reasoningText === undefined) return [{ redactedContent }];
  const { text, signature } = reasoningText;
  return [...pieces(text, cut).map((piece) => ({ text: piece })), ...(signature === undefined ? [] : [{ signature }])];
}

function pieces(text: string, cut: (length: number) => readonly number[]): string[] {
  const places = [0, ...cut(text.length), text.length].toSorted((a, b) => a - b);
  return places.slice(1).map((place, index) => text.slice(places[index], place));
}
