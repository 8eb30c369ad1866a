// Answers in few large pieces, and in very many small ones: both are read as any other, with other work in between.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toObservedCalls } from '../../../../bridge/generate/observed-calls.ts';
import { newCollectedBytes } from '../../../../bridge/providers/api/collected-bytes.ts';
import { loadDialect } from '../../../../bridge/providers/api/dialects.ts';
import { newFrames } from '../../../../bridge/providers/api/frames.ts';
import { parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { readAnswer } from '../../../../bridge/providers/api/read-body.ts';
import type { GenerateReply, ReplyDelta } from '../../../../bridge/providers/provider.ts';
import { STREAM_SLICE_BYTES } from '../../../../schemas/limits.ts';
import type { ModelServerName } from '../../../../src/files/model-servers.ts';
import { type Steps, runSteps } from '../../../../src/core/steps.ts';

const SILENCE = {
  signal: new AbortController().signal,
  message: '',
  heard: () => undefined,
  isOver: () => false,
  end: () => undefined,
};
const TEXT = 'some words, "quoted",\nand é\n'.repeat(20_000);
const part = (text: string): object => ({ content: { parts: [{ text }] }, finishReason: 'STOP' });
const sse = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

const ANSWERS: readonly (readonly [string, ModelServerName, (text: string) => string])[] = [
  ['chat, one event', 'openai-chat', (text) => sse({ choices: [{ delta: { content: text }, finish_reason: 'stop' }] })],
  [
    'chat, one body',
    'openai-chat',
    (text) => JSON.stringify({ choices: [{ message: { content: text }, finish_reason: 'stop' }] }),
  ],
  [
    'responses, one event',
    'openai-responses',
    (text) =>
      sse({
        type: 'response.completed',
        response: { status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text }] }] },
      }),
  ],
  [
    'messages, one event',
    'anthropic',
    (text) =>
      sse(
        { type: 'message_start', message: { type: 'message' } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text } },
        { type: 'message_stop' },
      ),
  ],
  ['gemini, one event', 'gemini', (text) => sse({ candidates: [part(text)] })],
  ['gemini, one body', 'gemini', (text) => JSON.stringify([{ candidates: [part(text)] }])],
];

interface Read {
  readonly reply: GenerateReply;
  readonly deltas: readonly ReplyDelta[];
  /** Turns of the event loop that other work had. */
  readonly turns: number;
}

async function read(api: ModelServerName, answer: string, bytesOfPart = Infinity): Promise<Read> {
  const dialect = await loadDialect(api);
  const bytes = new TextEncoder().encode(answer);
  const deltas: ReplyDelta[] = [];
  let turns = 0;
  let running = true;
  const turn = (): void => {
    turns += 1;
    if (running) setImmediate(turn);
  };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += bytesOfPart) controller.enqueue(bytes.slice(at, at + bytesOfPart));
      controller.close();
    },
  });
  setImmediate(turn);
  const onDelta = (delta: ReplyDelta): void => void deltas.push(delta);
  const final = await readAnswer(new Response(body), SILENCE, dialect, { onDelta, received: newCollectedBytes() });
  running = false;
  return { reply: runSteps(dialect.read(final)), deltas, turns };
}

test.each(ANSWERS)('%s with a long text is read in many turns of the event loop', async (_what, api, answerOf) => {
  const { reply, deltas, turns } = await read(api, answerOf(TEXT));
  expect(reply.content === TEXT).toBe(true);
  expect(turns).toBeGreaterThan((2 * TEXT.length) / STREAM_SLICE_BYTES);
  const shown = deltas.map(({ text }) => text);
  expect(shown.every((text) => text.length <= STREAM_SLICE_BYTES)).toBe(true);
  expect(['', TEXT]).toContain(shown.join(''));
});

test.each(ANSWERS)('%s that comes a byte at a time lets other work run as well', async (_what, api, answerOf) => {
  const text = TEXT.slice(0, 10_000);
  const { reply, turns } = await read(api, answerOf(text), 1);
  expect(reply.content === text).toBe(true);
  expect(turns).toBeGreaterThan(10_000 / 256);
});

/** How often other work may run between the steps. */
function countSteps<T>(steps: Steps<T>): { readonly count: number; readonly result: T } {
  for (let count = 0; ; count += 1) {
    const { done, value } = steps.next();
    if (done === true) return { count, result: value };
  }
}

const SLICES = TEXT.length / STREAM_SLICE_BYTES;

/** Bodies with a text that is kept in an item. */
const ITEMS: readonly (readonly [ModelServerName, object])[] = [
  ['openai-chat', { choices: [{ message: { content: 'a', reasoning_content: TEXT } }] }],
  ['openai-responses', { status: 'completed', output: [{ type: 'reasoning', encrypted_content: TEXT }] }],
  ['anthropic', { type: 'message', content: [{ type: 'thinking', thinking: TEXT }] }],
  ['gemini', { candidates: [{ content: { parts: [{ text: TEXT, thought: true }] }, finishReason: 'STOP' }] }],
  ['bedrock', { output: { message: { content: [{ reasoningContent: { reasoningText: { text: TEXT } } }] } } }],
];

test.each(ITEMS)('%s: a long item is written in steps', async (api, body) => {
  const { count, result } = countSteps((await loadDialect(api)).read(parseExact(JSON.stringify(body))));
  expect(count).toBeGreaterThan(SLICES);
  expect(JSON.stringify(result.layout?.parts)).toContain(JSON.stringify(JSON.stringify(TEXT)).slice(1, -1));
});

const call = JSON.stringify({ text: TEXT });
const middle = call.length / 2;
const pieces = [call.slice(0, middle), call.slice(middle)];

/** Streams of a call with long arguments, in two pieces, of the APIs whose plain form has the arguments as a value. */
const CALLS: readonly (readonly [ModelServerName, readonly (readonly [string, object])[]])[] = [
  [
    'anthropic',
    [
      ['message_start', { type: 'message_start', message: { type: 'message' } }],
      ['content_block_start', { index: 0, content_block: { type: 'tool_use', id: 'a', name: 'x', input: {} } }],
      ...pieces.map((partial_json): readonly [string, object] => [
        'content_block_delta',
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } },
      ]),
      ['message_stop', {}],
    ],
  ],
  [
    'bedrock',
    [
      ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'a', name: 'x' } } }],
      ...pieces.map((input): readonly [string, object] => [
        'contentBlockDelta',
        { contentBlockIndex: 0, delta: { toolUse: { input } } },
      ]),
      ['messageStop', { stopReason: 'tool_use' }],
    ],
  ],
];

test.each(CALLS)('%s: the joined arguments of a call are parsed in steps', async (api, events) => {
  const dialect = await loadDialect(api);
  const fold = dialect.newFold();
  for (const [name, data] of events) fold.add({ name, data: JSON.stringify(data) });
  const { count, result } = countSteps(fold.final());
  expect(count).toBeGreaterThan(SLICES);
  const { calls } = runSteps(dialect.read(result));
  expect(calls).toEqual([{ id: 'a', name: 'x', arguments: { text: TEXT } }]);
  // The report of the call, which is cut, is made in steps as well.
  expect(countSteps(toObservedCalls(1, [...calls, ...calls])).count).toBeGreaterThan(SLICES);
});

const MANY = Array.from({ length: 10_000 }, (_, index) => index);
const args = (text: string): object => ({ name: 'x', arguments: text });

/** Bodies with very many small calls. */
const CROWDS: readonly (readonly [ModelServerName, object])[] = [
  ['openai-chat', { choices: [{ message: { tool_calls: MANY.map(() => ({ function: args('{}') })) } }] }],
  ['openai-responses', { status: 'completed', output: MANY.map(() => ({ type: 'function_call', ...args('{}') })) }],
  ['anthropic', { type: 'message', content: MANY.map(() => ({ type: 'tool_use', name: 'x', input: {} })) }],
  [
    'gemini',
    { candidates: [{ content: { parts: MANY.map(() => ({ functionCall: { name: 'x' } })) }, finishReason: 'STOP' }] },
  ],
  ['bedrock', { output: { message: { content: MANY.map(() => ({ toolUse: { name: 'x', input: {} } })) } } }],
];

test.each(CROWDS)('%s: very many calls are read in steps', async (api, body) => {
  const { count, result } = countSteps((await loadDialect(api)).read(parseExact(JSON.stringify(body))));
  expect(result.calls).toHaveLength(MANY.length);
  expect(count).toBeGreaterThanOrEqual(8);
});

test('a long event that is no JSON is refused as a short one is', async () => {
  const broken = (text: string): string => `data: {"choices":[{"delta":{"content":"${text}}]}\n\n`;
  const refused = (text: string): Promise<unknown> =>
    read('openai-chat', broken(text)).catch((error: unknown) => String(error));
  expect(await refused('x'.repeat(200_000))).toBe(await refused('x'));
  expect(await refused('x')).toContain('ProviderError');
});

test('events are the same with every kind of line end, however their bytes come', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('data: é', 'data:b', 'event: x', ': c', ''), { maxLength: 12 }),
      fc.infiniteStream(fc.constantFrom('\n', '\r\n')),
      fc.integer({ min: 1, max: 9 }),
      async (lines, ends, size) => {
        const events = async (text: string, bytesOfPart: number): Promise<readonly unknown[]> => {
          const frames = await newFrames('sse');
          const bytes = Buffer.from(text);
          const all: unknown[] = [];
          for (let at = 0; at < bytes.length; at += bytesOfPart) {
            all.push(...frames.feed(bytes.subarray(at, at + bytesOfPart)));
          }
          return [...all, ...frames.end()];
        };
        const mixed = lines.map((line) => `${line}${ends.next().value}`).join('');
        const returns = lines.map((line) => `${line}\r`).join('');
        const wanted = await events(lines.map((line) => `${line}\n`).join(''), Infinity);
        expect(await events(mixed, size)).toEqual(wanted);
        expect(await events(returns, size)).toEqual(wanted);
      },
    ),
  );
});

test('collected bytes are those that came, in order', () => {
  const sizes = fc.array(fc.oneof(fc.nat(9), fc.integer({ min: 2_000, max: 20_000 })), { maxLength: 20 });
  fc.assert(
    fc.property(sizes, (list) => {
      const collected = newCollectedBytes();
      for (let round = 0; round < 2; round += 1) {
        const parts = list.map((size, at) => new Uint8Array(size).fill(at + round));
        for (const each of parts) collected.add(each);
        const wanted = Buffer.concat(parts);
        expect(collected.size()).toBe(wanted.length);
        expect(collected.take().equals(wanted)).toBe(true);
        expect(collected.size()).toBe(0);
      }
    }),
  );
});
