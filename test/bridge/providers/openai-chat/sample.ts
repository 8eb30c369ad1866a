// The forms of Chat Completions, for the contract of all APIs.
import type { ApiSample } from '../contract.ts';

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
const callOf = ({ id, name, arguments: value }: { id: string; name: string; arguments: object }) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(value) },
});

export const chatSample: ApiSample = {
  api: 'openai-chat',
  contentType: 'text/event-stream',
  frames: ({ pieces, calls }) => [
    event(chunk({ role: 'assistant', content: '' })),
    ...pieces.map((content) => event(chunk({ content }))),
    ...calls.map((call, index) => event(chunk({ tool_calls: [{ index, ...callOf(call) }] }))),
    event(chunk({}, calls.length > 0 ? 'tool_calls' : 'stop')),
    event({ choices: [], usage }),
    'data: [DONE]\n\n',
  ],
  endFrames: 3,
  plain: ({ pieces, calls }) => {
    const message = { role: 'assistant', content: pieces.join(''), tool_calls: calls.map(callOf) };
    return JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage });
  },
  error: (message) => JSON.stringify({ error: { message, type: 'some_error', code: null } }),
  overloaded: event({ error: { message: 'Overloaded', type: 'overloaded_error' } }),
  badFrame: 'dta: {"choices":[]}\n\n',
  tooLong: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  keyHeader: ['authorization', 'Bearer KEY'],
};
