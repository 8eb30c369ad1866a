import { expect, test } from 'vitest';
import { type Recording, reportOf } from '../recording.ts';
import { openAiResponsesCheck } from './openai-responses.ts';

const usage = { input_tokens: 9, output_tokens: 5, output_tokens_details: { reasoning_tokens: 3 } };
const output = [
  { id: 'rs_1', type: 'reasoning', encrypted_content: 'gAAA-0e1', summary: [] },
  {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Grüße', annotations: [] }],
  },
  { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'add', arguments: '{"a":1}', status: 'completed' },
];
const whole = { object: 'response', status: 'completed', model: 'gpt-5.4', error: null, output, usage };

const line = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const opened = [
  line('response.created', { response: { ...whole, status: 'in_progress', output: [] } }),
  ...output.map((item, output_index) => line('response.output_item.done', { output_index, item })),
];

const RECORDINGS: readonly Recording[] = [
  { status: 200, response: whole },
  { status: 200, response_text: [...opened, line('response.completed', { response: whole })].join('') },
  {
    status: 200,
    response: { ...whole, output: [], status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  },
  { status: 429, response: { error: { code: 'rate_limit_exceeded', message: 'slow down' } } },
  { status: 200, response: { ...whole, output: [], status: 'queued' } },
  { status: 200, response_text: opened.join('') },
];

test('exchanges are decoded, sent back, streamed and cut, or named with the reason', async () => {
  const { undecoded, ...report } = await reportOf(RECORDINGS, openAiResponsesCheck);
  expect(report).toEqual({ records: 6, decoded: 3, errors: { provider_retryable: 1 }, differences: [] });
  expect(undecoded).toEqual([
    expect.stringContaining('5: provider_retryable') as string,
    expect.stringContaining('6: provider_retryable') as string,
  ]);
});

test('a turn that the plain reader reads differently is a difference', async () => {
  // The dialect takes the text of a message as a list of one part; the plain reader knows lists only.
  const odd = { ...whole, output: [{ type: 'message', role: 'assistant', content: 'hello' }] };
  const { differences } = await reportOf([{ status: 200, response: odd }], openAiResponsesCheck);
  expect(differences[0]).toContain('1: the reply');
});
