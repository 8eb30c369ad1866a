// Conversations as requests: what the API demands of their form.
import { expect, test } from 'vitest';
import { anthropicMessages, vertexAnthropic } from '../../../../bridge/providers/anthropic/dialect.ts';
import { CONTINUE, EARLIER } from '../../../../bridge/providers/anthropic/conversation.ts';
import { anthropicFaults } from '../../../conformance/providers/anthropic-rules.ts';
import { requestOf } from '../../../conformance/providers/anthropic.ts';
import { MODEL, assistant, call, encoded, result, user } from './samples.ts';

const text = (value: string) => ({ type: 'text', text: value });
const thinking = '{"type":"thinking","thinking":"hm","signature":"s"}';
const think = { effort: 'low' } as const;
const png = { media_type: 'image/png', bytes: new Uint8Array([1, 2, 3]) };
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQID' } };

test('the path, the headers and the body of each host', () => {
  const request = { ...requestOf([user('hi')]), reasoning: null, instructions: 'Be brief.' };
  const target = { model: MODEL, baseUrl: 'https://api.anthropic.com/v1', stream: true };
  const sent = anthropicMessages.encode(request, target);
  expect([sent.path, sent.headers]).toEqual(['/messages', { 'anthropic-version': '2023-06-01' }]);
  expect(JSON.parse(sent.body)).toEqual({
    model: MODEL,
    max_tokens: 32_000,
    system: 'Be brief.',
    messages: [{ role: 'user', content: [text('hi')] }],
    stream: true,
  });
  expect(anthropicMessages.encode(request, { ...target, baseUrl: 'https://host/anthropic' }).path).toBe('/v1/messages');
  const vertex = { ...target, model: 'claude-3-7-sonnet@20250219' };
  const streamed = vertexAnthropic.encode(request, vertex);
  expect(streamed.path).toBe('/publishers/anthropic/models/claude-3-7-sonnet@20250219:streamRawPredict');
  const { anthropic_version, model, stream } = JSON.parse(streamed.body) as Record<string, unknown>;
  expect([anthropic_version, model, stream]).toEqual(['vertex-2023-10-16', undefined, true]);
  expect(vertexAnthropic.encode(request, { ...vertex, stream: false }).path).toMatch(/:rawPredict$/);
});

test('results come before text, one for each call in call order, errors marked', () => {
  const { messages } = encoded([
    user('go'),
    assistant('Reading.', [call('a'), call('b')]),
    result('b', { is_error: true, text: 'no such file' }),
    user('hurry'),
    result('a', { text: '' }),
  ]);
  expect(messages.slice(1)).toEqual([
    {
      role: 'assistant',
      content: [
        text('Reading.'),
        { type: 'tool_use', id: 'a', name: 'read', input: {} },
        { type: 'tool_use', id: 'b', name: 'read', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a' },
        { type: 'tool_result', tool_use_id: 'b', content: 'no such file', is_error: true },
        text('hurry'),
      ],
    },
  ]);
});

test('ids fit the alphabet and are unique in the chat', () => {
  const turn = [assistant('', [call('functions.add:0')]), result('functions.add:0')];
  const { messages } = encoded([user('go'), ...turn, user('again'), ...turn]);
  const ids = messages.flatMap(({ content }) =>
    content.map(({ id, tool_use_id }) => id ?? tool_use_id).filter(Boolean),
  );
  expect(new Set(ids).size).toBe(2);
  expect([ids[0], ids[2]]).toEqual([ids[1], ids[3]]);
});

test('a window that begins with the model, an answer at the end, blanks and lost results are made acceptable', () => {
  const { messages } = encoded([
    result('gone', { text: 'x' }),
    assistant('One.'),
    assistant(' \n'),
    assistant('Two. \n'),
    user('  '),
  ]);
  expect(messages).toEqual([
    { role: 'user', content: [text('[result of an earlier call of read]\nx')] },
    { role: 'assistant', content: [text('One.'), text('Two. \n')] },
    { role: 'user', content: [text(CONTINUE)] },
  ]);
  expect(encoded([assistant('', [call('a')])]).messages).toEqual([
    { role: 'user', content: [text(EARLIER)] },
    expect.objectContaining({ role: 'assistant' }),
    { role: 'user', content: [expect.objectContaining({ tool_use_id: 'a', is_error: true })] },
  ]);
  expect(encoded([]).messages).toEqual([{ role: 'user', content: [text(EARLIER)] }]);
});

test('a turn goes back part by part to its own family, and as text and calls to any other', () => {
  const parts = [
    { item: thinking },
    { text: 2, with: '{"citations":[{"index":12345678901234567890}]}' },
    { item: '{"type":"new","big":12345678901234567890}' },
    { call: 0, with: '{"caller":{"type":"direct"}}' },
    { text: 3 },
  ];
  const messages = [
    user('go'),
    assistant('ABCDE', [call('a', 'read', '{"n":12345678901234567890}')], parts),
    result('a'),
  ];
  const bodyFor = (model: string): string =>
    anthropicMessages.encode(requestOf(messages), { model, baseUrl: 'http://localhost', stream: false }).body;
  expect(bodyFor('claude-sonnet-4-5')).toContain(
    `{"role":"assistant","content":[${thinking},` +
      '{"citations":[{"index":12345678901234567890}],"type":"text","text":"AB"},' +
      '{"type":"new","big":12345678901234567890},' +
      '{"caller":{"type":"direct"},"type":"tool_use","id":"a","name":"read","input":{"n":12345678901234567890}},' +
      '{"type":"text","text":"CDE"}]}',
  );
  expect(bodyFor('claude-opus-5')).toContain(
    '{"role":"assistant","content":[{"type":"text","text":"ABCDE"},' +
      '{"type":"tool_use","id":"a","name":"read","input":{"n":12345678901234567890}}]}',
  );
});

test.each([
  ['a text too long', [{ item: thinking }, { text: 3 }, { call: 0 }]],
  ['a call too few', [{ item: thinking }, { text: 2 }]],
  ['calls out of order', [{ item: thinking }, { text: 2 }, { call: 1 }]],
])('a layout with %s is ignored', (_, parts) => {
  const { messages } = encoded([user('go'), assistant('AB', [call('a')], parts), result('a')], { reasoning: think });
  expect(messages[1]?.content.map(({ type }) => type)).toEqual(['text', 'tool_use']);
});

test('arguments that are no object go back in the documented form', () => {
  const { messages } = encoded([
    user('go'),
    assistant('', [call('a', 'no such/tool', '{"path": "x'), call('b', '', '')]),
  ]);
  expect(messages[1]?.content).toEqual([
    { type: 'tool_use', id: 'a', name: 'no_such_tool', input: { INVALID_JSON: '{"path": "x' } },
    { type: 'tool_use', id: 'b', name: 'unnamed', input: {} },
  ]);
});

test('thinking at the end of a turn is left out, and a turn of nothing else with it', () => {
  const messages = [user('go'), assistant('', [], [{ item: thinking }]), user('and?')];
  expect(encoded(messages, { reasoning: think }).messages).toEqual([
    { role: 'user', content: [text('go'), text('and?')] },
  ]);
});

const search = '{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}';
const found = '{"type":"web_search_tool_result","tool_use_id":"srv","content":[]}';

test('a paused turn goes on when it is sent back, and its result joins it', () => {
  const paused = assistant('Let me search. ', [], [{ text: 15 }, { item: search }]);
  expect(
    encoded([user('go'), paused])
      .messages.at(-1)
      ?.content.map(({ type }) => type),
  ).toEqual(['text', 'server_tool_use']);
  const rest = assistant('Done.', [], [{ item: found }, { text: 5 }]);
  expect(encoded([user('go'), paused, rest, user('ok')]).messages[1]?.content.map(({ type }) => type)).toEqual([
    'text',
    'server_tool_use',
    'web_search_tool_result',
    'text',
  ]);
});

test('work of a server that the conversation went past goes back neither without its result nor without its beginning', () => {
  const paused = assistant('Let me search.', [], [{ text: 14 }, { item: search }]);
  const rest = assistant('Done.', [], [{ item: found }, { text: 5 }]);
  for (const messages of [
    [user('go'), paused, user('stop')],
    [user('go'), rest, user('ok')],
  ]) {
    expect(encoded(messages).messages[1]?.content.map(({ type }) => type)).toEqual(['text']);
  }
});

test('work of a server that waits for the results of calls goes back as it is', () => {
  const messages = [user('go'), assistant('', [call('a')], [{ item: search }, { call: 0 }]), result('a')];
  expect(encoded(messages).messages[1]?.content.map(({ type }) => type)).toEqual(['server_tool_use', 'tool_use']);
});

test('the last message ends without blanks', () => {
  const parts = [{ item: search }, { item: found }, { text: 7 }];
  expect(
    encoded([user('go'), assistant('Found. ', [], parts)])
      .messages.at(-1)
      ?.content.at(-1),
  ).toEqual(text('Found.'));
});

test('the container of a turn that waits for results is named again', () => {
  const parts = [{ call: 0 }, { item: '{"container":{"id":"c1"}}' }];
  const messages = [user('go'), assistant('', [call('a')], parts), result('a')];
  expect(encoded(messages)['container']).toBe('c1');
  const ended = assistant('Done.', [], [{ text: 5 }, { item: '{"container":{"id":"c1"}}' }]);
  expect(encoded([...messages, ended, user('ok')])['container']).toBeUndefined();
});

test('files go as blocks, before the text that speaks of them', () => {
  const pdf = { media_type: 'application/pdf', name: 'a.pdf', bytes: new Uint8Array([4]) };
  const audio = { media_type: 'audio/wav', name: 'a.wav', bytes: new Uint8Array([5]) };
  const content = encoded([{ role: 'user', text: 'see', attachments: [png, pdf, audio] }]).messages[0]?.content;
  expect(content).toEqual([
    image,
    { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'BA==' } },
    text('[the file a.wav was left out: this API takes no audio/wav]'),
    text('see'),
  ]);
});

test('files of a result stay in it, and beside it when it is an error', () => {
  const turn = [user('go'), assistant('', [call('a')])];
  const answer = (is_error: boolean) =>
    encoded([...turn, result('a', { is_error, text: 'x', attachments: [png] })]).messages[2]?.content;
  expect(answer(false)).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: [text('x'), image] }]);
  expect(answer(true)).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: 'x', is_error: true }, image]);
});

const tool = {
  tool_id: 't',
  tool_ref: 'sha256:0',
  tool_name: 'read',
  description: 'Reads.',
  input_schema: { type: 'object' },
};
const tools = [tool as never];

test('what the run says about tools', () => {
  const choice = (more: object): unknown => encoded([user('go')], { tools, ...more })['tool_choice'];
  expect(encoded([user('go')], { tools })['tools']).toEqual([
    { name: 'read', description: 'Reads.', input_schema: { type: 'object' } },
  ]);
  expect(choice({})).toBeUndefined();
  expect(choice({ parallel_calls: true })).toBeUndefined();
  expect(choice({ tool_choice: 'none', parallel_calls: false })).toEqual({ type: 'none' });
  expect(choice({ tool_choice: 'auto' })).toEqual({ type: 'auto' });
  expect(choice({ parallel_calls: false })).toEqual({ type: 'auto', disable_parallel_tool_use: true });
  expect(choice({ tool_choice: 'required', parallel_calls: false })).toEqual({
    type: 'any',
    disable_parallel_tool_use: true,
  });
  expect(choice({ tool_choice: { tool: 'read' } })).toEqual({ type: 'tool', name: 'read' });
  expect(encoded([user('go')], { tool_choice: 'required' })['tool_choice']).toBeUndefined();
});

test('tools that were called and are no longer offered are defined, and not to be called', () => {
  const body = encoded([user('go'), assistant('', [call('a'), call('b')]), result('a'), result('b')]);
  expect(body['tools']).toEqual([expect.objectContaining({ name: 'read' })]);
  expect(body['tool_choice']).toEqual({ type: 'none' });
});

test.each([
  [
    'claude-sonnet-4-5',
    { effort: 'low' },
    null,
    { thinking: { type: 'enabled', budget_tokens: 4_096 }, max_tokens: 32_000 },
  ],
  [
    'claude-sonnet-4-5',
    { tokens_max: 40_000 },
    null,
    { thinking: { type: 'enabled', budget_tokens: 40_000 }, max_tokens: 48_192 },
  ],
  [
    'claude-sonnet-4-5',
    { tokens_max: 1, effort: 'max' },
    null,
    { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 32_000 },
  ],
  [
    'claude-sonnet-4-5',
    { effort: 'high' },
    4_000,
    { thinking: { type: 'enabled', budget_tokens: 2_976 }, max_tokens: 4_000 },
  ],
  ['claude-sonnet-4-5', { effort: 'high' }, 2_000, { max_tokens: 2_000 }],
  ['claude-sonnet-4-5', { effort: 'none' }, null, { max_tokens: 32_000 }],
  ['claude-sonnet-4-5', {}, null, { thinking: { type: 'enabled', budget_tokens: 8_192 }, max_tokens: 32_000 }],
  [
    'claude-3-7-sonnet@20250219',
    { effort: 'minimal' },
    null,
    { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 32_000 },
  ],
  ['claude-3-5-haiku-latest', { effort: 'high' }, null, { max_tokens: 8_192 }],
  ['claude-3-opus-20240229', { effort: 'high' }, null, { max_tokens: 4_096 }],
  [
    'anthropic/claude-opus-4.6',
    { effort: 'minimal' },
    null,
    { thinking: { type: 'adaptive' }, output_config: { effort: 'low' }, max_tokens: 32_000 },
  ],
  [
    'claude-opus-4-8',
    { effort: 'max' },
    500,
    { thinking: { type: 'adaptive' }, output_config: { effort: 'max' }, max_tokens: 500 },
  ],
  ['claude-opus-4-8', { effort: 'none' }, null, { max_tokens: 32_000 }],
  [
    'claude-sonnet-5',
    { tokens_max: 5_000 },
    null,
    { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' }, max_tokens: 32_000 },
  ],
  [
    'claude-sonnet-5',
    {},
    null,
    { thinking: { type: 'adaptive' }, output_config: { effort: 'high' }, max_tokens: 32_000 },
  ],
  ['claude-sonnet-5', { tokens_max: 0 }, null, { thinking: { type: 'disabled' }, max_tokens: 32_000 }],
  ['claude-fable-5', { effort: 'none' }, null, { max_tokens: 32_000 }],
  [
    'other-model',
    { effort: 'medium' },
    null,
    { thinking: { type: 'enabled', budget_tokens: 8_192 }, max_tokens: 16_384 },
  ],
] as const)('%s with %j and a limit of %j', (model, reasoning, output_tokens_max, wanted) => {
  const { messages: _, model: _model, ...rest } = encoded([user('go')], { reasoning, output_tokens_max }, model);
  expect(rest).toEqual(wanted);
});

test('a temperature goes only where the API takes one', () => {
  const sent = (model: string, more: object = {}): unknown =>
    encoded([user('go')], { temperature: 1.5, ...more }, model)['temperature'];
  expect(sent('claude-sonnet-4-5')).toBe(1);
  expect(sent('claude-sonnet-4-5', { temperature: 0.2 })).toBe(0.2);
  expect(sent('claude-sonnet-4-5', { reasoning: think })).toBeUndefined();
  expect(sent('claude-opus-4-6')).toBe(1);
  expect(sent('claude-opus-4-7')).toBeUndefined();
});

test('with a budget, a forced call turns thinking off; adaptive models take both', () => {
  const forced = { tools, tool_choice: 'required', reasoning: think } as const;
  expect(encoded([user('go')], forced)['thinking']).toBeUndefined();
  expect(encoded([user('go')], { ...forced, tools: [] })['thinking']).toMatchObject({ type: 'enabled' });
  expect(encoded([user('go')], forced, 'claude-opus-4-6')['thinking']).toEqual({ type: 'adaptive' });
});

test('a turn that goes on without the thinking it would have begun with goes on without thinking', () => {
  const sent = (parts: Parameters<typeof assistant>[2], model = MODEL): unknown =>
    encoded([user('go'), assistant('', [call('a')], parts), result('a')], { reasoning: think }, model)['thinking'];
  expect(sent(undefined)).toBeUndefined();
  expect(sent([{ item: thinking }, { call: 0 }])).toMatchObject({ type: 'enabled' });
  expect(sent(undefined, 'claude-opus-4-6')).toEqual({ type: 'adaptive' });
  // A later message of the same turn need not begin with thinking; an earlier turn may be without.
  const own = [user('go'), assistant('', [call('a')], [{ item: thinking }, { call: 0 }]), result('a')];
  const more = [...own, assistant('', [call('b')]), result('b')];
  expect(encoded(more, { reasoning: think })['thinking']).toMatchObject({ type: 'enabled' });
  const ended = [user('go'), assistant('', [call('z')]), result('z'), assistant('Done.')];
  for (const messages of [
    [...ended, user('next')],
    [...ended, ...own],
  ]) {
    expect(encoded(messages, { reasoning: think })['thinking']).toMatchObject({ type: 'enabled' });
  }
});

test('when thinking is off, the last turn of the model goes back without its thinking', () => {
  const own = [user('go'), assistant('', [call('a')], [{ item: thinking }, { call: 0 }]), result('a')];
  const kinds = (model: string) => encoded(own, {}, model).messages[1]?.content.map(({ type }) => type);
  expect(kinds(MODEL)).toEqual(['tool_use']);
  const adaptive = own.map((message) =>
    message.role === 'assistant' ? { ...message, layout: { ...message.layout, model: 'claude-opus-4-6' } } : message,
  ) as typeof own;
  const asked = encoded(adaptive, { reasoning: think }, 'claude-opus-4-6');
  expect(asked.messages[1]?.content.map(({ type }) => type)).toEqual(['thinking', 'tool_use']);
  const other = [user('go'), assistant('', [call('a')], [{ item: thinking }, { call: 0 }]), result('a')].map(
    (message) =>
      message.role === 'assistant' ? { ...message, layout: { ...message.layout, model: 'kimi-k2' } } : message,
  );
  // Another model behind this API thinks unasked, and wants its thinking back.
  expect(encoded(other as typeof own, {}, 'kimi-k2').messages[1]?.content.map(({ type }) => type)).toEqual([
    'thinking',
    'tool_use',
  ]);
});

test('the checker of these rules finds what they forbid', () => {
  const bad = {
    max_tokens: 1,
    messages: [
      { role: 'assistant', content: [text(' '), { type: 'tool_use', id: 'a.b', name: 'x', input: {} }] },
      { role: 'user', content: [text('x'), { type: 'tool_result', tool_use_id: 'c' }] },
      { role: 'user', content: [] },
    ],
  };
  expect(anthropicFaults(JSON.stringify(bad))).toEqual([
    'the first message is not the user’s',
    'message 0: a blank text',
    'message 0: the id a.b',
    'message 1: it answers c, not a.b',
    'message 2: two messages of the user in a row',
    'message 2: it is empty',
    'calls without tools',
  ]);
});
