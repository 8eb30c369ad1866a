import { RETRY_CAP_MS_MAX } from '../../../../schemas/limits.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiProviderOptions, apiProvider } from '../../../../bridge/providers/api/api-provider.ts';
import type { GenerateReply, GenerateRequest } from '../../../../bridge/providers/provider.ts';
import { digestText } from '../../../../schemas/canonical.ts';
import { brand } from '../../../../schemas/ids.ts';
import { type Answer, type ChatServer, chatRequestOf, openChatServer } from '../../../support/bridge/chat-server.ts';
import { MODEL_UNNAMED } from '../../../../schemas/run.ts';
import { turnOf } from '../../../support/providers/turn-of.ts';

let server: ChatServer;
beforeAll(async () => {
  server = await openChatServer();
});
afterAll(() => server.close());

/** Records delays and ends them immediately, except the timer of the server's silence, which never fires. */
function newClock() {
  const waits: number[] = [];
  return {
    waits,
    now: () => Date.parse('2026-01-01T00:00:00Z'),
    after(ms: number, fn: () => void) {
      if (ms === SILENCE_MS) return () => undefined;
      waits.push(ms);
      queueMicrotask(fn);
      return () => undefined;
    },
  };
}
const SILENCE_MS = 12_345;

function ask(
  answers: readonly Answer[],
  request: Partial<GenerateRequest> = {},
  options: Partial<ApiProviderOptions> = {},
): Promise<GenerateReply> {
  server.answer(...answers);
  server.onAsked = () => undefined;
  const base = { baseUrl: server.url, clock: newClock(), silenceMs: SILENCE_MS };
  const provider = apiProvider({ api: 'openai-chat', ...base, ...options });
  return turnOf(provider.generate(chatRequestOf(request), new AbortController().signal));
}

const delta = (value: object, finish: string | null = null, index = 0) => ({
  choices: [{ index, delta: value, finish_reason: finish }],
});
const toolDelta = (call: object, finish: string | null = null) => delta({ tool_calls: [call] }, finish);
const end = (finish = 'tool_calls') => delta({}, finish);
const stop = { reason: 'end', word: 'stop' };

test.each(['', 'nope', 'api.openai.com/v1', 'file:///v1'])(
  'a base URL of "%s" is refused before any request',
  (baseUrl) => {
    expect(() => apiProvider({ api: 'openai-chat', baseUrl, clock: newClock() })).toThrow(
      'the base URL must be an http or https URL',
    );
  },
);

describe('the request', () => {
  test.each([
    ['played', { fallbackModel: 'second' }, 'played'],
    [MODEL_UNNAMED, { fallbackModel: 'second' }, 'second'],
    [MODEL_UNNAMED, { fallbackModel: 'second', model: 'first' }, 'first'],
    [MODEL_UNNAMED, { model: MODEL_UNNAMED }, MODEL_UNNAMED],
  ])('of a run with model %s and a bridge with %j names the model %s', async (model, options, wanted) => {
    await ask([{ chunks: [end('stop')] }], { model }, options);
    expect(server.asked[0]?.body).toMatchObject({ model: wanted });
  });

  test('is not made when neither the run nor the bridge names a model', async () => {
    await expect(ask([{ chunks: [end('stop')] }], { model: MODEL_UNNAMED })).rejects.toMatchObject({
      code: 'provider_terminal',
      message: expect.stringMatching(/^no model is named\. Give `model`/) as string,
    });
    expect(server.asked).toEqual([]);
  });

  test('is the conversation in the format of Chat Completions', async () => {
    await ask(
      [{ chunks: [end('stop')] }],
      {
        instructions: 'Be brief.',
        output_tokens_max: 99,
        tools: [
          {
            tool_id: brand('test.read'),
            tool_ref: digestText('read'),
            tool_name: brand('read'),
            description: 'Reads.',
            input_schema: { type: 'object' },
          },
        ],
        messages: [
          { role: 'user', text: 'go' },
          {
            role: 'assistant',
            text: '',
            calls: [
              { id: 'a', name: 'read', arguments: '{"path":"x"}' },
              { id: 'b', name: 'odd name!', arguments: '{bad' },
            ],
          },
          { role: 'tool', call_id: 'a', name: 'read', text: 'X', is_error: false },
          { role: 'tool', call_id: 'b', name: 'odd name!', text: 'error', is_error: true },
          { role: 'assistant', text: 'hm', calls: [] },
        ],
      },
      { apiKey: 'sk-secret-of-16-ch', model: 'other-model', baseUrl: `${server.url}/` },
    );
    const asked = server.asked[0];
    expect(asked?.path).toBe('/v1/chat/completions');
    expect(asked?.headers.authorization).toBe('Bearer sk-secret-of-16-ch');
    expect(asked?.body).toEqual({
      model: 'other-model',
      max_tokens: 99,
      stream: true,
      stream_options: { include_usage: true },
      tools: [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters: { type: 'object' } } }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'read', arguments: '{"path":"x"}' } },
            { id: 'b', type: 'function', function: { name: 'odd_name_', arguments: '{"invalid_arguments":"{bad"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'X' },
        { role: 'tool', tool_call_id: 'b', content: 'error' },
        { role: 'assistant', content: 'hm' },
      ],
    });
  });
});

describe('a streamed answer', () => {
  const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 7 } };

  test('is assembled from its chunks, however they are split', async () => {
    const chunks = [
      delta({ role: 'assistant', content: null }),
      delta({ content: 'Hé' }),
      delta({ content: 'llo 🙂' }),
      toolDelta({ index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '' } }),
      toolDelta({ index: 0, function: { arguments: '{"p":' } }),
      toolDelta({ index: 1, id: 'b', type: 'function', function: { name: 'grep', arguments: '{}' } }),
      toolDelta({ index: 0, function: { arguments: '1}' } }),
      end(),
      usage,
    ];
    const expected = {
      content: 'Héllo 🙂',
      calls: [
        { id: 'a', name: 'read', arguments_text: '{"p":1}' },
        { id: 'b', name: 'grep', arguments_text: '{}' },
      ],
      usage: { input_tokens: 5, output_tokens: 7 },
      stop: { reason: 'calls', word: 'tool_calls' },
    };
    expect(await ask([{ chunks }])).toEqual(expected);
    expect(await ask([{ chunks, trickle: true }])).toEqual(expected);
    expect(await ask([{ chunks, headers: { 'content-type': 'text/plain' } }])).toEqual(expected);
    expect(await ask([{ chunks, done: false }])).toEqual(expected);
    expect(await ask([{ chunks, headers: { 'content-type': 'application/json' } }])).toEqual(expected);
  });

  test.each<[string, readonly object[], readonly object[]]>([
    [
      'deltas without index',
      [
        toolDelta({ id: 'a', function: { name: 'x', arguments: '{"n":' } }),
        toolDelta({ function: { arguments: '1}' } }),
        toolDelta({ id: 'b', function: { name: 'x', arguments: '{"n":2}' } }),
      ],
      [
        { id: 'a', name: 'x', arguments_text: '{"n":1}' },
        { id: 'b', name: 'x', arguments_text: '{"n":2}' },
      ],
    ],
    [
      'index 0 for every call',
      [
        toolDelta({ index: 0, id: 'a', function: { name: 'x', arguments: '{}' } }),
        toolDelta({ index: 0, id: 'b', function: { name: 'y', arguments: '{}' } }),
      ],
      [
        { id: 'a', name: 'x', arguments_text: '{}' },
        { id: 'b', name: 'y', arguments_text: '{}' },
      ],
    ],
    [
      'no ids at all',
      [
        toolDelta({ index: 0, function: { name: 'x', arguments: '{' } }),
        toolDelta({ index: 0, function: { arguments: '}' } }),
        toolDelta({ index: 1, function: { name: 'x', arguments: '[]' } }),
      ],
      [
        { name: 'x', arguments_text: '{}' },
        { name: 'x', arguments_text: '[]' },
      ],
    ],
    [
      'neither index nor id',
      [
        toolDelta({ function: { name: 'x', arguments: '{' } }),
        toolDelta({ function: { arguments: '}' } }),
        toolDelta({ function: { name: 'y', arguments: '{}' } }),
      ],
      [
        { name: 'x', arguments_text: '{}' },
        { name: 'y', arguments_text: '{}' },
      ],
    ],
    [
      'id and name repeated in every delta, empty later',
      [
        toolDelta({ index: 0, id: 'a', function: { name: 'x', arguments: '{' } }),
        toolDelta({ index: 0, id: 'a', function: { name: 'x', arguments: '"k":1' } }),
        toolDelta({ index: 0, id: '', function: { name: '', arguments: '}' } }),
      ],
      [{ id: 'a', name: 'x', arguments_text: '{"k":1}' }],
    ],
    [
      'arguments as a value, null, empty, or absent',
      [
        toolDelta({ index: 0, id: 'a', function: { name: 'x', arguments: { k: 1 } } }),
        toolDelta({ index: 1, id: 'b', function: { name: 'x', arguments: null } }),
        toolDelta({ index: 2, id: 'c', function: { name: 'x', arguments: '' } }),
        toolDelta({ index: 3, id: 'd', function: { name: 'x' } }),
        toolDelta({ index: 4, id: 'e' }),
      ],
      [
        { id: 'a', name: 'x', arguments: { k: 1 } },
        { id: 'b', name: 'x', arguments: {} },
        { id: 'c', name: 'x', arguments: {} },
        { id: 'd', name: 'x', arguments: {} },
        { id: 'e', name: '', arguments: {} },
      ],
    ],
    [
      'the older `function_call` form',
      [delta({ function_call: { name: 'x', arguments: '{"a"' } }), delta({ function_call: { arguments: ':1}' } })],
      [{ name: 'x', arguments_text: '{"a":1}' }],
    ],
    [
      'arguments that are not JSON are passed on unchanged',
      [toolDelta({ index: 0, id: 'a', function: { name: 'x', arguments: '{"a": tru' } })],
      [{ id: 'a', name: 'x', arguments_text: '{"a": tru' }],
    ],
  ])('%s', async (_, chunks, calls) => {
    expect((await ask([{ chunks: [...chunks, end()] }])).calls).toEqual(calls);
  });

  test('several choices: the one with the lowest index is the answer', async () => {
    const chunks = [delta({ content: 'second' }, null, 1), delta({ content: 'first' }, null, 0), end('stop')];
    expect(await ask([{ chunks }])).toEqual({ content: 'first', calls: [], stop });
  });

  test('content in parts, and a refusal when there is no content', async () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'thinking', thinking: 'no' },
      { type: 'text', text: 'b' },
    ];
    expect(await ask([{ chunks: [delta({ content: parts }), end('stop')] }])).toEqual({
      content: 'ab',
      calls: [],
      stop,
      layout: {
        api: 'openai.chat',
        model: 'some-model',
        parts: [
          { text: 1, with: '{"type":"text"}' },
          { item: '{"type":"thinking","thinking":"no"}' },
          { text: 1, with: '{"type":"text"}' },
        ],
      },
    });
    expect(await ask([{ chunks: [delta({ refusal: 'No.' }), end('stop')] }])).toEqual({
      content: 'No.',
      calls: [],
      stop: { reason: 'refusal', word: 'stop' },
      layout: { api: 'openai.chat', model: 'some-model', parts: [{ text: 3, with: '{"type":"refusal"}' }] },
    });
  });

  test.each(['stop', 'length', 'eos', 'content_filter', 'function_call'])(
    'finish reason %s ends the answer',
    async (finish) => {
      expect(await ask([{ chunks: [delta({ content: 'x' }), end(finish)] }])).toMatchObject({ content: 'x' });
    },
  );

  test('comments and empty events are ignored', async () => {
    const raw = `: ping\r\n\r\nevent: message\r\ndata: ${JSON.stringify(delta({ content: 'x' }, 'stop'))}\r\n\r\n: bye\r\n\r\ndata:\r\n\r\ndata: [DONE]`;
    const headers = { 'content-type': 'text/event-stream;charset=UTF-8' };
    expect(await ask([{ raw, headers }])).toEqual({ content: 'x', calls: [], stop });
  });
});

describe('an answer in one piece', () => {
  const message = {
    content: null,
    tool_calls: [
      { id: 'a', function: { name: 'x', arguments: '{"k":1}' } },
      { id: 'a', function: { name: 'x', arguments: { k: 2 } } },
      { id: 'c', type: 'custom', custom: { name: 'y', input: 'free text' } },
    ],
  };

  test('is read from a server that does not stream', async () => {
    const json = { choices: [{ message, finish_reason: '' }], usage: { prompt_tokens: 1, completion_tokens: null } };
    const expected = {
      calls: [
        { id: 'a', name: 'x', arguments_text: '{"k":1}' },
        { id: 'a', name: 'x', arguments: { k: 2 } },
        { id: 'c', name: 'y', arguments_text: 'free text' },
      ],
      usage: { input_tokens: 1, output_tokens: 0 },
      layout: {
        api: 'openai.chat',
        model: 'some-model',
        parts: [{ call: 0 }, { call: 1 }, { call: 2, with: '{"type":"custom"}' }],
      },
    };
    expect(await ask([{ json }])).toEqual(expected);
    expect(await ask([{ json, headers: { 'content-type': 'text/plain' } }])).toEqual(expected);
  });

  test('is requested when the server refuses to stream', async () => {
    const refusal = { status: 400, json: { error: { message: "Unsupported parameter: 'stream_options'" } } };
    const json = { choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }] };
    expect(await ask([refusal, { json }])).toEqual({ content: 'ok', calls: [], stop });
    expect(server.asked.map(({ body }) => body['stream'])).toEqual([true, undefined]);
  });
});

describe('errors', () => {
  const fails = (status: number, error: unknown): Answer => ({ status, json: { error } });

  test.each<[string, Answer, string]>([
    ['a wrong key', fails(401, { message: 'Incorrect API key provided: sk-secret-of-16-ch.' }), 'provider_auth'],
    ['a key without permission', fails(403, { message: 'no' }), 'provider_auth'],
    ['too long', fails(400, { code: 'context_length_exceeded', message: 'too long' }), 'context_length'],
    [
      'too long, stated in the message only',
      fails(400, { message: 'prompt too long; exceeded max context length' }),
      'context_length',
    ],
    ['no such model', fails(404, 'model not found'), 'invalid_request'],
    ['a bad request', fails(400, { message: 'bad' }), 'invalid_request'],
    ['an exhausted quota', fails(429, { code: 'insufficient_quota', message: 'billing' }), 'provider_quota'],
    [
      'an error within a stream',
      { chunks: [{ error: { code: 400, message: 'Token limit reached' } }] },
      'context_length',
    ],
    [
      'an error within a choice',
      { chunks: [{ choices: [{ error: { message: 'x' }, finish_reason: 'error' }] }] },
      'provider_terminal',
    ],
    ['an error within a 200', { json: { error: { message: 'model was removed' } } }, 'provider_terminal'],
  ])('%s', async (_, answer, code) => {
    const asked = ask([answer], {}, { apiKey: 'sk-secret-of-16-ch' });
    await expect(asked).rejects.toMatchObject({ name: 'ProviderError', code });
    await expect(asked).rejects.not.toThrow('sk-secret-of-16-ch');
    expect(server.asked).toHaveLength(1);
  });

  test.each([492, 496, 992, 995, 998])('contain no part of a key at offset %d', async (at) => {
    const message = `${'x'.repeat(at)}sk-secret-of-16-ch${'y'.repeat(2_000)}`;
    for (const answer of [fails(400, { message }), { status: 400, raw: message }, fails(400, { odd: message })]) {
      const fault: unknown = await ask([answer], {}, { apiKey: 'sk-secret-of-16-ch' }).catch((error: unknown) => error);
      expect(String(fault)).not.toMatch('sk-');
      expect(String(fault).length).toBeLessThan(1_100);
    }
  });

  test.each<[string, Answer]>([
    ['429', fails(429, { message: 'slow down' })],
    ['503 in HTML', { status: 503, raw: '<html>busy</html>', headers: { 'content-type': 'text/html' } }],
    ['500 with a truncated body', { status: 500, raw: '{"err', breakOff: true }],
    ['an overloaded stream', { chunks: [{ error: { type: 'overloaded_error', message: 'Overloaded' } }] }],
    ['a stream whose connection is reset', { chunks: [delta({ content: 'half' })], done: false, breakOff: true }],
    ['a stream without an end marker', { chunks: [delta({ content: 'half' })], done: false }],
    ['a chunk that is not JSON', { chunks: ['{"choices": [', delta({ content: 'x' }, 'stop')] }],
    ['an empty body', { raw: '', headers: { 'content-type': 'text/event-stream' } }],
    ['an answer that is not JSON', { raw: 'oops' }],
    ['an answer without choices', { json: { choices: [] } }],
    ['a stream without chunks', { chunks: [] }],
  ])("%s: is retryable, and left to the run's policy", async (_, answer) => {
    await expect(ask([answer])).rejects.toMatchObject({ code: 'provider_retryable', retryAfterMs: null });
    expect(server.asked).toHaveLength(1);
  });

  test.each<[Record<string, string>, number]>([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }, 9_000],
    [{ 'retry-after-ms': '15.5' }, 16],
    [{ 'retry-after': '99999999' }, RETRY_CAP_MS_MAX],
  ])('state how long the server asks to wait (%j)', async (headers, retryAfterMs) => {
    const asked = ask([{ status: 429, headers, json: {} }], {}, { clock: newClock() });
    await expect(asked).rejects.toMatchObject({ code: 'provider_retryable', retryAfterMs });
  });

  test('a stream that is cut says that it was cut', async () => {
    const cut = ask([{ chunks: [delta({ content: 'half' })], done: false, breakOff: true }]);
    await expect(cut).rejects.toMatchObject({
      code: 'provider_retryable',
      message: expect.stringMatching(/^the connection was lost in the middle of the answer/) as string,
    });
    const ended = ask([{ chunks: [delta({ content: 'half' })], done: false }]);
    await expect(ended).rejects.toMatchObject({ message: 'the answer ended before it was complete' });
  });

  test('a server that cannot be reached is retryable', async () => {
    const asked = ask([], {}, { baseUrl: 'http://127.0.0.1:1/v1' });
    await expect(asked).rejects.toMatchObject({
      code: 'provider_retryable',
      message: expect.stringMatching(/^cannot reach the server/) as string,
    });
  });

  test('a server that sends no data for too long is retryable', async () => {
    server.answer({ chunks: [delta({ content: 'half' })], done: false, silent: true });
    const pending: (() => void)[] = [];
    server.onAsked = () => {
      for (const fn of pending.splice(0)) fn();
    };
    const clock = {
      now: () => 0,
      after: (ms: number, fn: () => void) => {
        if (ms === SILENCE_MS) pending.push(fn);
        else queueMicrotask(fn);
        return () => undefined;
      },
    };
    const provider = apiProvider({
      api: 'openai-chat',
      baseUrl: server.url,
      clock,
      silenceMs: SILENCE_MS,
    });
    const asked = provider.generate(chatRequestOf(), new AbortController().signal);
    await expect(asked).rejects.toMatchObject({
      code: 'provider_retryable',
      message: `the server sent no data for ${SILENCE_MS} ms`,
    });
  });

  test('an answer above the maximum size is terminal', async () => {
    const raw = `data: ${JSON.stringify(delta({ content: 'x'.repeat(1_000_000) }))}\n\n`.repeat(18);
    const asked = ask([{ raw, headers: { 'content-type': 'text/event-stream' } }]);
    await expect(asked).rejects.toMatchObject({ code: 'provider_terminal' });
  });

  test('a cancelled request is reported as cancelled', async () => {
    server.answer({ chunks: [delta({ content: 'half' })], done: false, silent: true });
    const controller = new AbortController();
    server.onAsked = () => controller.abort();
    const provider = apiProvider({
      api: 'openai-chat',
      baseUrl: server.url,
      clock: newClock(),
      silenceMs: SILENCE_MS,
    });
    await expect(provider.generate(chatRequestOf(), controller.signal)).rejects.toMatchObject({ code: 'cancelled' });
  });
});
