import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bedrockConverse } from '../../../../bridge/providers/bedrock/dialect.ts';
import type { GenerateReply, ReplyDelta } from '../../../../bridge/providers/provider.ts';
import { canonical, streamed } from '../../../conformance/providers/bedrock.ts';
import { converseEvents } from '../../../support/providers/converse-events.ts';
import { roundsOf } from '../../../support/random.ts';
import { runSteps } from '../../../../src/core/steps.ts';

type Event = readonly [name: string | null, data: unknown];

const deltaAt = (contentBlockIndex: number, delta: object): Event => [
  'contentBlockDelta',
  { contentBlockIndex, delta },
];
const startAt = (contentBlockIndex: number, start: object): Event => [
  'contentBlockStart',
  { contentBlockIndex, start },
];
const stopAt = (contentBlockIndex: number): Event => ['contentBlockStop', { contentBlockIndex }];
const end = (stopReason = 'end_turn'): Event => ['messageStop', { stopReason }];
const usage: Event = ['metadata', { usage: { inputTokens: 1, outputTokens: 2 } }];

function fold(events: readonly Event[]) {
  const folding = bedrockConverse.newFold();
  const said: ReplyDelta[] = [];
  for (const [name, data] of events) {
    said.push(...folding.add({ name, data: typeof data === 'string' ? data : JSON.stringify(data) }));
  }
  const final = runSteps(folding.final());
  return { said, closed: folding.isClosed(), reply: final === null ? null : runSteps(bedrockConverse.read(final)) };
}

const replyOf = (...events: readonly Event[]): GenerateReply | null => fold(events).reply;

describe('an answer in pieces reads as the whole one', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });
  const id = fc.stringMatching(/^[a-z]{1,8}$/);
  const block = fc.oneof(
    text.map((said) => ({ text: said })),
    fc.record({ toolUseId: id, name: id, input: fc.dictionary(id, fc.jsonValue()) }).map((toolUse) => ({ toolUse })),
    fc.record({ text, signature: id }).map((reasoningText) => ({ reasoningContent: { reasoningText } })),
    fc.record({ text }).map((reasoningText) => ({ reasoningContent: { reasoningText } })),
    fc.base64String({ minLength: 4 }).map((redactedContent) => ({ reasoningContent: { redactedContent } })),
    fc.record({ said: text, titles: fc.array(id, { minLength: 1, maxLength: 3 }) }).map(({ said, titles }) => ({
      citationsContent: { content: [{ text: said }], citations: titles.map((title) => ({ title })) },
    })),
    fc
      .record({ toolUseId: id, content: fc.array(fc.record({ json: fc.jsonValue() }), { maxLength: 2 }) })
      .map((toolResult) => ({ toolResult })),
  );
  const answer = fc.record({
    output: fc.record({
      message: fc.record({ role: fc.constant('assistant'), content: fc.array(block, { maxLength: 6 }) }),
    }),
    stopReason: fc.constantFrom('end_turn', 'tool_use', 'content_filtered'),
    usage: fc.record({ inputTokens: fc.nat(99), outputTokens: fc.nat(99) }),
  });

  test('wherever texts and bytes are divided', () => {
    fc.assert(
      fc.property(
        answer,
        fc.array(fc.nat(40), { maxLength: 4 }),
        fc.integer({ min: 1, max: 400 }),
        (body, cuts, size) => {
          const events = converseEvents(body, (length) => cuts.filter((cut) => cut < length));
          const plain = runSteps(bedrockConverse.read(JSON.parse(JSON.stringify(body))));
          expect(canonical(streamed(events, size))).toEqual(canonical(plain));
        },
      ),
      { numRuns: roundsOf(150, 3_000) },
    );
  });

  test('before its end marker it is none', () => {
    fc.assert(
      fc.property(answer, (body) => {
        const events = converseEvents(body);
        for (let count = 0; count < events.length - 1; count += 1) {
          expect(streamed(events.slice(0, count), 4_096)).toBeNull();
        }
      }),
      { numRuns: roundsOf(25, 500) },
    );
  });
});

describe('the end', () => {
  test('messageStop ends the turn, and metadata after it closes the stream', () => {
    const events = [deltaAt(0, { text: 'Hi' }), end()];
    expect(fold(events)).toMatchObject({ closed: false, reply: { content: 'Hi' } });
    expect(fold(events).reply?.usage).toBeUndefined();
    expect(fold([...events, usage])).toMatchObject({ closed: true, reply: { usage: { input_tokens: 1 } } });
  });

  test('some models send metadata first', () => {
    expect(fold([deltaAt(0, { text: 'Hi' }), usage])).toMatchObject({ closed: false, reply: null });
    expect(fold([deltaAt(0, { text: 'Hi' }), usage, end()])).toMatchObject({
      closed: true,
      reply: { content: 'Hi', usage: { input_tokens: 1, output_tokens: 2 } },
    });
  });

  test.each([
    ['throttlingException', { message: 'Too many requests' }, 'provider_retryable'],
    ['modelStreamErrorException', { message: 'x', originalStatusCode: 400 }, 'provider_retryable'],
    ['serviceUnavailableException', { message: 'x' }, 'provider_retryable'],
    ['internalServerException', {}, 'provider_retryable'],
    ['modelTimeoutException', { message: 'x' }, 'provider_retryable'],
    ['validationException', { message: 'Malformed input request' }, 'invalid_request'],
    ['validationException', { message: 'Input is too long for requested model.' }, 'context_length'],
    ['accessDeniedException', 'not JSON', 'provider_auth'],
    ['InternalFailure', { __type: 'InternalFailure', message: 'x' }, 'provider_retryable'],
    ['ExpiredToken', { __type: 'ExpiredToken', message: 'x' }, 'provider_auth'],
  ])('%s %j fails the attempt as %s, even after the text', (name, data, code) => {
    expect(() => fold([deltaAt(0, { text: 'Hi' }), end(), [name, data]])).toThrow(
      expect.objectContaining({ name: 'ProviderError', code, message: expect.stringContaining(name) }),
    );
  });
});

describe('deltas', () => {
  test('people see text and thinking, in order, and nothing else', () => {
    const { said } = fold([
      deltaAt(0, { reasoningContent: { text: 'hm' } }),
      deltaAt(0, { reasoningContent: { text: '' } }),
      deltaAt(0, { reasoningContent: { signature: 'c2ln' } }),
      deltaAt(1, { text: 'Hi' }),
      startAt(2, { toolUse: { toolUseId: 't', name: 'read' } }),
      deltaAt(2, { toolUse: { input: '{}' } }),
    ]);
    expect(said).toEqual([
      { kind: 'thinking', text: 'hm' },
      { kind: 'text', text: 'Hi' },
    ]);
  });

  test('parallel blocks are told apart by their index, and stand in its order', () => {
    expect(
      replyOf(
        startAt(1, { toolUse: { toolUseId: 'b', name: 'two' } }),
        startAt(0, { toolUse: { toolUseId: 'a', name: 'one' } }),
        deltaAt(1, { toolUse: { input: '{"n":' } }),
        deltaAt(0, { toolUse: { input: '{"n":1}' } }),
        deltaAt(1, { toolUse: { input: '2}' } }),
        end('tool_use'),
      )?.calls,
    ).toEqual([
      { id: 'a', name: 'one', arguments: { n: 1 } },
      { id: 'b', name: 'two', arguments: { n: 2 } },
    ]);
  });

  test('an index that comes again, or changes its kind, is a block of its own', () => {
    const reply = replyOf(
      deltaAt(0, { reasoningContent: { text: 'hm' } }),
      deltaAt(0, { text: 'one' }),
      stopAt(0),
      deltaAt(0, { text: 'two' }),
      end(),
    );
    expect(reply?.layout?.parts).toEqual([
      { item: '{"reasoningContent":{"reasoningText":{"text":"hm"}}}' },
      { text: 3 },
      { text: 3 },
    ]);
  });

  test('arguments that were cut off stay text, large numbers stay exact, and none are an empty object', () => {
    const start = (index: number) => startAt(index, { toolUse: { toolUseId: `t${index}`, name: 'read' } });
    const input = (index: number, text: string) => deltaAt(index, { toolUse: { input: text } });
    const events = [start(0), input(0, ''), start(1), input(1, '{"n":1e400}'), start(2), input(2, '{"path": "a')];
    expect(replyOf(...events, end('max_tokens'))?.calls).toEqual([
      { id: 't0', name: 'read', arguments: {} },
      { id: 't1', name: 'read', arguments_text: '{"n":1e400}' },
      { id: 't2', name: 'read', arguments_text: '{"path": "a' },
    ]);
  });

  test('redacted reasoning in pieces is joined as bytes', () => {
    const pieces = ['ab', 'cde'].map((text) => Buffer.from(text).toString('base64'));
    const events = pieces.map((redactedContent) => deltaAt(0, { reasoningContent: { redactedContent } }));
    expect(replyOf(...events, end())?.layout?.parts).toEqual([
      { item: `{"reasoningContent":{"redactedContent":"${Buffer.from('abcde').toString('base64')}"}}` },
    ]);
  });

  test('kinds of content and of events that are not known are kept and passed over', () => {
    const reply = replyOf(['futureEvent', { x: 1 }], [null, '{}'], deltaAt(0, { future: { n: 1 } }), end());
    expect(reply?.layout?.parts).toEqual([{ item: '{"future":{"n":1}}' }]);
  });

  test.each<[string, Event]>([
    ['contentBlockDelta is not a JSON object', ['contentBlockDelta', '{"cut']],
    ['contentBlockDelta.contentBlockIndex is not a number', ['contentBlockDelta', { delta: { text: 'a' } }]],
    ['contentBlockDelta.delta is not an object', ['contentBlockDelta', { contentBlockIndex: 0 }]],
    ['contentBlockDelta.delta.text is not a string', deltaAt(0, { text: 1 })],
    ['contentBlockDelta.delta.toolUse.input is not a string', deltaAt(0, { toolUse: { input: { a: 1 } } })],
    ['contentBlockDelta.delta.reasoningContent.text is not', deltaAt(0, { reasoningContent: { text: 1 } })],
  ])('an event that cannot be read fails the attempt: %s', (message, event) => {
    expect(() => fold([event])).toThrow(
      expect.objectContaining({ code: 'provider_retryable', message: expect.stringContaining(message) }),
    );
  });
});
