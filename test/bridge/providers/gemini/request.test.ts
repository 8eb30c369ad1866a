// How a conversation and its config become a GenerateContentRequest.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gemini } from '../../../../bridge/providers/gemini/dialect.ts';
import type { AssistantMessage, Message, ToolMessage } from '../../../../bridge/providers/provider.ts';
import type { OfferedTool } from '../../../../schemas/effect.ts';
import { type Part, MODEL, bodyOf, encode, messageOf, read, requestOf } from './examples.ts';

const user = (text: string): Message => ({ role: 'user', text });
const said = (text: string): AssistantMessage => ({ role: 'assistant', text, calls: [] });
const called = (...names: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  text: '',
  calls: names.map((name, index) => ({ id: `call-1-${index}`, name, arguments: `{"n":${index}}` })),
});
const result = (index: number, name: string, text: string, is_error = false): ToolMessage => ({
  role: 'tool',
  call_id: `call-1-${index}`,
  name,
  text,
  is_error,
});
const tool = (tool_name: string): OfferedTool => ({ ...TOOL, tool_name }) as unknown as OfferedTool;
const TOOL = {
  tool_id: 'a.b',
  tool_ref: 'sha256:0',
  description: 'Does it.',
  input_schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
};

describe('the path', () => {
  const pathOf = (model: string, stream = true): string =>
    gemini.encode(requestOf({}), { model, baseUrl: 'https://example.org/v1beta', stream }).path;

  test('names the model and the method', () => {
    expect(pathOf('gemini-2.5-flash')).toBe('/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
    expect(pathOf('models/gemini-2.5-flash', false)).toBe('/models/gemini-2.5-flash:generateContent');
    expect(pathOf('projects/p/locations/l/endpoints/7', false)).toBe(
      '/projects/p/locations/l/endpoints/7:generateContent',
    );
  });

  test.each(['', '../x', 'a?b', 'a b', 'a//b', 'a#b', 'a/../b'])('refuses %j as a model', (model) => {
    expect(() => pathOf(model)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

describe('turns', () => {
  test('hold all results of a turn in call order, before what a person says', () => {
    const messages = [
      user('Go.'),
      called('look', 'feel'),
      result(0, 'look', 'blue'),
      result(1, 'feel', 'too hot', true),
      user('And now?'),
    ];
    expect(encode({ messages }).contents).toEqual([
      { role: 'user', parts: [{ text: 'Go.' }] },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'look', args: { n: 0 } } }, { functionCall: { name: 'feel', args: { n: 1 } } }],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'look', response: { output: 'blue' } } },
          { functionResponse: { name: 'feel', response: { error: 'too hot' } } },
          { text: 'And now?' },
        ],
      },
    ]);
  });

  test('give a call its id back, and its result the same one, where the API gave one', () => {
    const reply = read(bodyOf([{ functionCall: { name: 'look', args: {}, id: 'x/9' } }]));
    const message = messageOf(reply);
    const messages = [user('Go.'), message, { ...result(0, 'look', 'blue'), call_id: message.calls[0]?.id ?? '' }];
    const [, model, results] = encode({ messages }).contents;
    expect(model?.parts).toEqual([{ functionCall: { id: 'x/9', name: 'look', args: {} } }]);
    expect(results?.parts).toEqual([{ functionResponse: { id: 'x/9', name: 'look', response: { output: 'blue' } } }]);
  });

  test('begin with a user, alternate, and have no empty parts', () => {
    const messages = [said('Welcome.'), user(''), said(' Back.'), user('Hi.'), user('There.'), said('')];
    expect(encode({ messages }).contents).toEqual([
      { role: 'user', parts: [{ text: '[The beginning of this conversation is left out.]' }] },
      { role: 'model', parts: [{ text: 'Welcome.' }, { text: ' Back.' }] },
      { role: 'user', parts: [{ text: 'Hi.' }, { text: 'There.' }] },
    ]);
  });

  test('show arguments that are no object as text', () => {
    const message: AssistantMessage = {
      role: 'assistant',
      text: '',
      calls: [{ id: 'a', name: '', arguments: '{"x":' }],
    };
    expect(encode({ messages: [user('Go.'), message] }).contents[1]?.parts).toEqual([
      { functionCall: { name: 'unnamed', args: { INVALID_JSON: '{"x":' } } },
    ]);
  });

  test('pair what a conversation left unpaired', () => {
    const messages = [user('Go.'), called('look', 'feel'), result(0, 'look', 'blue'), result(7, 'smell', 'sweet')];
    expect(encode({ messages }).contents[2]?.parts).toEqual([
      { functionResponse: { name: 'look', response: { output: 'blue' } } },
      { functionResponse: { name: 'feel', response: { error: 'There is no result.' } } },
      { text: 'The result of smell: sweet' },
    ]);
  });

  test('hold images and PDFs, results before files, and say which file the API does not take', () => {
    const png = { media_type: 'image/png', bytes: new Uint8Array([1, 2, 3]) };
    const gif = { media_type: 'image/gif', name: 'a.gif', bytes: new Uint8Array(4) };
    const messages: readonly Message[] = [
      { role: 'user', text: 'See:', attachments: [gif] },
      called('shoot', 'look'),
      { ...result(0, 'shoot', 'done'), attachments: [png] },
      result(1, 'look', 'blue'),
    ];
    const [first, , last] = encode({ messages }).contents;
    expect(first?.parts).toEqual([
      { text: '[The file a.gif (image/gif, 4 bytes) is left out: the API takes no such files.]' },
      { text: 'See:' },
    ]);
    expect(last?.parts.map((part) => Object.keys(part)[0])).toEqual([
      'functionResponse',
      'functionResponse',
      'inlineData',
    ]);
    expect(last?.parts[2]).toEqual({ inlineData: { mimeType: 'image/png', data: 'AQID' } });
  });
});

describe('signatures', () => {
  const partsOf = (message: AssistantMessage, model: string): readonly Part[] =>
    encode({ messages: [user('Go.'), message] }, model).contents[1]?.parts ?? [];

  test.each(['gemini-3-flash-preview', 'gemini-3.1-pro-preview', 'gemini-4-argon', 'gemini-flash-latest'])(
    '%s gets the documented form on the first call of an unsigned turn',
    (model) => {
      expect(partsOf(called('look', 'feel'), model).map((part) => part['thoughtSignature'])).toEqual([
        'skip_thought_signature_validator',
        undefined,
      ]);
    },
  );

  test.each(['gemini-2.5-pro', 'gemini-2.0-flash', 'gemma-4'])('%s demands none', (model) => {
    expect(partsOf(called('look'), model)[0]).not.toHaveProperty('thoughtSignature');
  });

  test('of the model itself stay', () => {
    const parts = [{ functionCall: { name: 'look', args: {} }, thoughtSignature: 'c2ln' }];
    const model = 'gemini-3-flash-preview';
    const reply = read(bodyOf(parts, { finishReason: 'STOP' }, { modelVersion: model }));
    expect(partsOf(messageOf(reply), model)).toEqual(parts);
  });
});

describe('the config', () => {
  test('is left out when nothing is asked for', () => {
    expect(Object.keys(encode({}))).toEqual(['contents']);
  });

  test('is translated', () => {
    const body = encode({
      instructions: 'Be brief.',
      temperature: 0.5,
      output_tokens_max: 100,
      tools: [tool('9lives')],
    });
    expect(body['systemInstruction']).toEqual({ parts: [{ text: 'Be brief.' }] });
    expect(body['generationConfig']).toEqual({ temperature: 0.5, maxOutputTokens: 100 });
    expect(body['tools']).toEqual([
      {
        functionDeclarations: [
          {
            name: '_9lives',
            description: 'Does it.',
            parametersJsonSchema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
          },
        ],
      },
    ]);
  });

  test.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ tool: '9lives' }, { mode: 'ANY', allowedFunctionNames: ['_9lives'] }],
  ])('tool_choice %j', (tool_choice, functionCallingConfig) => {
    const more = { tool_choice, tools: [tool('9lives')] } as Parameters<typeof encode>[0];
    expect(encode(more)['toolConfig']).toEqual({ functionCallingConfig });
    expect(encode({ ...more, tools: [] })).not.toHaveProperty('toolConfig');
  });

  test.each([
    ['gemini-2.5-flash', { effort: 'none' }, { includeThoughts: false, thinkingBudget: 0 }],
    ['gemini-2.5-flash', { effort: 'high', tokens_max: 300 }, { includeThoughts: true, thinkingBudget: 300 }],
    ['gemini-2.5-pro', { tokens_max: 0 }, { includeThoughts: false, thinkingBudget: 128 }],
    ['gemini-2.5-pro', {}, { includeThoughts: true }],
    ['gemini-3-flash', { effort: 'max', tokens_max: 300 }, { includeThoughts: true, thinkingLevel: 'high' }],
    ['gemini-3-flash', { tokens_max: 300 }, { includeThoughts: true, thinkingBudget: 300 }],
    ['gemini-3.1-pro-preview', { effort: 'none' }, { includeThoughts: false, thinkingLevel: 'low' }],
  ] as const)('thinking of %s with %j', (model, reasoning, thinkingConfig) => {
    expect(encode({ reasoning }, model)['generationConfig']).toEqual({ thinkingConfig });
  });

  test('asks a model without thinking for none', () => {
    expect(encode({ reasoning: { effort: 'high' } }, 'gemini-2.0-flash')).not.toHaveProperty('generationConfig');
  });
});

const aTurn: fc.Arbitrary<readonly Message[]> = fc
  .tuple(
    fc.string({ maxLength: 5 }),
    fc.string({ maxLength: 3 }),
    fc.array(fc.constantFrom('look', 'feel'), { maxLength: 3 }),
  )
  .map(([asked, text, names]) => [
    user(asked),
    { ...called(...names), text },
    ...names.map((name, index) => result(index, name, text, index === 1)),
  ]);

test('any window of any conversation is a valid request: a user first, alternation, results for calls, nothing empty', () => {
  fc.assert(
    fc.property(fc.array(aTurn, { maxLength: 5 }), fc.boolean(), (turns, cut) => {
      const [first = [], ...rest] = turns;
      const { contents } = encode({ messages: [...(cut ? first.slice(1) : first), ...rest.flat()] }, MODEL);
      expect(contents.map(({ role }) => role)).toEqual(
        contents.map((_content, index) => (index % 2 === 0 ? 'user' : 'model')),
      );
      for (const [index, { parts }] of contents.entries()) {
        expect(parts.length).toBeGreaterThan(0);
        expect(parts.some((part) => part['text'] === '')).toBe(false);
        const names = (key: string, list: readonly Part[] = []): readonly unknown[] =>
          list.flatMap((part) => (part[key] === undefined ? [] : [(part[key] as { readonly name: string }).name]));
        expect(names('functionResponse', contents[index + 1]?.parts)).toEqual(names('functionCall', parts));
      }
    }),
  );
});
