// A message of the API as a reply.
import { expect, test } from 'vitest';
import { CUT_ARGUMENTS } from '../../../../bridge/providers/anthropic/reply.ts';
import { anthropicMessages, vertexAnthropic } from '../../../../bridge/providers/anthropic/dialect.ts';
import { parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { MODEL, messageOf, read } from './samples.ts';
import { runSteps } from '../../../../src/core/steps.ts';

test('a plain answer has no layout', () => {
  const reply = read(messageOf([{ type: 'text', text: 'Hello' }]));
  expect(reply).toEqual({
    content: 'Hello',
    calls: [],
    usage: { input_tokens: 10, output_tokens: 5 },
    stop: { reason: 'end', word: 'end_turn' },
  });
});

test('text before calls says nothing more; a call before text does', () => {
  const text = { type: 'text', text: 'Hi' };
  const call = { type: 'tool_use', id: 'a', name: 'read', input: { path: 'x' } };
  const calls = [{ id: 'a', name: 'read', arguments: { path: 'x' } }];
  const stop = { stop_reason: 'tool_use' };
  expect(read(messageOf([text, call], stop))).toMatchObject({ content: 'Hi', calls, stop: { reason: 'calls' } });
  expect(read(messageOf([text, call], stop)).layout).toBeUndefined();
  expect(read(messageOf([call, text], stop)).layout?.parts).toEqual([{ call: 0 }, { text: 2 }]);
});

test('everything else is an item in its place, and further fields stay with their text or call', () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 's' };
  const search = { type: 'server_tool_use', id: 'srv', name: 'web_search', input: { query: 'q' } };
  const found = { type: 'web_search_tool_result', tool_use_id: 'srv', content: [] };
  const { layout, calls, content } = read(
    messageOf(
      [
        thinking,
        search,
        found,
        { type: 'text', text: 'A', citations: [{ url: 'u' }] },
        { type: 'text', text: '' },
        { type: 'tool_use', id: 'a', name: 'read', input: {}, caller: { type: 'direct' } },
        { type: 'something_new', data: 1 },
      ],
      { container: { id: 'c1', expires_at: 't' } },
    ),
  );
  expect(content).toBe('A');
  expect(calls).toEqual([{ id: 'a', name: 'read', arguments: {} }]);
  expect(layout).toEqual({
    api: 'anthropic.messages',
    model: MODEL,
    parts: [
      { item: JSON.stringify(thinking) },
      { item: JSON.stringify(search) },
      { item: JSON.stringify(found) },
      { text: 1, with: '{"citations":[{"url":"u"}]}' },
      { call: 0, with: '{"caller":{"type":"direct"}}' },
      { item: '{"type":"something_new","data":1}' },
      { item: '{"container":{"id":"c1","expires_at":"t"}}' },
    ],
  });
});

test('a number that a double cannot hold keeps its text', () => {
  const text = JSON.stringify(messageOf([{ type: 'tool_use', id: 'a', name: 'read', input: { n: 1 } }]));
  const { calls } = runSteps(anthropicMessages.read(parseExact(text.replace('"n":1', '"n":12345678901234567890'))));
  expect(calls).toEqual([{ id: 'a', name: 'read', arguments_text: '{"n":12345678901234567890}' }]);
});

test('calls that are odd are passed on for the engine to reject', () => {
  const { calls } = read(
    messageOf([
      { type: 'tool_use', id: 'a', name: '', input: null },
      { type: 'tool_use', id: 'a', name: 'read', input: '{"path":"x"}' },
      { type: 'tool_use', name: 'read', input: [1] },
    ]),
  );
  expect(calls).toEqual([
    { id: 'a', name: '', arguments: {} },
    { id: 'a', name: 'read', arguments_text: '{"path":"x"}' },
    { name: 'read', arguments: [1] },
  ]);
});

test('a call that the limit cut off after its name does not run without arguments', () => {
  const cut = { type: 'tool_use', id: 'b', name: 'remove', input: {} };
  const first = { ...cut, id: 'a' };
  const reply = read(messageOf([first, cut], { stop_reason: 'max_tokens' }));
  expect(reply.calls).toEqual([
    { id: 'a', name: 'remove', arguments: {} },
    { id: 'b', name: 'remove', arguments_text: CUT_ARGUMENTS },
  ]);
  expect(reply.stop).toEqual({ reason: 'length', word: 'max_tokens' });
});

test.each([
  ['end_turn', 'end', 'calls'],
  ['stop_sequence', 'end', 'calls'],
  ['tool_use', 'end', 'calls'],
  ['max_tokens', 'length', 'length'],
  ['model_context_window_exceeded', 'length', 'length'],
  ['refusal', 'refusal', 'refusal'],
  ['pause_turn', 'paused', 'calls'],
  ['something_new', 'other', 'other'],
])('%s is %s, and with calls %s', (stop_reason, without, withCalls) => {
  const call = { type: 'tool_use', id: 'a', name: 'read', input: { a: 1 } };
  expect(read(messageOf([], { stop_reason })).stop).toEqual({ reason: without, word: stop_reason });
  expect(read(messageOf([call], { stop_reason })).stop).toEqual({ reason: withCalls, word: stop_reason });
});

test('input counts cached tokens, and a server that states nothing gives nothing', () => {
  const usage = {
    input_tokens: 3,
    cache_creation_input_tokens: 20,
    cache_read_input_tokens: 100,
    output_tokens: 9,
    output_tokens_details: { thinking_tokens: 4 },
  };
  expect(read(messageOf([], { usage })).usage).toEqual({
    input_tokens: 123,
    output_tokens: 9,
    cached_tokens: 100,
    cache_write_tokens: 20,
    reasoning_tokens: 4,
  });
  const silent = read(messageOf([], { usage: undefined, stop_reason: null }));
  expect([silent.usage, silent.stop]).toEqual([undefined, undefined]);
});

test.each([
  [[], '""'],
  [{ type: 'message' }, '"/content"'],
  [messageOf([7 as never]), '"/content/0"'],
  [messageOf([{ text: 'x' }]), '"/content/0/type"'],
  [messageOf([{ type: 'text', text: { value: 'x' } }]), '"/content/0/text"'],
])('%j is no message', (body, path) => {
  const fault = { code: 'provider_retryable', message: expect.stringContaining(path) };
  expect(() => read(body)).toThrow(expect.objectContaining(fault));
});

const apiError = (type: string, message: string) => ({ type: 'error', error: { type, message }, request_id: 'req_1' });

test.each([
  [401, apiError('authentication_error', 'invalid x-api-key'), 'provider_auth'],
  [403, apiError('permission_error', 'not allowed'), 'provider_auth'],
  [404, apiError('not_found_error', 'model: x'), 'invalid_request'],
  [429, apiError('rate_limit_error', 'rate limit of 30,000 input tokens per minute'), 'provider_retryable'],
  [500, apiError('api_error', 'Internal server error'), 'provider_retryable'],
  [529, apiError('overloaded_error', 'Overloaded'), 'provider_retryable'],
  [400, apiError('invalid_request_error', 'prompt is too long: 213462 tokens > 200000 maximum'), 'context_length'],
  [400, apiError('invalid_request_error', 'input length and `max_tokens` exceed context limit'), 'context_length'],
  [400, apiError('invalid_request_error', 'Your credit balance is too low to access the API'), 'provider_quota'],
  [400, apiError('invalid_request_error', 'messages: roles must alternate'), 'invalid_request'],
  [null, apiError('overloaded_error', 'Overloaded'), 'provider_retryable'],
  [200, apiError('overloaded_error', 'Overloaded'), 'provider_retryable'],
  [503, 'upstream connect error', 'provider_retryable'],
])('%s %j is %s', (status, body, code) => {
  const error = anthropicMessages.errorOf(body, status === 200 ? null : status);
  expect(error.code).toBe(code);
  expect(error.message).toContain(typeof body === 'string' ? body : body.error.message);
});

test('an error in place of a message is that error, and Vertex AI states one as a list', () => {
  expect(() => read(apiError('overloaded_error', 'Overloaded'))).toThrow(
    expect.objectContaining({ code: 'provider_retryable' }),
  );
  const body = [
    { error: { code: 429, message: 'Resource exhausted, please try again later.', status: 'RESOURCE_EXHAUSTED' } },
  ];
  expect(vertexAnthropic.errorOf(body, null)).toMatchObject({
    code: 'provider_retryable',
    message: expect.stringContaining('429 RESOURCE_EXHAUSTED Resource exhausted'),
  });
});
