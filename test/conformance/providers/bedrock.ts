// Recorded answers of Converse, compared with a second reader that is as simple as can be.
import { isDeepStrictEqual } from 'node:util';
import { type ExactJson, parseExact } from '../../../bridge/providers/api/exact-json.ts';
import { newAwsFrames } from '../../../bridge/providers/bedrock/aws-event-stream.ts';
import { bedrockConverse } from '../../../bridge/providers/bedrock/dialect.ts';
import {
  type AssistantMessage,
  type GenerateReply,
  type GenerateRequest,
  type Message,
} from '../../../bridge/providers/provider.ts';
import { brand } from '../../../schemas/ids.ts';
import type { StopReason } from '../../../schemas/model-turn.ts';
import { type ConverseEvent, converseEvents, framesOf } from '../../support/providers/converse-events.ts';
import type { RecordingCheck } from '../recording.ts';
import { runSteps } from '../../../src/core/steps.ts';

// The second reader trusts what it reads: a surprise shows as a TypeError or a difference.
type Any = any; // oxlint-disable-line typescript/no-explicit-any

export const bedrockCheck: RecordingCheck = {
  dialect: bedrockConverse,
  // The path names the model, whose family decides what goes back.
  faultsOf: ({ urlpath = '', response }) =>
    checkAnswer(JSON.stringify(response), decodeURIComponent(/\/model\/([^/]+)\//.exec(urlpath)?.[1] ?? 'unknown')),
};

/** Everything that must hold of one answer; empty when it does. */
export function checkAnswer(text: string, model: string): readonly string[] {
  const body = JSON.parse(text);
  const reply = runSteps(bedrockConverse.read(parseExact(text)));
  const failures: string[] = [];
  const expectSame = (what: string, got: unknown, wanted: unknown): void => {
    if (!isDeepStrictEqual(got, wanted)) {
      failures.push(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`);
    }
  };
  expectSame('read', seenIn(reply), naive(body));
  expectSame('sent back', sentBack(reply, model), sendable(body.output.message.content, model));
  const events = converseEvents(body);
  for (const size of [1, 7, 64, 1_000, 1_000_000]) {
    expectSame(`slices of ${size}`, canonical(streamed(events, size)), canonical(reply));
  }
  const whole = framesOf(events.filter(({ name }) => name !== 'metadata'));
  for (const end of new Set([0, 11, 12, whole.length >> 1, whole.length - 5, whole.length - 1])) {
    expectSame(`cut at ${end}`, finalOf(whole.subarray(0, end), 97), null);
  }
  return failures;
}

/** The reply to these events; null when they do not make one. */
export function streamed(events: readonly ConverseEvent[], size: number): GenerateReply | null {
  const final = finalOf(framesOf(events), size);
  return final === null ? null : runSteps(bedrockConverse.read(final));
}

/** With the items of the layout as values: the order of their fields says nothing. */
export const canonical = (reply: GenerateReply | null): unknown => {
  const parts = reply?.layout?.parts.map((part) =>
    Object.fromEntries(
      Object.entries(part).map(([key, value]) => [key, typeof value === 'string' ? parse(value) : value]),
    ),
  );
  return parts === undefined ? reply : { ...reply, layout: parts };
};

function finalOf(bytes: Uint8Array, size: number): ExactJson | null {
  const frames = newAwsFrames();
  const fold = bedrockConverse.newFold();
  for (let at = 0; at < bytes.length; at += size) {
    for (const event of frames.feed(bytes.subarray(at, at + size))) fold.add(event);
  }
  return frames.isClean() ? runSteps(fold.final()) : null;
}

const seenIn = ({ content = '', calls, usage, stop }: GenerateReply) => ({
  text: content,
  calls: calls.map(({ id, name, arguments: value, arguments_text }) => [
    id,
    name,
    value ?? parse(arguments_text ?? ''),
  ]),
  tokens: [usage?.input_tokens, usage?.output_tokens],
  stop: stop?.reason,
});

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const STOPS: Readonly<Record<string, StopReason>> = { end_turn: 'end', tool_use: 'calls', max_tokens: 'length' };

function naive({ output, stopReason, usage }: Any): ReturnType<typeof seenIn> {
  const blocks: Any[] = output.message.content;
  const calls = blocks.filter((block) => block.toolUse && block.toolUse.type !== 'server_tool_use');
  return {
    text: blocks
      .map((block) => block.text ?? block.citationsContent?.content.map((each: Any) => each.text).join('') ?? '')
      .join(''),
    calls: calls.map(({ toolUse: { toolUseId, name, input } }) => [toolUseId, name, input]),
    // The sum that the service itself states, where it states one.
    tokens: [(usage.totalTokens ?? usage.inputTokens + usage.outputTokens) - usage.outputTokens, usage.outputTokens],
    stop: STOPS[stopReason] ?? 'other',
  };
}

/** The content of the turn as the next request to the same model holds it. */
function sentBack(reply: GenerateReply, model: string): unknown {
  const turn = messageOf(reply, model);
  const results = turn.calls.map(({ id, name }): Message => ({
    role: 'tool',
    call_id: id,
    name,
    text: 'x',
    is_error: false,
  }));
  const messages: Message[] = [{ role: 'user', text: 'x' }, turn, ...results, { role: 'user', text: 'x' }];
  const { body } = bedrockConverse.encode(requestOf(messages, model), { model, baseUrl: 'http://x', stream: false });
  const sent = JSON.parse(body).messages as Any[];
  return sent.find(({ role }) => role === 'assistant')?.content ?? [];
}

/** The turn as it comes back in a later request. */
function messageOf({ content = '', calls, layout }: GenerateReply, model: string): AssistantMessage {
  return {
    role: 'assistant',
    text: content,
    calls: calls.map(({ id = '', name, arguments: value, arguments_text }) => ({
      id,
      name,
      arguments: arguments_text ?? JSON.stringify(value),
    })),
    ...(layout === undefined ? {} : { layout: { ...layout, model } }),
  };
}

const requestOf = (messages: readonly Message[], model: string): GenerateRequest => ({
  session_id: brand<'SessionId'>('session'),
  run_id: brand<'RunId'>('run'),
  turn: 1,
  provider: 'bedrock',
  model,
  instructions: null,
  output_tokens_max: null,
  tools: [],
  messages,
});

/**
 * What may be sent of a recorded turn: without the type `tool_use` and blank texts, without reasoning that was not signed
 * for a model that checks it, and without reasoning at the end.
 */
function sendable(content: readonly Any[], model: string): readonly unknown[] {
  const kept = content
    .filter(({ text }) => text === undefined || text.trim() !== '')
    .filter(
      ({ reasoningContent: reasoning }) =>
        !/claude|deepseek/.test(model) || !reasoning?.reasoningText || reasoning.reasoningText.signature,
    )
    .map((block) => {
      if (block.toolUse?.type !== 'tool_use') return block;
      const { toolUseId, name, input } = block.toolUse;
      return { toolUse: { toolUseId, name, input } };
    });
  return kept.slice(0, kept.findLastIndex((block) => !('reasoningContent' in block)) + 1);
}

/** A file of fixtures: an answer (`.json`), or a line for each event, named by its only key (`.chunks.txt`). */
export function readBedrockFixture(path: string, text: string): GenerateReply | null {
  if (path.endsWith('.json')) return runSteps(bedrockConverse.read(parseExact(text)));
  const events = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line): ConverseEvent => {
      const [name = '', data] = Object.entries(JSON.parse(line) as Record<string, unknown>)[0] ?? [];
      return { name, data: JSON.stringify(data) };
    });
  return streamed(events, 100);
}
