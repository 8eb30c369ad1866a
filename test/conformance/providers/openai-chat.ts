// Recorded traffic of Chat Completions servers through the dialect, next to a second reader that is as plain as can be.
import { isDeepStrictEqual } from 'node:util';
import { type ExactJson, parseExact } from '../../../bridge/providers/api/exact-json.ts';
import { newFrames } from '../../../bridge/providers/api/frames.ts';
import { openAiChat } from '../../../bridge/providers/openai-chat/dialect.ts';
import { type GenerateReply, type MessageCall, ProviderError } from '../../../bridge/providers/provider.ts';
import { chatRequestOf } from '../../support/bridge/chat-server.ts';
import { type RecordingCheck, bodyText } from '../recording.ts';
import { type Any, chunksOf, plainFinal, plainReading, sendable } from './openai-chat-reading.ts';
import { runSteps } from '../../../src/core/steps.ts';

export const openAiChatCheck: RecordingCheck = {
  dialect: openAiChat,
  faultsOf(recording) {
    const text = bodyText(recording);
    if (typeof recording.response_text === 'string') return checkStream(text);
    return checkBody(JSON.parse(text), runSteps(openAiChat.read(parseExact(text))));
  },
};

/** Everything that must hold of the text of a stream; empty when it does. */
async function checkStream(text: string): Promise<readonly string[]> {
  const reply = await streamed(text, text.length);
  const final = plainFinal(text);
  if (reply === null || final === null) throw new ProviderError('provider_retryable', 'the stream has no end marker');
  const faults = [...(await checkBody(final, reply))];
  for (const size of [7, 64, 1_000]) faults.push(...differ(`in slices of ${size}`, await streamed(text, size), reply));
  const marker = endOf(text);
  for (const cut of [0, marker >> 1, marker]) {
    faults.push(...differ(`cut at ${cut}`, await streamed(text.slice(0, cut), 997), null));
  }
  return faults;
}

/** Where the event that first says that the answer is finished begins. */
const endOf = (text: string): number =>
  Math.min(
    ...[/"finish_reason": ?["0-9][^"]/, /data: ?\[DONE\]/]
      .map((marker) => text.search(marker))
      .filter((at) => at >= 0)
      .map((at) => text.lastIndexOf('\n', at) + 1),
  );

/** Everything that must hold of a completion and its reading. */
async function checkBody(final: Any, reply: GenerateReply): Promise<readonly string[]> {
  const own = reply.layout?.model ?? 'any';
  const made = chunksOf(final);
  const events = [...made.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'];
  const faults = [
    ...differ('read', readingOf(reply), plainReading(final)),
    ...differ('sent back', sentBack(reply, own), sendable(final)),
    ...differ('elsewhere', saidIn(sentBack(reply, 'other-model')), saidIn(sendable(final))),
  ];
  for (const size of [1, 13, 1_000_000]) {
    faults.push(
      ...differ(`made, in slices of ${size}`, parsedItems(await streamed(events.join(''), size)), parsedItems(reply)),
    );
  }
  faults.push(...differ('made and cut', await streamed(events.slice(0, -2).join(''), 1_000), null));
  return faults;
}

/** The reply to a stream that comes in slices; null when it does not come to its end. */
async function streamed(text: string, size: number): Promise<GenerateReply | null> {
  const frames = await newFrames('sse');
  const fold = openAiChat.newFold();
  const bytes = Buffer.from(text);
  const add = (events: ReturnType<typeof frames.feed>): void => {
    for (const event of events) fold.add(event);
  };
  for (let at = 0; at < bytes.length; at += size) add(frames.feed(bytes.subarray(at, at + size)));
  try {
    add(frames.end());
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'provider_retryable') return null;
    throw error;
  }
  const final: ExactJson = runSteps(fold.final());
  return final === null ? null : runSteps(openAiChat.read(final));
}

/** The order of the fields in an item says nothing. */
function parsedItems(reply: GenerateReply | null): unknown {
  if (reply?.layout === undefined) return reply;
  const value = (text: unknown): unknown => (typeof text === 'string' ? JSON.parse(text) : text);
  const parts = reply.layout.parts.map((part) =>
    Object.fromEntries(Object.entries(part).map(([key, field]) => [key, value(field)])),
  );
  return { ...reply, layout: { ...reply.layout, parts } };
}

const readingOf = ({ content = '', calls, stop, usage }: GenerateReply) => ({
  text: content,
  calls: calls.map((call) => [call.id ?? '', call.name, call.arguments_text ?? JSON.stringify(call.arguments)]),
  stop: stop?.reason ?? null,
  usage: usage === undefined ? null : { ...usage },
});

/** The turn as the next request holds it. */
function sentBack(reply: GenerateReply, model: string): unknown {
  const calls = reply.calls.map((call, index): MessageCall => ({
    id: call.id ?? `call-1-${index}`,
    name: call.name,
    arguments: call.arguments_text ?? JSON.stringify(call.arguments),
  }));
  const { content: text = '', layout } = reply;
  const request = chatRequestOf({
    messages: [
      { role: 'user', text: 'x' },
      { role: 'assistant', text, calls, ...(layout === undefined ? {} : { layout }) },
      { role: 'user', text: 'x' },
    ],
  });
  const { body } = openAiChat.encode(request, { model, baseUrl: 'https://host.test/v1', stream: false });
  return JSON.parse(body).messages.find(({ role }: Any) => role === 'assistant') ?? null;
}

function saidIn(message: Any): unknown {
  const content = message?.content ?? message?.refusal ?? '';
  const text = typeof content === 'string' ? content : content.map((part: Any) => part.text ?? '').join('');
  const body = (call: Any): Any => call.function ?? { name: call.custom.name, arguments: wrapped(call.custom.input) };
  return [text, (message?.tool_calls ?? []).map((call: Any) => [body(call).name, body(call).arguments])];
}

const wrapped = (text: string): string => JSON.stringify({ invalid_arguments: text });

const differ = (what: string, got: unknown, wanted: unknown): readonly string[] =>
  isDeepStrictEqual(got, wanted) ? [] : [`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`];
