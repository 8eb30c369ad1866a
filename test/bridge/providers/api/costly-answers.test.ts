// Answers that cost far more to read than to receive. While a bridge reads one, it renews no lease.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiProvider } from '../../../../bridge/providers/api/api-provider.ts';
import type { Dialect } from '../../../../bridge/providers/api/dialect.ts';
import { loadDialect } from '../../../../bridge/providers/api/dialects.ts';
import type { GenerateReply, GenerateRequest } from '../../../../bridge/providers/provider.ts';
import { brand } from '../../../../schemas/ids.ts';
import { REPLY_DEPTH_MAX, REPLY_VALUES_MAX, REPLY_VALUES_SUM_MAX } from '../../../../schemas/limits.ts';
import { systemClock } from '../../../../src/clock.ts';
import type { ModelServerName } from '../../../../src/files/model-servers.ts';
import { type ModelServer, type WireAnswer, openModelServer } from '../../../support/providers/model-server.ts';

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

let server: ModelServer;
beforeAll(async () => {
  server = await openModelServer();
});
afterAll(() => server.close());

function ask(answer: WireAnswer): Promise<GenerateReply> {
  server.answer(answer);
  return apiProvider({ api: 'openai-chat', baseUrl: server.url, clock: systemClock }).generate(
    REQUEST,
    new AbortController().signal,
  );
}

const streamed = (field: string): WireAnswer => ({
  body: `data: {"choices":[{"index":0,"delta":{"content":"a","x":${field}},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`,
});
const plain = (field: string): WireAnswer => ({
  body: `{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"a","x":${field}}}]}`,
});

const DEEP = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
const WIDE = `[${'{},'.repeat(REPLY_VALUES_MAX)}1]`;

test.each([
  ['a stream', streamed],
  ['a plain body', plain],
])('%s that is nested too deeply, or has too many values, is refused in words that say so', async (_what, made) => {
  await expect(ask(made(DEEP))).rejects.toMatchObject({
    code: 'provider_terminal',
    message: `the server sent JSON that is nested more than ${REPLY_DEPTH_MAX} levels deep`,
  });
  await expect(ask(made(WIDE))).rejects.toMatchObject({
    code: 'provider_terminal',
    message: `the server sent JSON with more than ${REPLY_VALUES_MAX} commas and brackets in one piece`,
  });
});

test.each([
  ['a stream', streamed],
  ['a plain body', plain],
])('%s at the limits is read', async (_what, made) => {
  const nested = REPLY_DEPTH_MAX - 6;
  await expect(ask(made(`${'['.repeat(nested)}${']'.repeat(nested)}`))).resolves.toMatchObject({ content: 'a' });
  await expect(ask(made(`[${'1e5,'.repeat(REPLY_VALUES_MAX - 64)}1]`))).resolves.toMatchObject({ content: 'a' });
});

/** A stream of events with `marks` further commas and brackets each, and the event that ends it. */
const dense = (events: number, marks: number): WireAnswer => {
  const event = `data: {"choices":[{"index":0,"delta":{"x":[${'[],'.repeat(marks / 2)}1]}}]}\n\n`;
  return { body: event.repeat(events) + String(streamed('1').body) };
};

test.each([
  ['few large', 20, REPLY_VALUES_MAX - 64],
  ['many small', 6_000, 512],
])(
  'a stream of %s events that have too many values together is refused in words that say so',
  async (_, events, marks) => {
    await expect(ask(dense(events, marks))).rejects.toMatchObject({
      code: 'provider_terminal',
      message: `the answer has more than ${REPLY_VALUES_SUM_MAX} commas and brackets in all its events`,
    });
    await expect(ask(dense(Math.floor(events / 2), marks))).resolves.toMatchObject({ content: 'a' });
  },
);

test('brackets and commas inside a text are none', async () => {
  const text = JSON.stringify('[{,'.repeat(REPLY_VALUES_MAX));
  await expect(ask(streamed(text))).resolves.toMatchObject({ content: 'a' });
});

test('a refusal that is nested deeply keeps its status', async () => {
  const body = `{"error":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
  await expect(ask({ status: 400, body })).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('400') as string,
  });
});

const STARTED = { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 1 } } };

/** An event of each API to which every further one adds a field, at a place where the fold keeps fields. */
const GROWING: readonly (readonly [ModelServerName, string, readonly object[], (n: number) => object])[] = [
  ['openai-chat', 'a call', [], (n) => ({ choices: [{ delta: { tool_calls: [{ index: 0, [`z${n}`]: 1 }] } }] })],
  [
    'openai-chat',
    'the function of a call',
    [],
    (n) => ({ choices: [{ delta: { tool_calls: [{ index: 0, function: { [`z${n}`]: 1 } }] } }] }),
  ],
  ['openai-chat', 'audio', [], (n) => ({ choices: [{ delta: { audio: { [`z${n}`]: 1 } } }] })],
  ['anthropic', 'the message', [STARTED], (n) => ({ type: 'message_delta', delta: { [`z${n}`]: 1 } })],
  ['anthropic', 'usage', [STARTED], (n) => ({ type: 'message_delta', delta: {}, usage: { [`z${n}`]: 1 } })],
  ['gemini', 'grounding', [], (n) => ({ candidates: [{ groundingMetadata: { [`z${n}`]: 1 } }] })],
  ['gemini', 'citations', [], (n) => ({ candidates: [{ citationMetadata: { citationSources: [{ n }, { n }] } }] })],
  [
    'gemini',
    'a call in pieces',
    [{ candidates: [{ content: { parts: [{ functionCall: { name: 'f', willContinue: true } }] } }] }],
    (n) => ({ candidates: [{ content: { parts: [{ functionCall: { willContinue: true, [`z${n}`]: 1 } }] } }] }),
  ],
];

/** Milliseconds of processor time to fold the events. */
function costOfFold(dialect: Dialect, events: readonly object[]): number {
  const fold = dialect.newFold();
  const texts = events.map((event) => ({
    name: 'type' in event ? (event.type as string) : null,
    data: JSON.stringify(event),
  }));
  const before = process.cpuUsage();
  for (const event of texts) fold.add(event);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

test.each(GROWING)(
  '%s: further fields of %s cost as much at the end of a stream as at its beginning',
  async (api, _place, begun, event) => {
    const dialect = await loadDialect(api);
    const cost = (count: number): number => {
      const events = [...begun, ...Array.from({ length: count }, (_, n) => event(n))];
      return Math.min(...[1, 2, 3].map(() => costOfFold(dialect, events)));
    };
    const few = Math.max(cost(1_000), 10);
    expect(cost(4_000)).toBeLessThan(10 * few);
  },
);
