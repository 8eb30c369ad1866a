// How a GenerateContentResponse is read, and how its turn goes back.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gemini } from '../../../../bridge/providers/gemini/dialect.ts';
import { parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { type Part, bodyOf, messageOf, partsBack, read } from './examples.ts';
import { runSteps } from '../../../../src/core/steps.ts';

describe('a turn', () => {
  test('of text and calls needs no layout', () => {
    const reply = read(bodyOf([{ text: 'Let me look.' }, { functionCall: { name: 'look', args: { at: 'x' } } }]));
    expect(reply).toEqual({
      content: 'Let me look.',
      calls: [{ name: 'look', arguments: { at: 'x' } }],
      stop: { reason: 'calls', word: 'STOP' },
    });
  });

  test('keeps signatures of text, calls and empty texts, thoughts and unknown parts in their places', () => {
    const parts: readonly Part[] = [
      { text: 'I think', thought: true },
      { text: 'First.', thoughtSignature: 'c2ln' },
      { functionCall: { name: 'look', args: {}, id: 'x1', mood: 'good' }, thoughtSignature: 'b3Ro' },
      { text: 'Then.' },
      { executableCode: { language: 'PYTHON', code: 'print(1)' }, thoughtSignature: 'YQ==' },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
      { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
      { hologram: { size: 3 } },
      { text: '', thoughtSignature: 'ZW5k' },
    ];
    const reply = read(bodyOf(parts));
    expect(reply.content).toBe('First.Then.');
    expect(reply.calls).toEqual([{ id: 'x1', name: 'look', arguments: {} }]);
    expect(reply.layout?.model).toBe('gemini-2.5-flash');
    expect(partsBack(reply)).toEqual(parts);
  });

  test('goes back to another model, or after an edit, as its text and calls alone', () => {
    const reply = read(
      bodyOf([
        { text: 'Yes.', thoughtSignature: 'c2ln' },
        { text: 'hm', thought: true },
      ]),
    );
    expect(partsBack(reply, 'gemini-2.5-pro')).toEqual([{ text: 'Yes.' }]);
    expect(partsBack({ ...reply, content: 'Yes, but.' })).toEqual([{ text: 'Yes, but.' }]);
  });

  test('keeps integers that a double cannot hold, in arguments and in items', () => {
    const body = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"id":12345678901234567890}}},
      {"strange":98765432109876543210}]},"finishReason":"STOP"}],"modelVersion":"gemini-2.5-flash"}`;
    const reply = runSteps(gemini.read(parseExact(body)));
    expect(reply.calls).toEqual([{ name: 'f', arguments_text: '{"id":12345678901234567890}' }]);
    expect(reply.layout?.parts).toEqual([{ call: 0 }, { item: '{"strange":98765432109876543210}' }]);
  });

  test('takes a number that a double holds as a plain one, however it is written', () => {
    const body = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1e5,"b":0.50,
      "n":12345678901234567}}}]},"finishReason":"STOP"}]}`;
    expect(runSteps(gemini.read(parseExact(body))).calls).toEqual([
      { name: 'f', arguments_text: '{"a":100000,"b":0.5,"n":12345678901234567}' },
    ]);
  });

  test('passes on what the engine rejects: no name, arguments that are no object, an id twice', () => {
    const calls = [{ id: 'a' }, { name: 'f', args: [1], id: 'a' }].map((functionCall) => ({ functionCall }));
    expect(read(bodyOf(calls)).calls).toEqual([
      { id: 'a', name: '', arguments: {} },
      { id: 'a', name: 'f', arguments: [1] },
    ]);
  });

  test('keeps grounding and citations as items that no request holds', () => {
    const grounding = { webSearchQueries: ['weather'], groundingSupports: [{ confidenceScores: [0.25] }] };
    const reply = read(
      bodyOf([{ text: 'Sunny.' }], { finishReason: 'STOP', groundingMetadata: grounding, citationMetadata: {} }),
    );
    expect(reply.layout?.parts).toEqual([{ text: 6 }, { item: JSON.stringify({ groundingMetadata: grounding }) }]);
    expect(partsBack(reply)).toEqual([{ text: 'Sunny.' }]);
  });

  test('takes the first candidate by its index', () => {
    const reply = read({
      candidates: [
        { index: 1, content: { parts: [{ text: 'second' }] } },
        { index: 0, content: { parts: [{ text: 'first' }] } },
      ],
    });
    expect(reply).toEqual({ content: 'first', calls: [] });
  });
});

describe('stop', () => {
  const stopOf = (finishReason: unknown, parts: readonly Part[] = []) => read(bodyOf(parts, { finishReason })).stop;

  test.each([
    ['STOP', 'end'],
    ['stop', 'end'],
    [1, 'end'],
    ['MAX_TOKENS', 'length'],
    [2, 'length'],
    ['SAFETY', 'filtered'],
    ['RECITATION', 'filtered'],
    ['BLOCKLIST', 'filtered'],
    ['PROHIBITED_CONTENT', 'filtered'],
    ['SPII', 'filtered'],
    ['IMAGE_SAFETY', 'filtered'],
    ['MODEL_ARMOR', 'filtered'],
    ['MALFORMED_FUNCTION_CALL', 'other'],
    ['UNEXPECTED_TOOL_CALL', 'other'],
    [10, 'other'],
  ])('%s means %s', (word, reason) => {
    expect(stopOf(word)).toEqual({ reason, word: String(word) });
  });

  test('with calls, only a normal end waits for results', () => {
    const call = [{ functionCall: { name: 'f', args: {} } }];
    expect(stopOf('STOP', call)?.reason).toBe('calls');
    expect(stopOf('MAX_TOKENS', call)?.reason).toBe('length');
    expect(stopOf('UNEXPECTED_TOOL_CALL', call)?.reason).toBe('other');
  });

  test('a blocked prompt is filtered', () => {
    const reply = read({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 7 } });
    expect(reply).toEqual({
      calls: [],
      usage: { input_tokens: 7, output_tokens: 0 },
      stop: { reason: 'filtered', word: 'SAFETY' },
    });
  });
});

test('usage: input has cached tokens and those of server tools, output has thoughts', () => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 60,
    toolUsePromptTokenCount: 20,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 30,
    totalTokenCount: 155,
  };
  expect(read(bodyOf([{ text: 'x' }], {}, { usageMetadata })).usage).toEqual({
    input_tokens: 120,
    output_tokens: 35,
    cached_tokens: 60,
    reasoning_tokens: 30,
  });
});

describe('a body that is none', () => {
  test.each([
    ['text', '$ must be'],
    [{}, '$.candidates must be'],
    [{ candidates: [] }, '$.candidates must be'],
    [{ candidates: ['x'] }, '$.candidates[0] must be'],
    [{ candidates: [{ content: [] }] }, '$.candidates[0].content must be'],
    [{ candidates: [{ content: { parts: {} } }] }, '$.candidates[0].content.parts must be'],
    [{ candidates: [{ content: { parts: [{ text: 'x' }, null] } }] }, '$.candidates[0].content.parts[1] must be'],
  ])('%j fails the attempt with the path', (body, path) => {
    expect(() => read(body)).toThrow(
      expect.objectContaining({ code: 'provider_retryable', message: expect.stringContaining(path) }),
    );
  });

  test('an error inside a 200 is an error', () => {
    const error = { error: { code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' } };
    expect(() => read(error)).toThrow(expect.objectContaining({ code: 'provider_retryable' }));
  });
});

const aName = fc.constantFrom('look', 'a.b:c', '9lives', '_9', '-x', '__1', 'default_api:f');
const aPart: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ text: fc.string({ unit: 'binary', minLength: 1 }), thoughtSignature: fc.base64String({ minLength: 4 }) }),
  fc.record({ text: fc.constant(''), thoughtSignature: fc.base64String({ minLength: 4 }) }),
  fc.record({ text: fc.string({ minLength: 1 }), thought: fc.constant(true) }),
  fc.record({ toolCall: fc.dictionary(fc.string(), fc.jsonValue()) }),
  fc.record({ functionCall: fc.record({ name: fc.constant('look'), args: fc.dictionary(fc.string(), fc.integer()) }) }),
  fc.record({
    functionCall: fc.record({ name: fc.constant('f'), args: fc.constant({}), id: fc.uuid() }),
    thoughtSignature: fc.base64String({ minLength: 4 }),
  }),
);

test('every turn goes back to its own model as it came', () => {
  fc.assert(
    fc.property(fc.array(aPart, { minLength: 1 }), (parts) => {
      expect(partsBack(read(bodyOf(parts)))).toEqual(JSON.parse(JSON.stringify(parts)));
    }),
  );
});

test('a tool keeps its name on the way to the model and back', () => {
  fc.assert(
    fc.property(fc.oneof(aName, fc.stringMatching(/^[A-Za-z0-9_-]{1,60}$/)), (name) => {
      const reply = { calls: [{ name, arguments: {} }] };
      const [part] = partsBack(reply) as readonly { readonly functionCall: { readonly name: string } }[];
      expect(part?.functionCall.name).toMatch(/^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/);
      expect(messageOf(read(bodyOf([part as Part]))).calls[0]?.name).toBe(name);
    }),
  );
});
