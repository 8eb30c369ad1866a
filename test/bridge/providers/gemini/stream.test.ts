// How a stream becomes one final form.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gemini } from '../../../../bridge/providers/gemini/dialect.ts';
import { type Part, bodyOf, read, readStream } from './examples.ts';
import { runSteps } from '../../../../src/core/steps.ts';

const chunk = (parts: readonly Part[], candidate: object = {}, more: object = {}): object =>
  bodyOf(parts, candidate, more);
const call = (name: string, args: object): Part => ({ functionCall: { name, args } });

describe('texts', () => {
  test('of neighbouring chunks are one; a signature on an empty one stays a part', () => {
    const reply = readStream([
      chunk([{ text: 'One ' }]),
      chunk([{ text: 'two.' }]),
      chunk([{ text: '', thoughtSignature: 'c2ln' }], { finishReason: 'STOP' }),
    ]);
    expect(reply?.content).toBe('One two.');
    expect(reply?.layout?.parts).toEqual([{ text: 8 }, { text: 0, with: '{"thoughtSignature":"c2ln"}' }]);
  });

  test('that differ in anything stay apart', () => {
    const parts = [{ text: 'a' }, { text: 'b', thoughtSignature: 'eA==' }, { text: 'c' }, { text: 'd' }];
    const reply = readStream([...parts.map((part) => chunk([part])), chunk([], { finishReason: 'STOP' })]);
    expect(reply?.layout?.parts).toEqual([{ text: 1 }, { text: 1, with: '{"thoughtSignature":"eA=="}' }, { text: 2 }]);
  });

  test('of thoughts are one item', () => {
    const thoughts = ['I ', 'think'].map((text) => chunk([{ text, thought: true }]));
    const reply = readStream([...thoughts, chunk([{ text: 'Yes.' }], { finishReason: 'STOP' })]);
    expect(reply?.layout?.parts).toEqual([{ item: '{"text":"I think","thought":true}' }, { text: 4 }]);
  });

  test('are shown as they come', () => {
    const fold = gemini.newFold();
    const parts = [{ text: 'hm', thought: true }, { text: 'A' }, { text: '' }, call('f', {})];
    expect(fold.add({ name: null, data: JSON.stringify(chunk(parts)) })).toEqual([
      { kind: 'thinking', text: 'hm' },
      { kind: 'text', text: 'A' },
    ]);
  });
});

describe('the end', () => {
  test('is a finish reason; before it there is no turn', () => {
    const chunks = [chunk([{ text: 'half' }]), chunk([{ text: ' a turn' }], { finishReason: 'STOP' })];
    expect(readStream(chunks.slice(0, 1))).toBeNull();
    expect(readStream(chunks)?.stop).toEqual({ reason: 'end', word: 'STOP' });
  });

  test('is no unspecified reason', () => {
    expect(readStream([chunk([{ text: 'x' }], { finishReason: 0 })])).toBeNull();
    expect(readStream([chunk([{ text: 'x' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' })])).toBeNull();
  });

  test('may be followed by parts, counts and [DONE]', () => {
    const fold = gemini.newFold();
    const chunks = [chunk([{ text: 'a' }], { finishReason: 'STOP' }), chunk([{ text: 'b' }], { finishReason: 'STOP' })];
    const data = [...chunks, { usageMetadata: { promptTokenCount: 3 } }].map((each) => JSON.stringify(each));
    for (const each of data) fold.add({ name: null, data: each });
    expect(fold.isClosed()).toBe(false);
    fold.add({ name: null, data: '[DONE]' });
    expect(fold.isClosed()).toBe(true);
    const final = runSteps(fold.final());
    expect(final === null ? null : runSteps(gemini.read(final))).toMatchObject({
      content: 'ab',
      usage: { input_tokens: 3 },
    });
  });

  test('may be a blocked prompt', () => {
    expect(readStream([{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }])).toEqual({
      calls: [],
      stop: { reason: 'filtered', word: 'PROHIBITED_CONTENT' },
    });
  });

  test('must be in a list that holds a whole stream', () => {
    const list = [chunk([{ text: 'One ' }]), chunk([{ text: 'two.' }], { finishReason: 'STOP' })];
    expect(read(list).content).toBe('One two.');
    expect(() => read(list.slice(0, 1))).toThrow(expect.objectContaining({ code: 'provider_retryable' }));
  });
});

test('counts are cumulative, and the last one stands', () => {
  const chunks = [
    chunk([{ text: 'a' }], {}, { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1 } }),
    chunk([{ text: 'b' }], { finishReason: 'STOP' }, { usageMetadata: { candidatesTokenCount: 2 } }),
  ];
  expect(readStream(chunks)?.usage).toEqual({ input_tokens: 10, output_tokens: 2 });
});

test('citations are collected; grounding that begins empty is filled', () => {
  const cited = (uri: string): object => ({ citationMetadata: { citationSources: [{ uri }] } });
  const chunks = [
    chunk([{ text: 'a' }], { ...cited('x'), groundingMetadata: {} }),
    chunk([{ text: 'b' }], { ...cited('y'), groundingMetadata: { webSearchQueries: ['q'] }, finishReason: 'STOP' }),
  ];
  expect(readStream(chunks)?.layout?.parts).toEqual([
    { text: 2 },
    { item: '{"groundingMetadata":{"webSearchQueries":["q"]}}' },
    { item: '{"citationMetadata":{"citationSources":[{"uri":"x"},{"uri":"y"}]}}' },
  ]);
});

test('a number that a double cannot hold keeps its text; any other is plain', () => {
  const dataOf = (args: string): string =>
    `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${args}}}]},"finishReason":"STOP"}]}`;
  const argumentsIn = (args: string): unknown => {
    const fold = gemini.newFold();
    fold.add({ name: null, data: dataOf(args) });
    return runSteps(gemini.read(runSteps(fold.final()) ?? null)).calls[0];
  };
  expect(argumentsIn('{"id":12345678901234567890}')).toEqual({
    name: 'f',
    arguments_text: '{"id":12345678901234567890}',
  });
  expect(argumentsIn('{"id":0.1,"n":-0}')).toEqual({ name: 'f', arguments_text: '{"id":0.1,"n":-0}' });
  expect(argumentsIn('{"id":0.50,"n":1e3}')).toEqual({ name: 'f', arguments: { id: 0.5, n: 1_000 } });
});

describe('arguments in pieces', () => {
  const piece = (partialArgs: readonly object[], willContinue = true): Part => ({
    functionCall: { partialArgs, willContinue },
  });
  const opening: Part = { functionCall: { name: 'cook', willContinue: true }, thoughtSignature: 'c2ln' };

  test('are put together at their paths', () => {
    const pieces = [
      piece([{ jsonPath: '$.steps[0].text', stringValue: 'Bo', willContinue: true }]),
      piece([{ jsonPath: '$.steps[0].text', stringValue: 'il', willContinue: true }]),
      piece([{ jsonPath: '$.steps[0].text', stringValue: '' }]),
      piece([
        { jsonPath: '$.steps[1].text', stringValue: 'Eat' },
        { jsonPath: "$['how many']", numberValue: 2.5 },
      ]),
      piece([
        { jsonPath: '$.hot', boolValue: true },
        { jsonPath: '$.salt', nullValue: 'NULL_VALUE' },
      ]),
      { functionCall: {} },
    ];
    const chunks = [opening, ...pieces, call('serve', {})].map((part) => chunk([part]));
    const reply = readStream([...chunks, chunk([], { finishReason: 'STOP' })]);
    expect(reply?.calls).toEqual([
      {
        name: 'cook',
        arguments: { steps: [{ text: 'Boil' }, { text: 'Eat' }], 'how many': 2.5, hot: true, salt: null },
      },
      { name: 'serve', arguments: {} },
    ]);
    expect(reply?.layout?.parts).toEqual([{ call: 0, with: '{"thoughtSignature":"c2ln"}' }, { call: 1 }]);
  });

  test('may end with the turn', () => {
    const chunks = [opening, piece([{ jsonPath: '$.a', stringValue: 'b' }])].map((part) => chunk([part]));
    expect(readStream([...chunks, chunk([], { finishReason: 'STOP' })])?.calls).toEqual([
      { name: 'cook', arguments: { a: 'b' } },
    ]);
  });

  test.each(['$', 'a.b', '$.list[5]', '$..x', `$${'.a'.repeat(65)}`])('fail the attempt at the path %s', (jsonPath) => {
    const chunks = [opening, piece([{ jsonPath, stringValue: 'x' }])].map((part) => chunk([part]));
    expect(() => readStream(chunks)).toThrow(expect.objectContaining({ code: 'provider_retryable' }));
  });

  test('may name __proto__, and change nothing else', () => {
    const chunks = [opening, piece([{ jsonPath: '$.__proto__.x', numberValue: 1 }], false)].map((part) =>
      chunk([part]),
    );
    const reply = readStream([...chunks, chunk([], { finishReason: 'STOP' })]);
    expect(JSON.stringify(reply?.calls[0]?.arguments)).toBe('{"__proto__":{"x":1}}');
    expect(({} as { readonly x?: number }).x).toBeUndefined();
  });
});

describe('an event that cannot be read fails the attempt', () => {
  test.each(['{"candidates":[', '"text"', '{"candidates":[{"content":{"parts":["x"]}}]}'])('%s', (data) => {
    expect(() => gemini.newFold().add({ name: null, data })).toThrow(
      expect.objectContaining({ code: 'provider_retryable' }),
    );
  });

  test('as an error in it does', () => {
    const data = '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Resource exhausted."}}';
    expect(() => gemini.newFold().add({ name: null, data })).toThrow(/RESOURCE_EXHAUSTED/);
  });
});

const aPart: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ text: fc.string({ unit: 'grapheme' }) }),
  fc.record({ text: fc.string(), thoughtSignature: fc.base64String({ minLength: 4 }) }),
  fc.record({ functionCall: fc.record({ name: fc.constant('f'), args: fc.dictionary(fc.string(), fc.jsonValue()) }) }),
  fc.record({ toolResponse: fc.dictionary(fc.string(), fc.jsonValue()) }),
);

/** A plain text in pieces of so many characters; any other part whole. */
function piecesOf(part: Part, size: number): readonly Part[] {
  if (Object.keys(part).join() !== 'text') return [part];
  return [...String(part['text']).matchAll(new RegExp(`[^]{1,${size}}`, 'gu'))].map(([text]) => ({ text }));
}

test('a stream of any pieces reads as the plain body, and none of its beginnings is a turn', () => {
  fc.assert(
    fc.property(fc.array(aPart), fc.integer({ min: 1, max: 5 }), (parts, size) => {
      const chunks = parts.flatMap((part) => piecesOf(part, size)).map((piece) => chunk([piece]));
      const whole = [...chunks, chunk([], { finishReason: 'STOP' })];
      expect(readStream(whole)).toEqual(read(bodyOf(parts)));
      expect(readStream(chunks)).toBeNull();
    }),
  );
});
