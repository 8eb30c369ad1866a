import { describe, expect, test } from 'vitest';
import { parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { bedrockConverse } from '../../../../bridge/providers/bedrock/dialect.ts';
import type { GenerateReply } from '../../../../bridge/providers/provider.ts';
import { runSteps } from '../../../../src/core/steps.ts';

const bodyOf = (content: readonly unknown[], stopReason = 'end_turn', further: object = {}): string =>
  JSON.stringify({ output: { message: { role: 'assistant', content } }, stopReason, ...further });
const readText = (body: string): GenerateReply => runSteps(bedrockConverse.read(parseExact(body)));
const read = (...given: Parameters<typeof bodyOf>): GenerateReply => readText(bodyOf(...given));

const call = (fields: object) => ({ toolUse: { toolUseId: 't1', name: 'read', input: { path: 'a' }, ...fields } });
const signed = { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } };

describe('a turn', () => {
  test('a text and the calls after it need no layout', () => {
    expect(read([{ text: 'I look.' }, call({}), call({ toolUseId: 't2', type: 'tool_use' })], 'tool_use')).toEqual({
      content: 'I look.',
      calls: [
        { id: 't1', name: 'read', arguments: { path: 'a' } },
        { id: 't2', name: 'read', arguments: { path: 'a' } },
      ],
      stop: { reason: 'calls', word: 'tool_use' },
    });
  });

  test('everything else is kept in its place, as the server wrote it', () => {
    const server = call({ type: 'server_tool_use' });
    const result = { toolResult: { toolUseId: 't1', type: 'x_result', content: [{ json: { big: 0 } }] } };
    const unknown = { futureContent: { n: 1 } };
    const { layout, calls, content } = read([signed, server, result, { text: 'a' }, unknown, { text: 'bc' }, call({})]);
    expect({ content, calls: calls.length }).toEqual({ content: 'abc', calls: 1 });
    expect(layout).toEqual({
      api: 'bedrock.converse',
      model: '',
      parts: [
        { item: JSON.stringify(signed) },
        { item: JSON.stringify(server) },
        { item: JSON.stringify(result) },
        { text: 1 },
        { item: JSON.stringify(unknown) },
        { text: 2 },
        { call: 0 },
      ],
    });
  });

  test('the text of a block with citations can be read; the layout keeps the citations and the lengths', () => {
    const citations = [{ title: 'Doc', location: { documentChar: { documentIndex: 0, start: 0, end: 4 } } }];
    const { content, layout } = read([
      { text: 'So: ' },
      { citationsContent: { content: [{ text: 'grass' }, { text: ' is green' }], citations } },
    ]);
    expect(content).toBe('So: grass is green');
    expect(layout?.parts).toEqual([
      { text: 4 },
      { text: 14, with: JSON.stringify({ citationsContent: { content: [{ text: 5 }, { text: 9 }], citations } }) },
    ]);
  });

  test('numbers that a double cannot hold stay as they are', () => {
    const body = bodyOf([call({ input: { n: 'BIG' } }), { other: { n: 'BIG' } }]).replaceAll(
      '"BIG"',
      '12345678901234567890',
    );
    const { calls, layout } = readText(body);
    expect(calls).toEqual([{ id: 't1', name: 'read', arguments_text: '{"n":12345678901234567890}' }]);
    expect(layout?.parts).toEqual([{ call: 0 }, { item: '{"other":{"n":12345678901234567890}}' }]);
  });

  test('a call without a name, an id or an input is passed on: the engine tells the model', () => {
    expect(read([{ toolUse: {} }, call({ input: '{"cut' }), call({ input: [1] })]).calls).toEqual([
      { name: '', arguments: {} },
      { id: 't1', name: 'read', arguments_text: '{"cut' },
      { id: 't1', name: 'read', arguments: [1] },
    ]);
  });

  test('a call that the limit cut off before its arguments is not a call without arguments', () => {
    const [whole, cut] = read([call({ input: {} }), call({ input: {} })], 'max_tokens').calls;
    expect(whole).toEqual({ id: 't1', name: 'read', arguments: {} });
    expect(() => JSON.parse(cut?.arguments_text ?? '{}')).toThrow(SyntaxError);
    expect(read([call({ input: {} })], 'tool_use').calls[0]).toEqual({ id: 't1', name: 'read', arguments: {} });
  });

  test('empty texts leave nothing', () => {
    expect(read([{ text: '' }])).toEqual({ calls: [], stop: { reason: 'end', word: 'end_turn' } });
  });
});

describe('why it stopped', () => {
  test.each([
    ['end_turn', [], 'end'],
    ['stop_sequence', [], 'end'],
    ['end_turn', [call({})], 'calls'],
    ['tool_use', [call({})], 'calls'],
    ['tool_use', [call({ type: 'server_tool_use' })], 'end'],
    ['max_tokens', [call({})], 'length'],
    ['model_context_window_exceeded', [], 'length'],
    ['guardrail_intervened', [], 'filtered'],
    ['content_filtered', [], 'filtered'],
    ['malformed_tool_use', [], 'other'],
    ['constructor', [], 'other'],
  ])('%s after %j is %s', (word, content, reason) => {
    expect(read(content, word).stop).toEqual({ reason, word });
  });

  test('an answer that does not say has no stop, and a long word is cut', () => {
    expect(readText('{"output":{"message":{"content":[]}}}').stop).toBeUndefined();
    expect(read([], 'x'.repeat(100)).stop).toEqual({ reason: 'other', word: 'x'.repeat(64) });
  });
});

describe('usage', () => {
  const usageOf = (usage: object) => read([], 'end_turn', { usage }).usage;

  test('input includes what was read from the cache and written to it', () => {
    expect(
      usageOf({
        inputTokens: 10,
        outputTokens: 5,
        cacheReadInputTokens: 200,
        cacheWriteInputTokens: 30,
        totalTokens: 245,
      }),
    ).toEqual({ input_tokens: 240, output_tokens: 5, cached_tokens: 200, cache_write_tokens: 30 });
  });

  test('what is not stated is left out', () => {
    expect(usageOf({ inputTokens: 10, outputTokens: 5, cacheReadInputTokens: 0 })).toEqual({
      input_tokens: 10,
      output_tokens: 5,
    });
    expect(read([]).usage).toBeUndefined();
  });
});

describe('what is no turn', () => {
  test.each([
    ['[]', 'provider_retryable', 'the body is not a JSON object'],
    ['{}', 'provider_retryable', 'output.message.content is not a list'],
    ['{"output":{"message":{"content":{}}}}', 'provider_retryable', 'output.message.content is not a list'],
    ['{"output":{"message":{"content":[{"text":"a"},"b"]}}}', 'provider_retryable', 'output.message.content[1] is not'],
    ['{"message":"Too many requests"}', 'provider_retryable', 'Too many requests'],
    ['{"__type":"ThrottlingException"}', 'provider_retryable', 'ThrottlingException'],
    ['{"Output":{},"message":"prompt is too long"}', 'context_length', 'prompt is too long'],
  ])('%s fails as %s and says where', (body, code, message) => {
    expect(() => readText(body)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });
});
