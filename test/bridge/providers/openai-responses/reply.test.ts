import { expect, test } from 'vitest';
import { openAiResponses } from '../../../../bridge/providers/openai-responses/dialect.ts';
import { functionCall, message, read, reasoning, response } from './given.ts';
import { runSteps } from '../../../../src/core/steps.ts';

test('the text, the calls, the reason and the tokens of a response', () => {
  const usage = {
    input_tokens: 30,
    input_tokens_details: { cached_tokens: 20, cache_write_tokens: 4 },
    output_tokens: 12,
    output_tokens_details: { reasoning_tokens: 8 },
  };
  const reply = read([reasoning('gAAA'), message('Adding.'), functionCall('c1'), functionCall('c2', 'add', '')], {
    usage,
  });
  expect(reply).toMatchObject({
    content: 'Adding.',
    calls: [
      { id: 'c1', name: 'add', arguments_text: '{"a":1}' },
      { id: 'c2', name: 'add', arguments: {} },
    ],
    stop: { reason: 'calls', word: 'completed' },
    usage: { input_tokens: 30, output_tokens: 12, cached_tokens: 20, cache_write_tokens: 4, reasoning_tokens: 8 },
    layout: { api: 'openai.responses', model: 'gpt-5.4-2026-03-05' },
  });
  expect(reply.layout?.parts).toEqual([
    { item: JSON.stringify(reasoning('gAAA')) },
    { text: 7, with: '{"message":{"id":"msg_1","status":"completed"},"part":{"annotations":[],"logprobs":[]}}' },
    { call: 0, with: '{"id":"fc_c1","status":"completed"}' },
    { call: 1, with: '{"id":"fc_c2","status":"completed"}' },
  ]);
});

test('counts that a server does not state are not zeros', () => {
  const usage = { input_tokens: 3, output_tokens: 2, input_tokens_details: { cached_tokens: 0 } };
  expect(read([message('a')], { usage }).usage).toEqual({ input_tokens: 3, output_tokens: 2 });
  expect(read([message('a')])).not.toHaveProperty('usage');
});

test('a turn that is plain text and calls needs no layout', () => {
  const plain = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] };
  const call = { type: 'function_call', call_id: 'c', name: 'add', arguments: '{}' };
  expect(read([plain, call])).not.toHaveProperty('layout');
  expect(read([call, plain])).toHaveProperty('layout');
  expect(read([plain, plain])).toMatchObject({
    content: 'aa',
    layout: { parts: [{ text: 1 }, { with: '{"message":{}}' }] },
  });
});

test.each([
  ['web_search_call', { action: { type: 'search' } }],
  ['tool_search_call', { execution: 'client', arguments: {} }],
  ['compaction', { encrypted_content: 'x' }],
  ['a_kind_of_the_future', { big: 1 }],
])('%s is an item and no call', (type, fields) => {
  const item = { type, id: 'i', ...fields };
  const reply = read([item]);
  expect(reply).toMatchObject({
    calls: [],
    stop: { reason: 'end' },
    layout: { parts: [{ item: JSON.stringify(item) }] },
  });
});

test.each([
  [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length', 'max_output_tokens'],
  [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'filtered', 'content_filter'],
  [{ status: 'incomplete', incomplete_details: { reason: 'steered' } }, 'other', 'steered'],
  [{ status: 'incomplete' }, 'other', 'incomplete'],
  [{ status: 'completed' }, 'end', 'completed'],
  [{ status: 'complete' }, 'end', 'complete'],
])('%o stops as %s', (fields, reason, word) => {
  expect(read([message('a')], fields).stop).toEqual({ reason, word });
});

test('a refusal is the text of the turn and its reason', () => {
  const refusal = { type: 'message', role: 'assistant', id: 'm', content: [{ type: 'refusal', refusal: 'No.' }] };
  expect(read([refusal])).toMatchObject({ content: 'No.', stop: { reason: 'refusal', word: 'refusal' } });
  expect(read([refusal, functionCall('c')]).stop?.reason).toBe('calls');
});

test('a call whose arguments were never written is none without arguments', () => {
  const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
  const [first, last] = read([functionCall('c1', 'add', ''), functionCall('c2', 'add', '')], cut).calls;
  expect(first).toMatchObject({ arguments: {} });
  expect(() => JSON.parse(last?.arguments_text ?? '')).toThrow(SyntaxError);
});

test('what a model wrote is passed on, also when no tool can take it', () => {
  const odd = [functionCall('c', '', '{"a":'), functionCall('c', 'add', '[]'), { type: 'function_call', id: 'fc_9' }];
  expect(read(odd).calls).toEqual([
    { id: 'c', name: '', arguments_text: '{"a":' },
    { id: 'c', name: 'add', arguments_text: '[]' },
    { id: 'fc_9', name: '', arguments: {} },
  ]);
});

test('the text of a custom tool is the argument `input`', () => {
  const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'patch', input: 'line "1"\n' };
  expect(read([custom])).toMatchObject({
    calls: [{ id: 'c', name: 'patch', arguments_text: '{"input":"line \\"1\\"\\n"}' }],
    layout: { parts: [{ call: 0, with: '{"type":"custom_tool_call","id":"ctc_1"}' }] },
  });
});

test.each([
  [response([], { status: 'queued' }), '$.status is "queued"'],
  [response([], { status: 'in_progress' }), '$.status is "in_progress"'],
  [{ object: 'chat.completion', choices: [] }, '$.output is not a list'],
  [response([message('a'), null]), '$.output[1] is not an object'],
  ['<html>', '$ is not an object'],
])('%o is no turn, and the reason names its place', (final, words) => {
  expect(() => runSteps(openAiResponses.read(final))).toThrow(
    expect.objectContaining({ code: 'provider_retryable', message: expect.stringContaining(words) as string }),
  );
});

test.each([
  [{ status: 'failed', error: { code: 'server_error', message: 'sorry' } }, 'provider_retryable', null],
  [
    { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Please try again in 1.5s.' } },
    'provider_retryable',
    1_500,
  ],
  [{ status: 'failed', error: { code: 'insufficient_quota', message: 'no' } }, 'provider_quota', null],
  [{ status: 'failed', error: { code: 'context_length_exceeded', message: 'no' } }, 'context_length', null],
  [{ status: 'failed', error: { code: 'invalid_prompt', message: 'no' } }, 'invalid_request', null],
  [{ status: 'completed', error: { code: 'server_error', message: 'sorry' } }, 'provider_retryable', null],
])('%o is an error inside a 200', (fields, code, retryAfterMs) => {
  expect(() => read([message('half')], fields)).toThrow(expect.objectContaining({ code, retryAfterMs }));
});

test.each([
  [
    400,
    { error: { code: 'context_length_exceeded', message: 'Your input exceeds the context window' } },
    'context_length',
  ],
  [400, { error: { message: 'bad', type: 'invalid_request_error', param: 'input', code: null } }, 'invalid_request'],
  [401, { error: { message: 'Incorrect API key', code: 'invalid_api_key' } }, 'provider_auth'],
  [429, { error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } }, 'provider_quota'],
  [429, { error: { code: 'rate_limit_exceeded', message: 'Please try again in 20ms' } }, 'provider_retryable'],
  [502, 'Bad Gateway', 'provider_retryable'],
  [404, { detail: 'Not Found' }, 'invalid_request'],
  [null, { error: { code: 502, message: 'upstream' } }, 'provider_retryable'],
  [null, { error: 'try again later' }, 'provider_retryable'],
])('status %s with %o is %s', (status, body, code) => {
  const error = openAiResponses.errorOf(body, status);
  expect(error.code).toBe(code);
});

test('the message of an error has the words of the server', () => {
  expect(openAiResponses.errorOf({ error: { code: 'x', message: 'y z' } }, 400).message).toContain('400 x y z');
  expect(openAiResponses.errorOf({ odd: 1 }, 400).message).toContain('{"odd":1}');
  expect(
    openAiResponses.errorOf({ error: { code: 'rate_limit_exceeded', message: 'try again in 2m3s' } }, 429).retryAfterMs,
  ).toBe(123_000);
});
