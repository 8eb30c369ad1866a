// What a completion says besides its text and calls, and how it goes back.
import { expect, test } from 'vitest';
import { parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { openAiChat } from '../../../../bridge/providers/openai-chat/dialect.ts';
import type { GenerateRequest, Message } from '../../../../bridge/providers/provider.ts';
import { brand } from '../../../../schemas/ids.ts';
import { chatRequestOf } from '../../../support/bridge/chat-server.ts';
import { runSteps } from '../../../../src/core/steps.ts';

const completion = (message: object, more: object = {}): string =>
  JSON.stringify({ model: 'deepseek-x', choices: [{ index: 0, message, finish_reason: 'stop', ...more }] });
const read = (text: string) => runSteps(openAiChat.read(parseExact(text)));
const call = { id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } };

type Body = Readonly<Record<string, unknown>> & { readonly messages: readonly object[] };

function encode(request: Partial<GenerateRequest>, baseUrl = 'https://host.test/v1', model = 'deepseek-x'): Body {
  const { body } = openAiChat.encode(chatRequestOf(request), { model, baseUrl, stream: false });
  return JSON.parse(body) as Body;
}

const tool = {
  tool_id: brand<'ToolId'>('t.read'),
  tool_ref: brand<'Digest'>('0'.repeat(64)),
  tool_name: brand<'ToolName'>('read'),
  description: 'Reads.',
  input_schema: { type: 'object' },
};

test.each<[string, object, unknown]>([
  ['stop', {}, { reason: 'end', word: 'stop' }],
  ['stop', { tool_calls: [call] }, { reason: 'calls', word: 'stop' }],
  ['tool_calls', { tool_calls: [call] }, { reason: 'calls', word: 'tool_calls' }],
  ['length', { tool_calls: [call] }, { reason: 'length', word: 'length' }],
  ['max_tokens', {}, { reason: 'length', word: 'max_tokens' }],
  ['content_filter', {}, { reason: 'filtered', word: 'content_filter' }],
  ['stop', { content: null, refusal: 'No.' }, { reason: 'refusal', word: 'stop' }],
  ['constructor', {}, { reason: 'other', word: 'constructor' }],
  ['x'.repeat(99), {}, { reason: 'other', word: 'x'.repeat(64) }],
  ['', {}, undefined],
])('the finish reason %s of %j is read', (finish_reason, message, stop) => {
  expect(read(completion({ content: 'hi', ...message }, { finish_reason })).stop).toEqual(stop);
});

test('a finish reason may be a number, streamed or not', () => {
  expect(read(completion({ content: 'hi' }, { finish_reason: 1 })).stop).toEqual({ reason: 'other', word: '1' });
  const fold = openAiChat.newFold();
  fold.add({ name: null, data: '{"choices":[{"delta":{"content":"hi"},"finish_reason":1}]}' });
  expect(runSteps(openAiChat.read(runSteps(fold.final()) ?? null))).toMatchObject({
    content: 'hi',
    stop: { word: '1' },
  });
});

test.each<[object, object]>([
  [
    {
      prompt_tokens: 9,
      completion_tokens: 5,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    { input_tokens: 9, output_tokens: 5, cached_tokens: 4, cache_write_tokens: 2, reasoning_tokens: 3 },
  ],
  [
    { prompt_tokens: 9, completion_tokens: 5, total_tokens: 20, completion_tokens_details: { reasoning_tokens: 6 } },
    { input_tokens: 9, output_tokens: 11, reasoning_tokens: 6 },
  ],
  [
    { prompt_tokens: 9, completion_tokens: 5, prompt_cache_hit_tokens: 8 },
    { input_tokens: 9, output_tokens: 5, cached_tokens: 8 },
  ],
  [
    { prompt_tokens: -1, completion_tokens: 'x' },
    { input_tokens: 0, output_tokens: 0 },
  ],
])('usage %j', (usage, read_as) => {
  const body = { ...(JSON.parse(completion({ content: 'hi' })) as object), usage };
  expect(read(JSON.stringify(body)).usage).toEqual(read_as);
});

test('an empty function_call beside tool_calls is no call', () => {
  const message = {
    content: '',
    tool_calls: [call],
    function_call: { name: '', arguments: '' },
    audio: { id: '', expires_at: 0 },
  };
  expect(read(completion(message))).toMatchObject({ calls: [{ id: 'a', name: 'read' }] });
  expect(read(completion(message)).layout).toBeUndefined();
});

test('a call of an unknown kind is named by its kind, so that it is rejected and the model hears of it', () => {
  expect(read(completion({ tool_calls: [{ id: 'a', type: 'mcp', mcp: { server: 's' } }] })).calls).toEqual([
    { id: 'a', name: 'mcp', arguments: {} },
  ]);
});

test.each(['null', '[]', '7', '"x"', '{}', '{"choices":[]}', '{"choices":[{}]}', '{"choices":[{"message":7}]}'])(
  '%s is no completion, and the error names the path',
  (text) => {
    expect(() => read(text)).toThrow(/^the answer is not a completion: at "/);
  },
);

// Integers that a double cannot hold, lone surrogates and unknown fields.
const odd =
  '{"model":"deepseek-x","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"hi",' +
  '"reasoning_content":"h\\ud800m","reasoning_details":[{"n":12345678901234567890}],"new":{"a":[1]},' +
  '"tool_calls":[{"id":"a","type":"function","extra_content":{"google":{"thought_signature":"c2ln"}},' +
  '"function":{"name":"read","arguments":"{}"}}]}}]}';

test('further fields go back to the model that wrote them, exactly, and to no other', () => {
  const { content = '', layout, ...reply } = read(odd);
  const calls = reply.calls.map(({ id = '', name, arguments_text = '' }) => ({ id, name, arguments: arguments_text }));
  const turn: Message = { role: 'assistant', text: content, calls, ...(layout === undefined ? {} : { layout }) };
  const request = chatRequestOf({ messages: [{ role: 'user', text: 'go' }, turn] });
  const bodyFor = (model: string) =>
    openAiChat.encode(request, { model, baseUrl: 'https://host.test', stream: false }).body;
  const own = bodyFor('models/deepseek-x');
  expect(own).toContain(
    '"reasoning_content":"h\\ud800m","reasoning_details":[{"n":12345678901234567890}],"new":{"a":[1]}',
  );
  expect(own).toContain('"extra_content":{"google":{"thought_signature":"c2ln"}}');
  for (const other of [bodyFor('deepseek-y'), bodyFor('gpt-x')]) {
    expect(other).not.toMatch(/reasoning|extra_content|"new"/);
    expect(other).toContain(
      '"content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]',
    );
  }
});

test('the choice of a tool, parallel calls, effort and temperature are passed on, and left out when there are none', () => {
  const asked = {
    tools: [tool],
    tool_choice: { tool: brand<'ToolName'>('read') },
    parallel_calls: false,
    reasoning: { effort: 'max', tokens_max: 9 },
    temperature: 0.5,
    output_tokens_max: 7,
  } as const;
  expect(encode(asked)).toMatchObject({
    tool_choice: { type: 'function', function: { name: 'read' } },
    parallel_tool_calls: false,
    reasoning_effort: 'high',
    temperature: 0.5,
    max_tokens: 7,
  });
  expect(encode({ ...asked, tool_choice: 'required' })).toMatchObject({ tool_choice: 'required' });
  expect(encode(asked, 'https://openrouter.ai/api/v1')).toMatchObject({ reasoning: { max_tokens: 9 } });
  expect(encode(asked, 'https://api.openai.com/v1')).toMatchObject({ max_completion_tokens: 7 });
  const without = encode({ ...asked, tools: [], reasoning: null, temperature: null });
  expect(Object.keys(without)).toEqual(['model', 'messages', 'max_tokens']);
});

test('images, PDFs and files that a model cannot see', () => {
  const bytes = Uint8Array.of(1, 2);
  const files = [
    { media_type: 'image/png', bytes },
    { media_type: 'application/pdf', name: 'a.pdf', bytes },
    { media_type: 'audio/wav', name: 'b.wav', bytes },
  ];
  const parts = [
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AQI=' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AQI=' } },
    { type: 'text', text: '[the file b.wav (audio/wav) cannot be shown to this model]' },
  ];
  const messages: readonly Message[] = [
    { role: 'user', text: 'see', attachments: files },
    {
      role: 'assistant',
      text: '',
      calls: [
        { id: 'a', name: 'shot', arguments: '{}' },
        { id: 'b', name: 'x', arguments: '{}' },
      ],
    },
    { role: 'tool', call_id: 'b', name: 'x', text: 'B', is_error: false },
    { role: 'tool', call_id: 'a', name: 'shot', text: 'A', is_error: false, attachments: files.slice(0, 1) },
  ];
  expect(encode({ messages }).messages.filter((message) => !('tool_calls' in message))).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'see' }, ...parts] },
    { role: 'tool', tool_call_id: 'a', content: 'A' },
    { role: 'tool', tool_call_id: 'b', content: 'B' },
    { role: 'user', content: [{ type: 'text', text: '[files that these tools returned: shot]' }, parts[0]] },
  ]);
});

test.each([
  ['https://api.mistral.ai/v1', 'mistral-x', /^[A-Za-z0-9]{9}$/],
  ['https://api.openai.com/v1', 'gpt-x', /^[\x21-\x7e]{1,40}$/],
  ['https://host.test/v1', 'anthropic/claude-x', /^[A-Za-z0-9_-]{1,64}$/],
])('ids fit %s and %s', (baseUrl, model, rule) => {
  const calls = ['functions.add:0', 'é', 'x'.repeat(99), '7'].map((id) => ({ id, name: 'read', arguments: '{}' }));
  const results = calls.map(({ id }): Message => ({
    role: 'tool',
    call_id: id,
    name: 'read',
    text: id,
    is_error: false,
  }));
  const turn: Message = { role: 'assistant', text: '', calls };
  const messages: readonly Message[] = [{ role: 'user', text: 'go' }, turn, ...results, turn, ...results];
  const body = JSON.stringify(encode({ messages }, baseUrl, model));
  const ids = [...body.matchAll(/"id":"([^"]*)"/g)].map(([, id = '']) => id);
  expect(new Set(ids).size).toBe(8);
  for (const id of ids) expect(id).toMatch(rule);
  expect([...body.matchAll(/"tool_call_id":"([^"]*)"/g)].map(([, id]) => id)).toEqual(ids);
});
