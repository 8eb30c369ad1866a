import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { openAiResponses } from '../../../../bridge/providers/openai-responses/dialect.ts';
import type { StreamEvent } from '../../../../bridge/providers/api/dialect.ts';
import { event, foldOf, functionCall, message, reasoning, response } from './given.ts';

const item = { output_index: 0, content_index: 0, item_id: 'msg_1' };

const OPENED: readonly StreamEvent[] = [
  event('response.created', { response: { id: 'resp_1', status: 'in_progress', model: 'gpt-5.4', output: [] } }),
  event('response.output_item.added', { output_index: 0, item: { ...message(''), content: [] } }),
  event('response.content_part.added', {
    ...item,
    part: { type: 'output_text', annotations: [], logprobs: [], text: '' },
  }),
  event('response.output_text.delta', { ...item, delta: 'Hel' }),
  event('response.output_text.delta', { ...item, delta: 'lo' }),
];
const COMPLETED = event('response.completed', { response: response([message('Hello')]) });

test('a stream shows its text, and ends with the response that its last event has', () => {
  const { deltas, final } = foldOf([...OPENED, COMPLETED, event('response.output_text.delta', { delta: 'late' })]);
  expect(deltas).toEqual([
    { kind: 'text', text: 'Hel' },
    { kind: 'text', text: 'lo' },
  ]);
  expect(final).toEqual({ id: 'resp_1', ...(response([message('Hello')]) as object) });
});

test('a stream without its end marker is no response', () => {
  expect(foldOf(OPENED).final).toBeNull();
  expect(
    foldOf([...OPENED, event('response.output_item.done', { output_index: 0, item: message('Hello') })]).final,
  ).toBeNull();
  expect(foldOf([...OPENED, { name: null, data: '[DONE]' }]).final).toBeNull();
});

test('items are gathered from their events when the last one has none', () => {
  const events = [
    ...OPENED,
    event('response.output_item.added', { output_index: 2, item: functionCall('c2', 'add', '') }),
    event('response.output_item.added', { output_index: 1, item: functionCall('c1', 'add', '') }),
    event('response.function_call_arguments.delta', { output_index: 2, delta: '{"b":' }),
    event('response.function_call_arguments.delta', { output_index: 1, delta: '{"a":' }),
    event('response.function_call_arguments.delta', { output_index: 2, delta: '2}' }),
    event('response.function_call_arguments.done', { output_index: 1, arguments: '{"a":1}' }),
    event('response.output_item.done', { output_index: 3, item: reasoning('gAAA') }),
    event('response.completed', { response: { usage: { input_tokens: 1, output_tokens: 2 } } }),
  ];
  expect(foldOf(events).final).toEqual({
    id: 'resp_1',
    status: 'completed',
    model: 'gpt-5.4',
    output: [message('Hello'), functionCall('c1'), functionCall('c2', 'add', '{"b":2}'), reasoning('gAAA')],
    usage: { input_tokens: 1, output_tokens: 2 },
  });
});

test('summaries and reasoning are shown as thinking, each part of a summary as a paragraph', () => {
  const at = { output_index: 0, item_id: 'rs_1' };
  const { deltas, final } = foldOf([
    event('response.output_item.added', { output_index: 0, item: reasoning(null) }),
    event('response.reasoning_summary_part.added', {
      ...at,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    }),
    event('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta: 'One' }),
    event('response.reasoning_summary_part.added', {
      ...at,
      summary_index: 1,
      part: { type: 'summary_text', text: '' },
    }),
    event('response.reasoning_summary_text.delta', { ...at, summary_index: 1, delta: 'Two' }),
    event('response.reasoning_text.delta', { ...at, content_index: 0, delta: 'deep' }),
    event('response.completed'),
  ]);
  expect(deltas.map((delta) => (delta as { text: string }).text).join('')).toBe('One\n\nTwodeep');
  expect(final).toMatchObject({
    output: [
      {
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'One' },
          { type: 'summary_text', text: 'Two' },
        ],
        content: [{ type: 'reasoning_text', text: 'deep' }],
      },
    ],
  });
});

test('a refusal and the input of a custom tool are gathered, too', () => {
  const { deltas, final } = foldOf([
    event('response.output_item.added', { output_index: 0, item: { type: 'message', id: 'm', content: [] } }),
    event('response.content_part.added', { output_index: 0, content_index: 0, part: { type: 'refusal', refusal: '' } }),
    event('response.refusal.delta', { output_index: 0, content_index: 0, delta: 'No.' }),
    event('response.output_item.added', {
      output_index: 1,
      item: { type: 'custom_tool_call', call_id: 'c', name: 'p' },
    }),
    event('response.custom_tool_call_input.delta', { output_index: 1, delta: 'text' }),
    event('response.completed'),
  ]);
  expect(deltas).toEqual([{ kind: 'text', text: 'No.' }]);
  expect(final).toMatchObject({
    output: [
      { content: [{ type: 'refusal', refusal: 'No.' }] },
      { type: 'custom_tool_call', name: 'p', input: 'text' },
    ],
  });
});

test('events without indexes belong to the item with their id, else to the newest', () => {
  const { final } = foldOf([
    event('response.output_item.added', { item: functionCall('c1', 'add', '') }),
    event('response.output_item.added', { item: functionCall('c2', 'add', '') }),
    event('response.function_call_arguments.delta', { item_id: 'fc_c1', delta: '1' }),
    event('response.function_call_arguments.delta', { delta: '2' }),
    event('response.completed'),
  ]);
  expect(final).toMatchObject({ output: [{ arguments: '1' }, { arguments: '2' }] });
});

test('items that all have the index 0 are told apart by their ids', () => {
  const { final } = foldOf([
    event('response.output_item.added', { output_index: 0, item: functionCall('c1', 'add', '') }),
    event('response.output_item.done', { output_index: 0, item: functionCall('c1', 'add', '1') }),
    event('response.output_item.added', { output_index: 0, item: functionCall('c2', 'add', '') }),
    event('response.output_item.done', { output_index: 0, item: functionCall('c2', 'add', '2') }),
    event('response.completed'),
  ]);
  expect(final).toMatchObject({ output: [{ arguments: '1' }, { arguments: '2' }] });
});

test.each([
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
])('%s ends a stream, whatever the status in it says', (type, status) => {
  expect(foldOf([event(type, { response: { status: 'in_progress', output: [] } })]).final).toMatchObject({ status });
});

test.each([
  [event('error', { code: 'rate_limit_exceeded', message: 'slow down' }), 'provider_retryable'],
  [event('error', { error: { code: 'insufficient_quota', message: 'no' } }), 'provider_quota'],
  [{ name: null, data: '{"error":{"code":"invalid_prompt","message":"no"}}' }, 'invalid_request'],
  [{ name: 'error', data: '{"message":"server_error"}' }, 'provider_retryable'],
  [{ name: null, data: '{"type":"response.output_text.delta","delta":' }, 'provider_retryable'],
  [{ name: null, data: '7' }, 'provider_retryable'],
  [event('response.function_call_arguments.delta', { output_index: 0, delta: 7 }), 'provider_retryable'],
])('%o fails the attempt', (bad, code) => {
  const fold = openAiResponses.newFold();
  for (const each of OPENED) fold.add(each);
  expect(() => fold.add(bad)).toThrow(expect.objectContaining({ code }));
});

test('events without a name have their type in the data, or their type in the name', () => {
  const unnamed = [...OPENED, COMPLETED].map(({ data }) => ({ name: null, data }));
  const untyped = [...OPENED, COMPLETED].map(({ name, data }) => ({
    name,
    data: data.replace(/"type":"response[^"]*",/, ''),
  }));
  expect(foldOf(unnamed)).toEqual(foldOf([...OPENED, COMPLETED]));
  expect(foldOf(untyped)).toEqual(foldOf([...OPENED, COMPLETED]));
});

test('a keepalive, an unknown event and a blank line change nothing', () => {
  const noise = [
    event('keepalive', { sequence_number: 2 }),
    event('response.of.the.future', { delta: 'x' }),
    { name: null, data: '' },
  ];
  expect(foldOf([...noise, ...OPENED, ...noise, COMPLETED])).toEqual(foldOf([...OPENED, COMPLETED]));
});

test('deltas cut anywhere give the text and the arguments that were sent', () => {
  const pieces = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(pieces, pieces, (texts, written) => {
      const { final } = foldOf([
        event('response.output_item.added', { output_index: 1, item: functionCall('c', 'add', '') }),
        event('response.output_item.added', { output_index: 0, item: { ...message(''), content: [] } }),
        ...texts.map((delta) => event('response.output_text.delta', { ...item, delta })),
        ...written.map((delta) => event('response.function_call_arguments.delta', { output_index: 1, delta })),
        event('response.completed'),
      ]);
      expect(final).toMatchObject({
        output: [{ content: [{ text: texts.join('') }] }, { arguments: written.join('') }],
      });
    }),
  );
});
