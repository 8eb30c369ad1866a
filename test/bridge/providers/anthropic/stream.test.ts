// Streams of the Messages API: folded into the message that the API returns without one.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { anthropicMessages } from '../../../../bridge/providers/anthropic/dialect.ts';
import { ProviderError } from '../../../../bridge/providers/provider.ts';
import { begin, blockDelta, blockStart, finish, fold, folded, messageOf } from './samples.ts';
import { runSteps } from '../../../../src/core/steps.ts';

const text = (index: number, value: string) => blockDelta(index, { type: 'text_delta', text: value });
const input = (index: number, value: string) => blockDelta(index, { type: 'input_json_delta', partial_json: value });
const tool = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} });

test('blocks of all kinds become the message, with the last counts of tokens', () => {
  const citation = { type: 'char_location', cited_text: 'x' };
  const events = [
    begin,
    { type: 'ping' },
    blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
    blockDelta(0, { type: 'thinking_delta', thinking: 'let me ' }),
    blockDelta(0, { type: 'thinking_delta', thinking: 'see', estimated_tokens: 50 }),
    blockDelta(0, { type: 'signature_delta', signature: 'c2ln' }),
    { type: 'content_block_stop', index: 0 },
    blockStart(1, { type: 'text', text: '', citations: [] }),
    blockDelta(1, { type: 'citations_delta', citation }),
    text(1, 'Hel'),
    text(1, 'lo'),
    blockStart(2, tool('toolu_1')),
    input(2, ''),
    input(2, '{"path":'),
    input(2, '"a"}'),
    ...finish('tool_use', { input_tokens: 12, cache_read_input_tokens: null }),
  ];
  const { fold: target, deltas } = fold(events);
  expect(runSteps(target.final())).toEqual(
    messageOf(
      [
        { type: 'thinking', thinking: 'let me see', signature: 'c2ln' },
        { type: 'text', text: 'Hello', citations: [citation] },
        { ...tool('toolu_1'), input: { path: 'a' } },
      ],
      { stop_reason: 'tool_use', usage: { input_tokens: 12, output_tokens: 7 } },
    ),
  );
  expect(deltas).toEqual([
    { kind: 'thinking', text: 'let me ' },
    { kind: 'thinking', text: 'see' },
    { kind: 'text', text: 'Hel' },
    { kind: 'text', text: 'lo' },
  ]);
  expect(runSteps(fold(events, false).fold.final())).toEqual(runSteps(target.final()));
});

test('blocks that interleave are told apart by their index and put in its order', () => {
  const events = [
    begin,
    blockStart(1, tool('b')),
    blockStart(0, tool('a')),
    input(1, '{"n"'),
    input(0, '{"n":1'),
    input(1, ':2}'),
    input(0, '}'),
  ];
  expect(folded([...events, ...finish('tool_use')])).toMatchObject({
    content: [
      { id: 'a', input: { n: 1 } },
      { id: 'b', input: { n: 2 } },
    ],
  });
});

test('an unknown kind of block is kept, and an unknown kind of delta extends its fields', () => {
  const events = [
    begin,
    blockStart(0, { type: 'compaction', content: 'so ', parts: [1] }),
    blockDelta(0, { type: 'compaction_delta', content: 'far', parts: [2, 3], level: 7, other: null }),
  ];
  const data = JSON.stringify(events[2]).replace('7', '9007199254740993');
  const target = anthropicMessages.newFold();
  for (const event of events.slice(0, 2)) target.add({ name: null, data: JSON.stringify(event) });
  target.add({ name: null, data });
  for (const event of finish('end_turn')) target.add({ name: null, data: JSON.stringify(event) });
  const { layout } = runSteps(anthropicMessages.read(runSteps(target.final())));
  expect(layout?.parts).toEqual([
    { item: '{"type":"compaction","content":"so far","parts":[1,2,3],"level":9007199254740993}' },
  ]);
});

test('fields beside the stop reason, such as the container, join the message', () => {
  const end = {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', container: { id: 'c' } },
    context_management: {},
  };
  expect(folded([begin, end, { type: 'message_stop' }])).toMatchObject({
    container: { id: 'c' },
    context_management: {},
  });
});

test('arguments that are no object keep their text', () => {
  for (const written of ['{"path": "a', '[1]', '"{}"']) {
    const final = folded([begin, blockStart(0, tool('a')), input(0, written), ...finish('max_tokens')]);
    expect(runSteps(anthropicMessages.read(final)).calls).toEqual([{ id: 'a', name: 'read', arguments_text: written }]);
  }
});

test('without its end marker a stream is no message', () => {
  const events = [begin, blockStart(0, { type: 'text', text: '' }), text(0, 'Hello'), ...finish('end_turn')];
  for (let end = 0; end < events.length; end += 1) {
    const { fold: target } = fold(events.slice(0, end));
    expect([runSteps(target.final()), target.isClosed()]).toEqual([null, false]);
  }
  const target = fold(events).fold;
  expect(target.isClosed()).toBe(true);
  // Nothing that follows matters.
  expect(target.add({ name: 'error', data: 'not JSON' })).toEqual([]);
});

test.each([
  ['overloaded_error', 'provider_retryable'],
  ['api_error', 'provider_retryable'],
  ['rate_limit_error', 'provider_retryable'],
  ['authentication_error', 'provider_auth'],
  ['permission_error', 'provider_auth'],
  ['billing_error', 'provider_quota'],
  ['invalid_request_error', 'invalid_request'],
  ['not_found_error', 'invalid_request'],
])('%s within a stream is %s', (type, code) => {
  const event = { type: 'error', error: { type, message: 'no' } };
  expect(() => fold([begin, event])).toThrow(expect.objectContaining({ name: 'ProviderError', code }));
});

test.each([
  ['a block without its beginning', [begin, text(0, 'x')], '/index'],
  ['a block that begins twice', [begin, blockStart(0, tool('a')), blockStart(0, tool('b'))], '/index'],
  ['a block before its message', [blockStart(0, tool('a'))], '/type'],
  ['two messages', [begin, { type: 'message_start', message: { ...begin.message, id: 'msg_2' } }], '/message'],
  ['a message that begins again', [begin, blockStart(0, tool('a')), begin], '/message'],
  ['a message that is none', [{ type: 'message_start' }], '/message'],
  [
    'a piece that is no text',
    [begin, blockStart(0, tool('a')), blockDelta(0, { type: 'input_json_delta' })],
    '/delta/partial_json',
  ],
])('%s is no message', (_, events, path) => {
  expect(() => fold(events)).toThrow(
    expect.objectContaining({ code: 'provider_retryable', message: expect.stringContaining(path) }),
  );
});

test('a beginning that comes twice is one', () => {
  expect(folded([begin, begin, ...finish('end_turn')])).toEqual(folded([begin, ...finish('end_turn')]));
});

test('an event that is not JSON fails the attempt, and kinds that are new are passed over', () => {
  const { fold: target } = fold([begin, { type: 'thread_event', any: 1 }]);
  expect(() => target.add({ name: 'content_block_delta', data: '{"type":' })).toThrow(ProviderError);
  expect(target.add({ name: null, data: '[DONE]' })).toEqual([]);
});

test('arguments are the same whatever their pieces', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (value, sizes) => {
      const written = `{"value":${value}}`;
      const pieces: object[] = [];
      for (let at = 0; at < written.length;) {
        const size = sizes.next().value as number;
        pieces.push(input(0, written.slice(at, at + size)));
        at += size;
      }
      const whole = folded([begin, blockStart(0, tool('a')), input(0, written), ...finish('tool_use')]);
      expect(folded([begin, blockStart(0, tool('a')), ...pieces, ...finish('tool_use')])).toEqual(whole);
      expect(runSteps(anthropicMessages.read(whole)).calls).toHaveLength(1);
    }),
  );
});

test('a call of many pieces takes linear time', () => {
  const time = (pieces: number): number => {
    const events = Array.from({ length: pieces }, () => input(0, 'a'.repeat(40)));
    const data = events.map((event) => ({ name: 'content_block_delta', data: JSON.stringify(event) }));
    const { fold: target } = fold([begin, blockStart(0, tool('a')), input(0, '{"x":"')]);
    const started = process.cpuUsage();
    for (const event of data) target.add(event);
    for (const event of [input(0, '"}'), ...finish('tool_use')])
      target.add({ name: event.type, data: JSON.stringify(event) });
    expect(runSteps(anthropicMessages.read(runSteps(target.final()))).calls).toHaveLength(1);
    const { user, system } = process.cpuUsage(started);
    return user + system;
  };
  time(10_000);
  // Quadratic time would be a hundred times as long.
  expect(time(100_000)).toBeLessThan(Math.max(time(10_000), 5_000) * 40);
});
