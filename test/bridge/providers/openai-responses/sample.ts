// The forms of the Responses API, for the contract of all APIs.
import type { ApiSample, SampleTurn } from '../contract.ts';

const event = (type: string, value: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;
const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };

const messageOf = ({ pieces }: SampleTurn) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }],
});
const callsOf = ({ calls }: SampleTurn) =>
  calls.map(({ id, name, arguments: value }) => ({
    id: `fc_${id}`,
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    arguments: JSON.stringify(value),
  }));
const responseOf = (turn: SampleTurn) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-x',
  output: [messageOf(turn), ...callsOf(turn)],
  usage,
});

export const responsesSample: ApiSample = {
  api: 'openai-responses',
  contentType: 'text/event-stream',
  frames: (turn) => [
    event('response.created', { response: { ...responseOf(turn), status: 'in_progress', output: [], usage: null } }),
    event('response.output_item.added', {
      output_index: 0,
      item: { ...messageOf(turn), status: 'in_progress', content: [] },
    }),
    event('response.content_part.added', {
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      part: { type: 'output_text', text: '', annotations: [] },
    }),
    ...turn.pieces.map((delta) =>
      event('response.output_text.delta', { output_index: 0, content_index: 0, item_id: 'msg_1', delta }),
    ),
    event('response.output_item.done', { output_index: 0, item: messageOf(turn) }),
    ...callsOf(turn).map((item, index) => event('response.output_item.done', { output_index: index + 1, item })),
    event('response.completed', { response: responseOf(turn) }),
  ],
  endFrames: 1,
  plain: (turn) => JSON.stringify(responseOf(turn)),
  error: (message) => JSON.stringify({ error: { message, type: 'some_error', param: null, code: null } }),
  overloaded: event('error', { code: 'server_error', message: 'The server is overloaded', param: null }),
  badFrame: 'dta: {"type":"response.created"}\n\n',
  tooLong: 'Your input exceeds the context window of this model.',
  keyHeader: ['authorization', 'Bearer KEY'],
};
