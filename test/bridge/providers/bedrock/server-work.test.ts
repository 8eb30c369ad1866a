// Work of the provider's own tools: what it recorded goes back exactly in its place, and never a half of it.
import { describe, expect, test } from 'vitest';
import { parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { bedrockConverse } from '../../../../bridge/providers/bedrock/dialect.ts';
import type { GenerateRequest, Message } from '../../../../bridge/providers/provider.ts';
import { requestWith } from '../../../support/providers/any-chat.ts';
import { runSteps } from '../../../../src/core/steps.ts';

const NOVA = 'us.amazon.nova-2-lite-v1:0';

// As a model with its own code interpreter answers: numbers, the order of fields and unknown types stay as they are.
const CALL =
  '{"toolUse":{"input":{"snippet":"2 * 7006652.0"},"name":"nova_code_interpreter","toolUseId":"srv-1","type":"server_tool_use"}}';
const RESULT =
  '{"toolResult":{"content":[{"json":{"exitCode":0,"stdOut":"14013304.0","n":12345678901234567890}}],"status":"success","toolUseId":"srv-1","type":"nova_code_interpreter_result"}}';
const OWN = '{"toolUse":{"toolUseId":"t1","name":"read","input":{"result":7006652}}}';

/** The turn of these blocks, read as an answer, as it stands in the next request. */
function sentBack(blocks: readonly string[], further: Partial<GenerateRequest> = {}) {
  const answer = `{"output":{"message":{"role":"assistant","content":[${blocks.join(',')}]}},"stopReason":"tool_use"}`;
  const { content = '', calls, layout } = runSteps(bedrockConverse.read(parseExact(answer)));
  const turn: Message = {
    role: 'assistant',
    text: content,
    calls: calls.map(({ id = '', name, arguments: value, arguments_text }) => ({
      id,
      name,
      arguments: arguments_text ?? JSON.stringify(value),
    })),
    ...(layout === undefined ? {} : { layout: { ...layout, model: NOVA } }),
  };
  const results = turn.calls.map(({ id, name }): Message => ({
    role: 'tool',
    call_id: id,
    name,
    text: 'x',
    is_error: false,
  }));
  const messages: Message[] = [{ role: 'user', text: 'Hi' }, turn, ...results, { role: 'user', text: 'on' }];
  const request = { ...requestWith(messages, NOVA), tools: [], instructions: null, ...further };
  return bedrockConverse.encode(request, { model: NOVA, baseUrl: 'https://x.example', stream: false }).body;
}

/** The text of the model's turn in a request. */
const turnIn = (body: string): string =>
  /\{"role":"assistant","content":\[(.*?)\]\},\{"role":"user"/.exec(body)?.[1] ?? '';

describe('a call of the provider’s own tool and its result', () => {
  test.each([
    ['before the calls of the client', [CALL, RESULT, OWN]],
    ['after them', [OWN, CALL, RESULT]],
    ['between texts', ['{"text":"First."}', CALL, '{"text":"Then."}', RESULT, '{"text":"Last."}', OWN]],
    ['alone', [CALL, RESULT]],
  ])('go back byte for byte, %s', (_place, blocks) => {
    expect(turnIn(sentBack(blocks))).toBe(blocks.join(','));
  });

  test('are no calls of the client: only those get a result from it', () => {
    const last = JSON.parse(sentBack([CALL, RESULT, OWN])).messages.at(-1).content;
    expect(last).toEqual([{ toolResult: { toolUseId: 't1', content: [{ text: 'x' }] } }, { text: 'on' }]);
  });

  test('need a toolConfig like any call', () => {
    const named = JSON.parse(sentBack([CALL, RESULT])).toolConfig.tools;
    expect(named.map(({ toolSpec }: { toolSpec: { name: string } }) => toolSpec.name)).toEqual([
      'nova_code_interpreter',
    ]);
  });
});

describe('half of its work, in a turn that was cut', () => {
  const other = RESULT.replace('srv-1', 'srv-2');
  test.each([
    ['a call without a result', ['{"text":"a"}', CALL], ['{"text":"a"}']],
    ['a result without a call', [RESULT, '{"text":"a"}'], ['{"text":"a"}']],
    ['a result before its call', [RESULT, CALL, OWN], [OWN]],
    ['a call and the result of another one', [CALL, other, OWN], [OWN]],
    ['one call of two', [CALL, RESULT, CALL.replace('srv-1', 'srv-2'), OWN], [CALL, RESULT, OWN]],
  ])('does not go back: %s', (_what, blocks, expected) => {
    expect(turnIn(sentBack(blocks))).toBe(expected.join(','));
  });

  test('leaves no turn when there was nothing else in it', () => {
    const { messages } = JSON.parse(sentBack([CALL]));
    expect(messages).toEqual([{ role: 'user', content: [{ text: 'Hi' }, { text: 'on' }] }]);
  });
});
