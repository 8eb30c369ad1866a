import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { openAiResponses } from '../../../../bridge/providers/openai-responses/dialect.ts';
import type { OfferedTool } from '../../../../schemas/effect.ts';
import { brand } from '../../../../schemas/ids.ts';
import {
  MODEL,
  backOf,
  bodyOf,
  functionCall,
  inputOf,
  message,
  read,
  reasoning,
  requestOf,
  turnOf,
  user,
} from './given.ts';

const tool = (input_schema: OfferedTool['input_schema'], description = 'Adds.'): OfferedTool => ({
  tool_id: brand<'ToolId'>('math.add'),
  tool_ref: brand<'Digest'>(`sha256:${'0'.repeat(64)}`),
  tool_name: brand<'ToolName'>('add'),
  description,
  input_schema,
});

const schemaOf = (schema: OfferedTool['input_schema']): Record<string, unknown> =>
  (bodyOf([user('q')], { tools: [tool(schema)] })['tools'] as readonly Record<string, unknown>[])[0] ?? {};

test('a request stores nothing, asks for encrypted reasoning and has every item', () => {
  expect(bodyOf([user('q')])).toEqual({
    model: MODEL,
    input: [{ role: 'user', content: 'q' }],
    store: false,
    include: ['reasoning.encrypted_content'],
    stream: true,
  });
  const { path, body } = openAiResponses.encode(requestOf([user('q')]), { model: 'm', baseUrl: '', stream: false });
  expect(path).toBe('/responses');
  expect(JSON.parse(body)).toMatchObject({ model: 'm' });
  expect(JSON.parse(body)).not.toHaveProperty('stream');
});

test('what the run config says, in the words of the API', () => {
  const config = {
    instructions: 'Be brief.',
    output_tokens_max: 100,
    temperature: 0.5,
    reasoning: { effort: 'low', tokens_max: 9 },
    parallel_calls: false,
  } as const;
  const tools = [tool({ type: 'object', properties: { a: { type: 'number' } } })];
  expect(bodyOf([user('q')], { ...config, tools, tool_choice: { tool: brand<'ToolName'>('add') } })).toMatchObject({
    instructions: 'Be brief.',
    max_output_tokens: 100,
    temperature: 0.5,
    reasoning: { effort: 'low' },
    parallel_tool_calls: false,
    tool_choice: { type: 'function', name: 'add' },
    tools: [{ type: 'function', name: 'add', description: 'Adds.', strict: false }],
  });
  expect(bodyOf([user('q')], { tools, tool_choice: 'required' })).toMatchObject({ tool_choice: 'required' });
});

test('what is null, or has no meaning without tools, is left out', () => {
  const nothing = {
    tool_choice: 'auto',
    parallel_calls: true,
    reasoning: { tokens_max: 5 },
    temperature: null,
  } as const;
  expect(bodyOf([user('q')], { ...nothing, instructions: '' })).toEqual(bodyOf([user('q')]));
});

test.each([
  ['gpt-4o-mini', false],
  ['openai/gpt-4.1', false],
  ['gpt-5-chat-latest', false],
  ['gpt-5.1-chat', false],
  ['gpt-5', true],
  ['o4-mini', true],
  ['grok-4.3', true],
  ['my-deployment', true],
])('encrypted reasoning of %s is asked for: %s', (model, asked) => {
  expect('include' in bodyOf([user('q')], { model })).toBe(asked);
});

test('a turn goes back as it was: reasoning before its call, several messages, several parts', () => {
  const output = [
    reasoning('gAAA'),
    { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
    message('One', { id: 'msg_1', phase: 'commentary' }),
    message('Two', {
      id: 'msg_2',
      content: [
        { type: 'output_text', text: 'Two', annotations: [{ type: 'url_citation', url: 'https://a' }] },
        { type: 'output_text', text: '', annotations: [] },
        { type: 'refusal', refusal: 'No' },
        { type: 'of_the_future', data: 1 },
      ],
    }),
    { ...functionCall('c1'), namespace: 'math' },
    reasoning('gBBB', { id: 'rs_2' }),
    functionCall('c2'),
  ];
  expect(backOf(read(output))).toEqual(output);
});

test('numbers that a double cannot hold and lone surrogates go back in their place', () => {
  const item = '{"type":"of_the_future","n":123456789012345678901,"s":"\\ud800"}';
  const layout = { api: 'openai.responses', model: MODEL, parts: [{ item }] } as const;
  const request = requestOf([user('q'), { role: 'assistant', text: '', calls: [], layout }]);
  expect(openAiResponses.encode(request, { model: MODEL, baseUrl: '', stream: false }).body).toContain(item);
});

test('a turn of another API or family is its text and its calls', () => {
  const reply = read([reasoning('gAAA'), message('Adding.'), functionCall('c1')]);
  const said = [
    { role: 'assistant', content: 'Adding.' },
    { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{"a":1}' },
  ];
  expect(backOf(reply, 'grok-4.3')).toEqual(said);
  expect(backOf(reply, 'gpt-5.4-2027-01-01')).toHaveLength(3);
  const { layout, ...turn } = turnOf(reply);
  if (layout === undefined) throw new Error('the reply has a layout');
  const layouts = [
    { ...layout, api: 'openai.chat' },
    { ...layout, parts: layout.parts.slice(1, 2) },
    { ...layout, parts: [...layout.parts, { text: 1 }] },
  ] as const;
  for (const other of layouts) {
    expect(inputOf([user('q'), { ...turn, layout: other }]).slice(1, -1)).toEqual(said);
  }
});

test('reasoning that the server has not stored is left out, and the ids after it', () => {
  const back = backOf(read([functionCall('c0'), reasoning(null), message('a'), reasoning('gAAA'), functionCall('c1')]));
  expect(back).toMatchObject([{ id: 'fc_c0' }, { role: 'assistant' }, { type: 'reasoning' }, { call_id: 'c1' }]);
  expect(back[1]).not.toHaveProperty('id');
  expect(back[1]).toHaveProperty('status');
  expect(back[3]).not.toHaveProperty('id');
});

test('the reasoning of an open model is in the item itself', () => {
  const open = reasoning(null, { content: [{ type: 'reasoning_text', text: 'hm' }] });
  expect(backOf(read([open, message('a')]))).toEqual([open, message('a')]);
});

test('what the API refuses is left out: reasoning at the end, empty messages, calls that wait for the client', () => {
  const waiting = [
    { type: 'computer_call', call_id: 'x' },
    { type: 'tool_search_call', execution: 'client', call_id: 'y' },
  ];
  const output = [
    message('a'),
    ...waiting,
    message('', { id: 'msg_2' }),
    message('', { content: [] }),
    reasoning('gAAA'),
  ];
  expect(backOf(read(output))).toEqual([message('a')]);
  const hosted = { type: 'shell_call', call_id: 's', action: { commands: ['ls'] } };
  const result = { type: 'shell_call_output', call_id: 's', output: [] };
  expect(backOf(read([hosted, { ...hosted, call_id: 't' }, result, message('a')]))).toEqual([
    hosted,
    result,
    message('a'),
  ]);
  const server = { type: 'tool_search_call', execution: 'server', call_id: null };
  expect(backOf(read([server, message('a')]))).toEqual([server, message('a')]);
  expect(inputOf([user('q'), turnOf(read([reasoning('gAAA')]))])).toEqual([{ role: 'user', content: 'q' }]);
});

test('a result of work that began in an earlier turn goes back, and one that no turn began does not', () => {
  const program = { type: 'program', id: 'p', call_id: 'p1', code: 'x' };
  const output = { type: 'program_output', id: 'o', call_id: 'p1', result: '5', status: 'completed' };
  const first = turnOf(read([program, functionCall('c')]));
  const result = { role: 'tool', call_id: 'c', name: 'add', text: 'c', is_error: false } as const;
  const last = turnOf(read([output, message('a')]));
  expect(inputOf([user('q'), first, result, last]).slice(-2)).toEqual([output, message('a')]);
  expect(inputOf([user('q'), last]).slice(1)).toEqual([message('a')]);
  const shell = turnOf(read([{ type: 'shell_call', call_id: 's', action: { commands: ['ls'] } }, message('b')]));
  const loose = turnOf(read([{ type: 'shell_call_output', call_id: 's', output: [] }, message('a')]));
  expect(inputOf([user('q'), shell, user('r'), loose]).slice(1)).toEqual([
    message('b'),
    { role: 'user', content: 'r' },
    message('a'),
  ]);
});

test('a custom tool gets its input and its result as it has them', () => {
  const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'patch', input: 'text' };
  const turn = turnOf(read([custom]));
  const result = { role: 'tool', call_id: 'c', name: 'patch', text: 'done', is_error: false } as const;
  expect(inputOf([user('q'), turn, result]).slice(1)).toEqual([
    custom,
    { type: 'custom_tool_call_output', call_id: 'c', output: 'done' },
  ]);
  expect(inputOf([user('q'), turn, result], 'grok-4')).toMatchObject([
    {},
    { type: 'function_call', arguments: '{"input":"text"}' },
    { type: 'function_call_output' },
  ]);
});

test('results follow their calls in call order, with one for each', () => {
  const turn = turnOf(read([functionCall('c1'), functionCall('c2'), functionCall('c3')]));
  const result = (call_id: string, is_error = false) =>
    ({ role: 'tool', call_id, name: 'add', text: call_id, is_error }) as const;
  expect(inputOf([user('q'), turn, result('c2', true), result('gone'), result('c1'), user('r')]).slice(4)).toEqual([
    { type: 'function_call_output', call_id: 'c1', output: 'c1' },
    { type: 'function_call_output', call_id: 'c2', output: 'Error: c2' },
    { type: 'function_call_output', call_id: 'c3', output: 'Error: there is no result of this call' },
    { role: 'user', content: 'r' },
  ]);
});

test('names and arguments that the API refuses are brought into a form that it takes', () => {
  const calls = [
    { id: 'c', name: 'functions.add!', arguments: '' },
    { id: 'c', name: '', arguments: '{"a":' },
  ];
  expect(inputOf([user('q'), { role: 'assistant', text: '', calls }]).slice(1, 3)).toMatchObject([
    { call_id: 'c', name: 'functions_add_', arguments: '{}' },
    { call_id: 'c_2', name: 'unnamed', arguments: '{"invalid_arguments":"{\\"a\\":"}' },
  ]);
});

test('images and PDFs go with a message or a result; other files are named', () => {
  const attachments = [
    { media_type: 'image/png', bytes: new Uint8Array([1, 2, 3]) },
    { media_type: 'application/pdf', name: 'a.pdf', bytes: new Uint8Array([4]) },
    { media_type: 'text/csv', name: 'b.csv', bytes: new Uint8Array([5]) },
  ];
  const parts = [
    { type: 'input_image', image_url: 'data:image/png;base64,AQID', detail: 'auto' },
    { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BA==' },
    { type: 'input_text', text: expect.stringContaining('b.csv') as string },
  ];
  expect(inputOf([{ role: 'user', text: '', attachments }])).toEqual([{ role: 'user', content: parts }]);
  const turn = turnOf(read([functionCall('c')]));
  const result = { role: 'tool', call_id: 'c', name: 'add', text: 'seen', is_error: true, attachments } as const;
  expect(inputOf([user('q'), turn, result]).at(-1)).toEqual({
    type: 'function_call_output',
    call_id: 'c',
    output: [{ type: 'input_text', text: 'Error: seen' }, ...parts],
  });
});

test('the first item is of the user, and no message is empty', () => {
  const said = { role: 'assistant', text: 'hello', calls: [] } as const;
  const opening = { role: 'user', content: expect.stringContaining('left out') as string };
  expect(inputOf([said, user('q')])).toEqual([
    opening,
    { role: 'assistant', content: 'hello' },
    { role: 'user', content: 'q' },
  ]);
  expect(inputOf([user(''), { role: 'assistant', text: '', calls: [] }])).toEqual([opening]);
});

test('schemas get what the API demands, and lose what it refuses', () => {
  expect(schemaOf({})).toMatchObject({ parameters: { type: 'object', properties: {} }, description: 'Adds.' });
  const list = { type: 'array' };
  const properties = {
    a: list,
    b: { type: ['array', 'null'], items: true },
    c: { anyOf: [{ type: 'array', items: [{}] }] },
  };
  expect(schemaOf({ type: 'object', properties, $defs: { d: list } })).toMatchObject({
    parameters: {
      properties: { a: { items: {} }, b: { items: {} }, c: { anyOf: [{ type: 'array', items: {} }] } },
      $defs: { d: { items: {} } },
    },
  });
  const either = { anyOf: [{ required: ['a'] }, { required: ['b'] }] };
  const moved = schemaOf({ type: 'object', properties: { anyOf: { type: 'string', enum: ['x'] } }, ...either });
  expect(moved['parameters']).toEqual({ type: 'object', properties: { anyOf: { type: 'string', enum: ['x'] } } });
  expect(moved['description']).toContain(JSON.stringify(either));
});

test('a schema of anything but an object is refused with its path', () => {
  const refused = expect.objectContaining({
    code: 'invalid_request',
    message: expect.stringMatching(/add .*\$\.type.* "string"/) as string,
  });
  expect(() => schemaOf({ type: 'string' })).toThrow(refused);
  const deep = JSON.parse(`${'{"properties":{"a":'.repeat(70)}{}${'}}'.repeat(70)}`) as OfferedTool['input_schema'];
  expect(() => schemaOf(deep)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
});

const text = fc.string({ unit: 'binary', maxLength: 5 });
const extras = fc.dictionary(fc.constantFrom('id', 'status', 'phase', 'x'), fc.jsonValue(), { maxKeys: 3 });
const part = fc.oneof(
  fc.record({ type: fc.constant('output_text'), text, annotations: fc.array(fc.jsonValue(), { maxLength: 2 }) }),
  fc.record({ type: fc.constant('refusal'), refusal: text }),
  fc.record({ type: fc.constant('other'), data: fc.jsonValue() }),
);
const outputItem = fc.oneof(
  fc.tuple(extras, fc.array(part, { maxLength: 3 })).map(([more, parts]) => ({
    ...more,
    type: 'message',
    role: 'assistant',
    content: [...parts, { type: 'output_text', text: 'end', annotations: [] }],
  })),
  fc
    .tuple(extras, fc.uuid(), fc.constantFrom('{}', '{"a":[1]}'))
    .map(([more, call_id, written]) => ({ ...more, type: 'function_call', call_id, name: 'add', arguments: written })),
  fc.record({
    type: fc.constant('reasoning'),
    id: text,
    encrypted_content: fc.constant('gAAA'),
    summary: fc.constant([]),
  }),
  fc.tuple(extras, fc.jsonValue()).map(([more, value]) => ({ ...more, type: 'web_search_call', value })),
);

test('any turn goes back as it was, and twice the same', () => {
  fc.assert(
    fc.property(fc.array(outputItem, { maxLength: 6 }), (items) => {
      const output = JSON.parse(JSON.stringify([...items, message('end')])) as readonly unknown[];
      const back = backOf(read(output));
      expect(back).toEqual(output);
      expect(backOf(read(back))).toEqual(output);
    }),
  );
});
