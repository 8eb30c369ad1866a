// The checker of recorded Chat Completions, on examples made for it.
import { expect, test } from 'vitest';
import { reportOf } from '../recording.ts';
import { openAiChatCheck } from './openai-chat.ts';

const call = { id: 'a', type: 'function', function: { name: 'read', arguments: '{"path":"ä"}' } };
const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
const completion = (message: object, finish_reason = 'stop') => ({
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
  usage,
});
const stream = (deltas: readonly object[], finish: string): string =>
  [
    ...deltas.map((delta) => ({ model: 'm', choices: [{ index: 0, delta, finish_reason: null }] })),
    { model: 'm', choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { model: 'm', choices: [], usage },
  ]
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    .join('') + 'data: [DONE]\n\n';

test('whole and streamed answers, errors and what is no answer', async () => {
  const report = await reportOf(
    [
      { status: 200, response: completion({ content: 'Hé 🙂', refusal: null, annotations: [] }) },
      {
        status: 200,
        response: completion(
          { content: null, reasoning_content: 'hm', tool_calls: [call, { ...call, id: 'b' }] },
          'tool_calls',
        ),
      },
      {
        status: 200,
        response_text: stream(
          [
            { role: 'assistant', content: '', reasoning: 'h' },
            { reasoning: 'm', reasoning_details: [{ type: 'reasoning.text', text: 'h', index: 0 }] },
            { reasoning_details: [{ type: 'reasoning.text', text: 'm', index: 0, signature: 's' }] },
            { content: 'Hé' },
            { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '{"p"' } }] },
            { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
          ],
          'tool_calls',
        ),
      },
      { status: 401, response: { error: { message: 'no' } } },
      { status: 400, response: { detail: 'maximum context length' } },
      { status: 200, response: { hello: 1 } },
    ],
    openAiChatCheck,
  );
  expect(report).toEqual({
    records: 6,
    decoded: 3,
    errors: { provider_auth: 1, context_length: 1 },
    undecoded: ['6: provider_retryable the answer is not a completion: at "/choices": no choice'],
    differences: [],
  });
});
