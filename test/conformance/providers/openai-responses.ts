// Recorded traffic of the Responses API through its dialect, next to a second reader that is as plain as can be.
import { isDeepStrictEqual } from 'node:util';
import { createParser } from 'eventsource-parser';
import type { StreamEvent } from '../../../bridge/providers/api/dialect.ts';
import { type ExactJson, parseExact } from '../../../bridge/providers/api/exact-json.ts';
import { openAiResponses } from '../../../bridge/providers/openai-responses/dialect.ts';
import {
  type GenerateReply,
  type GenerateRequest,
  type Message,
  type MessageCall,
  ProviderError,
} from '../../../bridge/providers/provider.ts';
import { brand } from '../../../schemas/ids.ts';
import { type Recording, type RecordingCheck, bodyText } from '../recording.ts';
import { type Raw, type Reading, plainFinal, plainReading, sentBack } from './openai-responses-reading.ts';
import { runSteps } from '../../../src/core/steps.ts';

export const openAiResponsesCheck: RecordingCheck = { dialect: openAiResponses, faultsOf: checkTurn };

function checkTurn(recording: Recording): readonly string[] {
  const text = bodyText(recording);
  const streamed = typeof recording.response_text === 'string';
  const final = streamed ? fold(eventsOf(text, text.length)) : parseExact(text);
  if (final === null) throw new ProviderError('provider_retryable', 'the stream has no end marker');
  const reply = runSteps(openAiResponses.read(final));
  const plain = streamed ? plainFinal(text) : (JSON.parse(text) as Raw);
  const there = itemsOf(reply, 'another-model');
  return [
    ...differ('the reply', readingOf(reply), plainReading(plain)),
    ...differ('sent back', itemsOf(reply, reply.layout?.model ?? 'any'), sentBack(plain)),
    ...differ('to another model', saidIn(there), {
      text: reply.content ?? '',
      calls: plainReading(plain).calls.length,
    }),
    ...(streamed ? checkStream(text, reply) : []),
    ...checkMadeStream(plain, reply),
  ];
}

const differ = (what: string, got: unknown, expected: unknown): readonly string[] =>
  isDeepStrictEqual(got, expected) ? [] : [`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(expected)}`];

/** What is left of a turn without its items: its text in one message, and its calls. */
const saidIn = (items: readonly Raw[]): { readonly text: string; readonly calls: number } => ({
  text: items.map(({ content }) => (typeof content === 'string' ? content : '')).join(''),
  calls: items.filter(({ type }) => type === 'function_call').length,
});

function readingOf({ content = '', calls, stop, usage }: GenerateReply): Reading {
  return {
    text: content,
    calls: calls.map((call) => ({ id: call.id ?? '', name: call.name, arguments: argumentsOf(call) })),
    stop: stop?.reason ?? 'end',
    usage:
      usage === undefined
        ? null
        : [
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens ?? 0,
            usage.cache_write_tokens ?? 0,
            usage.reasoning_tokens ?? 0,
          ],
  };
}

/** An empty text is read as no arguments. */
const argumentsOf = ({ arguments_text, arguments: value }: GenerateReply['calls'][number]): string =>
  arguments_text ?? (isDeepStrictEqual(value, {}) ? '' : JSON.stringify(value));

/** The items of a turn as they go back, without the message before it and the results after. */
function itemsOf(reply: GenerateReply, model: string): readonly Raw[] {
  const calls = reply.calls.map((call, index): MessageCall => {
    return { id: call.id ?? `call-1-${index}`, name: call.name, arguments: argumentsOf(call) };
  });
  const { layout } = reply;
  const messages: readonly Message[] = [
    { role: 'user', text: 'q' },
    { role: 'assistant', text: reply.content ?? '', calls, ...(layout === undefined ? {} : { layout }) },
    ...calls
      .map(({ id, name }) => ({ role: 'tool', call_id: id, name, text: 'done', is_error: false }) as const)
      .reverse(),
  ];
  const request: GenerateRequest = {
    session_id: brand<'SessionId'>('s'),
    run_id: brand<'RunId'>('r'),
    turn: 1,
    provider: 'openai',
    model,
    instructions: null,
    output_tokens_max: null,
    tools: [],
    messages,
  };
  const { body } = openAiResponses.encode(request, { model, baseUrl: 'https://host', stream: false });
  const { input } = JSON.parse(body) as { readonly input: readonly Raw[] };
  const end = input.length - calls.length;
  const answered = input.slice(end).map((item) => (item.type?.endsWith('_call_output') === true ? item.call_id : null));
  const [first] = input;
  if (
    first?.role !== 'user' ||
    !isDeepStrictEqual(
      answered,
      calls.map(({ id }) => id),
    )
  ) {
    return [{ type: `the results are ${JSON.stringify(answered)}` }];
  }
  return input.slice(1, end);
}

function checkStream(text: string, reply: GenerateReply): readonly string[] {
  const sliced = [1, 7, 64].map((size) => fold(eventsOf(text, size)));
  const events = eventsOf(text, text.length);
  const end = events.findIndex((_, index) => fold(events.slice(0, index + 1)) !== null);
  const emptied = events.slice(0, end + 1).map((event, index) => (index === end ? withoutOutput(event) : event));
  const gathered = runSteps(openAiResponses.read(fold(emptied) ?? null));
  return [
    ...sliced.flatMap((final) =>
      differ('sliced', final === null ? null : runSteps(openAiResponses.read(final)), reply),
    ),
    ...differ('gathered', readingOf(gathered), readingOf(reply)),
  ];
}

/** The end of the stream as servers send it that leave the output empty. */
function withoutOutput({ name, data }: StreamEvent): StreamEvent {
  const event = JSON.parse(data) as { readonly response: object };
  return { name, data: JSON.stringify({ ...event, response: { ...event.response, output: [] } }) };
}

function checkMadeStream(plain: Raw, reply: GenerateReply): readonly string[] {
  const events = madeStream(plain);
  const text = events.map(({ name, data }) => `event: ${name}\ndata: ${data}\n\n`).join('');
  const half = events.slice(0, -1).map((_, index) => fold(events.slice(0, index + 1)));
  return [
    ...[1, 5, 4_096].flatMap((size) => {
      const final = fold(eventsOf(text, size));
      return differ('made stream', final === null ? null : runSteps(openAiResponses.read(final)), reply);
    }),
    ...differ(
      'cut stream',
      half.filter((final) => final !== null),
      [],
    ),
  ];
}

/** A stream that tells the items in deltas and ends with an empty output. */
function madeStream(plain: Raw): readonly StreamEvent[] {
  const events: { readonly type: string }[] = [{ type: 'response.created' }];
  (plain.output ?? []).forEach((item, output_index) => {
    const opened = {
      ...item,
      ...(item.type === 'message' ? { content: [] } : item.type === 'function_call' ? { arguments: '' } : {}),
    };
    events.push({ type: 'response.output_item.added', output_index, item: opened } as { type: string });
    const parts = item.type === 'message' && typeof item.content === 'object' ? item.content : [];
    parts.forEach((part, content_index) => {
      const place = { output_index, content_index };
      events.push({ type: 'response.content_part.added', ...place, part: { ...part, text: '' } } as { type: string });
      for (const delta of halves(part.text ?? ''))
        events.push({ type: 'response.output_text.delta', ...place, delta } as { type: string });
    });
    if (item.type === 'function_call') {
      for (const delta of halves(item.arguments ?? '')) {
        events.push({ type: 'response.function_call_arguments.delta', output_index, delta } as { type: string });
      }
    }
  });
  const type = plain.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  events.push({ type, response: { ...plain, output: [] } } as { type: string });
  return events.map((event) => ({ name: event.type, data: JSON.stringify(event) }));
}

const halves = (text: string): readonly string[] => {
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
};

/** The events of a stream that arrives in slices of this many bytes. */
function eventsOf(text: string, size: number): readonly StreamEvent[] {
  const events: StreamEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ name: event ?? null, data }) });
  const decoder = new TextDecoder();
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size)
    parser.feed(decoder.decode(bytes.subarray(at, at + size), { stream: true }));
  return events;
}

function fold(events: readonly StreamEvent[]): ExactJson | null {
  const folding = openAiResponses.newFold();
  for (const event of events) folding.add(event);
  return runSteps(folding.final());
}
