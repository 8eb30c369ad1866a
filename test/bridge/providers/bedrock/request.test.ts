import { describe, expect, test } from 'vitest';
import { bedrockConverse } from '../../../../bridge/providers/bedrock/dialect.ts';
import type { GenerateRequest, Message, MessageAttachment } from '../../../../bridge/providers/provider.ts';
import type { Json } from '../../../../schemas/json.ts';
import { requestWith } from '../../../support/providers/any-chat.ts';

const CLAUDE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const NOVA = 'us.amazon.nova-pro-v1:0';
const LLAMA = 'meta.llama3-2-1b-instruct-v1:0';

const user: Message = { role: 'user', text: 'Hi' };
const called = (id: string, name = 'read', written = '{"path":"a"}') => ({ id, name, arguments: written });
const assistant = (text: string, ...calls: readonly ReturnType<typeof called>[]): Message => ({
  role: 'assistant',
  text,
  calls,
});
const result = (call_id: string, text: string, further: Partial<Extract<Message, { role: 'tool' }>> = {}): Message => ({
  role: 'tool',
  call_id,
  name: 'read',
  text,
  is_error: false,
  ...further,
});

function encode(messages: readonly Message[], further: Partial<GenerateRequest> = {}, model = CLAUDE) {
  const request = { ...requestWith(messages, model), tools: [], instructions: null, ...further };
  return bedrockConverse.encode(request, {
    model,
    baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    stream: true,
  });
}
const bodyOf = (...given: Parameters<typeof encode>) => JSON.parse(encode(...given).body);
const contentOf = (...given: Parameters<typeof encode>): unknown[] =>
  bodyOf(...given).messages.map(({ role, content }: { role: string; content: unknown }) => [role, content]);

describe('the request', () => {
  test('names the model in its path, whatever the name is', () => {
    const arn = 'arn:aws:bedrock:us-east-1:1234:application-inference-profile/abc';
    expect(encode([user], {}, arn).path).toBe(
      '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1234%3Aapplication-inference-profile%2Fabc/converse-stream',
    );
    const plain = bedrockConverse.encode(requestWith([user], NOVA), { model: NOVA, baseUrl: 'x', stream: false });
    expect([plain.path, plain.headers]).toEqual([
      '/model/us.amazon.nova-pro-v1%3A0/converse',
      { accept: 'application/json' },
    ]);
  });

  test('holds what the config says, and nothing that it does not say', () => {
    expect(bodyOf([user])).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] });
    const { system, inferenceConfig } = bodyOf([user], {
      instructions: 'Be brief.',
      output_tokens_max: 9,
      temperature: 0,
    });
    expect({ system, inferenceConfig }).toEqual({
      system: [{ text: 'Be brief.' }],
      inferenceConfig: { maxTokens: 9, temperature: 0 },
    });
  });
});

describe('messages', () => {
  test('results come first, in the order of the calls; failures and missing results are marked', () => {
    const messages = [
      user,
      assistant('I look.', called('a'), called('b'), called('c')),
      result('b', 'broken', { is_error: true }),
      { role: 'user', text: 'Go on' } as const,
      result('a', ' '),
    ];
    expect(contentOf(messages).slice(1)).toEqual([
      [
        'assistant',
        [
          { text: 'I look.' },
          ...['a', 'b', 'c'].map((toolUseId) => ({ toolUse: { toolUseId, name: 'read', input: { path: 'a' } } })),
        ],
      ],
      [
        'user',
        [
          { toolResult: { toolUseId: 'a', content: [{ text: '(no output)' }] } },
          { toolResult: { toolUseId: 'b', content: [{ text: 'broken' }], status: 'error' } },
          { toolResult: { toolUseId: 'c', content: [{ text: 'This call has no result.' }], status: 'error' } },
          { text: 'Go on' },
        ],
      ],
    ]);
  });

  test('models that take no status are told in words', () => {
    const [, , answer] = contentOf(
      [user, assistant('', called('a')), result('a', 'no such file', { is_error: true })],
      {},
      LLAMA,
    );
    expect(answer).toEqual([
      'user',
      [{ toolResult: { toolUseId: 'a', content: [{ text: 'The call failed: no such file' }] } }],
    ]);
  });

  test('a window that begins or ends with the turn of the model gets a message of the user', () => {
    expect(contentOf([result('x', 'late'), assistant('one'), assistant('two')])).toEqual([
      ['user', [{ text: 'The result of an earlier call of read:\nlate' }]],
      ['assistant', [{ text: 'one' }, { text: 'two' }]],
      ['user', [{ text: 'Continue.' }]],
    ]);
    expect(contentOf([assistant('one'), user])[0]).toEqual([
      'user',
      [{ text: 'The beginning of this conversation is left out.' }],
    ]);
  });

  test('arguments that are no object are wrapped in one; large numbers stay as the model wrote them', () => {
    const calls = [called('a', 'x', '{"cut'), called('b', '', '[1]'), called('c', 'a b', '{"n":12345678901234567890}')];
    const { body } = encode([user, assistant('', ...calls), user]);
    expect(body).toContain('"name":"x","input":{"invalid_arguments":"{\\"cut"}');
    expect(body).toContain('"name":"unnamed","input":{"invalid_arguments":"[1]"}');
    expect(body).toContain('"name":"a_b","input":{"n":12345678901234567890}');
  });

  test('ids keep what the model behind the API takes', () => {
    const chat = [user, assistant('', called('functions.add:0')), result('functions.add:0', 'x')];
    expect(encode(chat, {}, LLAMA).body).toContain('"toolUseId":"functions.add:0"');
    expect(encode(chat).body).toContain('"toolUseId":"functions_add_0"');
  });
});

describe('a turn with a layout', () => {
  const reasoning = (fields: string) => `{"reasoningContent":{"reasoningText":{"text":"hm"${fields}}}}`;
  const turn = (item: string, model = CLAUDE): Message => ({
    ...(assistant('ab', called('t1')) as Extract<Message, { role: 'assistant' }>),
    layout: {
      api: 'bedrock.converse',
      model,
      parts: [
        { item },
        { text: 1 },
        { call: 0, with: '{"toolUse":{"extra":1e400}}' },
        { text: 1, with: '{"x":[1e400]}' },
      ],
    },
  });
  const sent = (message: Message, model = CLAUDE): string => {
    const { body } = encode([user, message, result('t1', 'x')], {}, model);
    return body.slice(body.indexOf('{"role":"assistant"'), body.indexOf(',{"role":"user","content":[{"toolResult"'));
  };
  const plain =
    '{"role":"assistant","content":[{"text":"ab"},{"toolUse":{"toolUseId":"t1","name":"read","input":{"path":"a"}}}]}';

  test('goes back as it came, to the same family', () => {
    const item = reasoning(',"signature":"c2ln"');
    for (const model of [CLAUDE, 'claude-sonnet-4-5']) {
      expect(sent(turn(item, model))).toBe(
        `{"role":"assistant","content":[${item},{"text":"a"},` +
          '{"toolUse":{"toolUseId":"t1","name":"read","input":{"path":"a"},"extra":1e400}},{"text":"b","x":[1e400]}]}',
      );
    }
    expect(sent(turn(item), 'us.anthropic.claude-opus-4-5-20251101-v1:0')).toBe(plain);
  });

  test('reasoning without a signature goes back to models that do not sign', () => {
    expect(sent(turn(reasoning('')))).not.toContain('reasoningContent');
    expect(sent(turn(reasoning(''), NOVA), NOVA)).toContain('reasoningContent');
    const redacted = '{"reasoningContent":{"redactedContent":"YQ=="}}';
    expect(sent(turn(redacted))).toContain(redacted);
  });

  test('reasoning at the end of a turn, or alone, does not go back', () => {
    const item = reasoning('');
    const ends = (parts: readonly ({ item: string } | { text: number })[], text: string): Message => ({
      role: 'assistant',
      text,
      calls: [],
      layout: { api: 'bedrock.converse', model: NOVA, parts },
    });
    expect(contentOf([user, ends([{ item }], ''), user], {}, NOVA)).toEqual([
      ['user', [{ text: 'Hi' }, { text: 'Hi' }]],
    ]);
    expect(contentOf([user, ends([{ text: 1 }, { item }], 'a'), user], {}, NOVA)[1]).toEqual([
      'assistant',
      [{ text: 'a' }],
    ]);
  });

  test('text with citations is put back between them', () => {
    const cited = '{"citationsContent":{"content":[{"text":1},{"text":1}],"citations":[{"title":"x"}]}}';
    const message: Message = {
      role: 'assistant',
      text: 'ab',
      calls: [],
      layout: { api: 'bedrock.converse', model: NOVA, parts: [{ text: 2, with: cited }] },
    };
    expect(contentOf([user, message, user], {}, NOVA)[1]).toEqual([
      'assistant',
      [{ citationsContent: { content: [{ text: 'a' }, { text: 'b' }], citations: [{ title: 'x' }] } }],
    ]);
  });
});

describe('tools', () => {
  const tool = (input_schema: Readonly<Record<string, Json>>, description = 'Reads.') => {
    const [first] =
      requestWith([], CLAUDE).tools.length > 0 ? requestWith([], CLAUDE).tools : requestWith([user], CLAUDE).tools;
    if (first === undefined) throw new Error('the support offers no tool');
    return { ...first, description, input_schema };
  };
  const choiceOf = (tool_choice: GenerateRequest['tool_choice']) =>
    bodyOf([user], { tools: [tool({ type: 'object' })], tool_choice: tool_choice ?? null }).toolConfig;

  test('are specs with a schema of an object', () => {
    const schema = { type: 'object', properties: { path: { type: 'string' } } };
    expect(bodyOf([user], { tools: [tool(schema), tool({}, ' '), tool({ type: 'OBJECT' })] }).toolConfig).toEqual({
      tools: [
        { toolSpec: { name: 'read', description: 'Reads.', inputSchema: { json: schema } } },
        { toolSpec: { name: 'read', inputSchema: { json: { type: 'object' } } } },
        { toolSpec: { name: 'read', description: 'Reads.', inputSchema: { json: { type: 'object' } } } },
      ],
    });
  });

  test('whose schema is of something else are refused, with the place', () => {
    expect(() => encode([user], { tools: [tool({ type: 'array' })] })).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringMatching(/tool "read" .*"\/type"/),
      }),
    );
  });

  test('may be chosen', () => {
    expect(choiceOf(null).toolChoice).toBeUndefined();
    expect(choiceOf('auto').toolChoice).toEqual({ auto: {} });
    expect(choiceOf('required').toolChoice).toEqual({ any: {} });
    expect(choiceOf({ tool: tool({}).tool_name }).toolChoice).toEqual({ tool: { name: 'read' } });
    expect(choiceOf('none')).toBeUndefined();
  });

  test('that were called are described even when none is offered', () => {
    const chat = [user, assistant('', called('a'), called('b', 'write'), called('c')), result('a', 'x')];
    const { tools } = bodyOf(chat, { tool_choice: 'none', tools: [tool({ type: 'object' })] }).toolConfig;
    expect(tools.map(({ toolSpec }: { toolSpec: { name: string; description: string } }) => toolSpec)).toEqual(
      ['read', 'write'].map((name) =>
        expect.objectContaining({ name, description: expect.stringContaining('Not available') }),
      ),
    );
  });
});

describe('attachments', () => {
  const file = (media_type: string, name?: string): MessageAttachment => ({
    media_type,
    bytes: new Uint8Array([1, 2, 3]).subarray(1),
    ...(name === undefined ? {} : { name }),
  });
  const source = { bytes: 'AgM=' };

  test('images and documents go in base64; names of documents fit the API and differ', () => {
    const attachments = [
      file('image/png'),
      file('application/pdf', 'Größe  & Co.pdf'),
      file('application/pdf', 'Gr--e - Co.pdf'),
    ];
    expect(
      contentOf([
        { role: 'user', text: '', attachments },
        { role: 'user', text: '', attachments: [file('application/pdf')] },
      ]),
    ).toEqual([
      [
        'user',
        [
          { image: { format: 'png', source } },
          { document: { format: 'pdf', name: 'Gr--e - Co', source } },
          { document: { format: 'pdf', name: 'Gr--e - Co (2)', source } },
          { document: { format: 'pdf', name: 'document', source } },
          { text: 'See the attached file.' },
        ],
      ],
    ]);
  });

  test('files of a failed call stand beside its result, which may hold text only', () => {
    const failed = result('a', 'broken', { is_error: true, attachments: [file('image/png')] });
    expect(contentOf([user, assistant('', called('a')), failed])[2]).toEqual([
      'user',
      [
        { toolResult: { toolUseId: 'a', content: [{ text: 'broken' }], status: 'error' } },
        { image: { format: 'png', source } },
      ],
    ]);
  });

  test('what cannot be sent is named instead', () => {
    const attachments = [file('audio/wav', 'a.wav')];
    expect(JSON.stringify(contentOf([{ role: 'user', text: 'x', attachments }]))).toContain(
      'The file a.wav (audio/wav) was left out',
    );
    const chat = [user, assistant('', called('a')), result('a', '', { attachments: [file('image/gif', 'b.gif')] })];
    expect(encode(chat).body).toContain('{"image":{"format":"gif"');
    expect(encode(chat, {}, LLAMA).body).toContain('The file b.gif (image/gif) was left out');
  });
});

describe('thinking', () => {
  const OPUS = 'global.anthropic.claude-opus-4-7';
  const fieldsOf = (reasoning: GenerateRequest['reasoning'], further: Partial<GenerateRequest> = {}, model = CLAUDE) =>
    bodyOf([user], { reasoning: reasoning ?? null, ...further }, model).additionalModelRequestFields;

  test.each([
    [CLAUDE, { effort: 'medium' }, { thinking: { type: 'enabled', budget_tokens: 8_192 } }],
    [CLAUDE, { tokens_max: 5 }, { thinking: { type: 'enabled', budget_tokens: 1_024 } }],
    [
      'anthropic.claude-3-7-sonnet-20250219-v1:0',
      { tokens_max: 2_000 },
      { thinking: { type: 'enabled', budget_tokens: 2_000 } },
    ],
    [OPUS, { effort: 'minimal' }, { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['anthropic.claude-opus-5', { effort: 'none' }, { thinking: { type: 'disabled' } }],
    [
      'us.anthropic.claude-sonnet-4-6',
      { effort: 'max' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
    ],
    [CLAUDE, { effort: 'none' }, undefined],
    [CLAUDE, { tokens_max: 0 }, undefined],
    [NOVA, { effort: 'high' }, undefined],
  ] as const)('%s with %j', (model, reasoning, fields) => {
    expect(fieldsOf(reasoning, {}, model)).toEqual(fields);
  });

  test('stays below the limit of the output, or is left out; the temperature is left out with it', () => {
    expect(fieldsOf({ effort: 'high' }, { output_tokens_max: 4_000 }).thinking.budget_tokens).toBe(2_976);
    expect(fieldsOf({ effort: 'high' }, { output_tokens_max: 1_024 })).toBeUndefined();
    expect(bodyOf([user], { reasoning: { effort: 'low' }, temperature: 0.5 }).inferenceConfig).toBeUndefined();
    expect(bodyOf([user], { temperature: 0.5 }, OPUS).inferenceConfig).toBeUndefined();
    expect(bodyOf([user], { reasoning: { effort: 'none' }, temperature: 0.5 }).inferenceConfig).toEqual({
      temperature: 0.5,
    });
  });

  test('is left out where a budget would make Claude refuse calls that it did not think about', () => {
    const chat = (item?: string): readonly Message[] => [
      user,
      {
        role: 'assistant',
        text: '',
        calls: [called('a')],
        ...(item === undefined
          ? {}
          : { layout: { api: 'bedrock.converse', model: CLAUDE, parts: [{ item }, { call: 0 }] } as const }),
      },
      result('a', 'x'),
    ];
    const asked = (messages: readonly Message[], model: string) =>
      bodyOf(messages, { reasoning: { effort: 'low' } }, model).additionalModelRequestFields !== undefined;
    expect(asked(chat(), CLAUDE)).toBe(false);
    expect(asked(chat('{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}}'), CLAUDE)).toBe(true);
    expect(asked(chat(), OPUS)).toBe(true);
  });
});
