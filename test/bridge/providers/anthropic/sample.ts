// The forms of the Messages API, for the contract of all APIs.
import type { ApiSample, SampleTurn } from '../contract.ts';

const event = (value: { readonly type: string }): string => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
const delta = (index: number, value: object) => event({ type: 'content_block_delta', index, delta: value } as never);
const stopReason = ({ calls }: SampleTurn): string => (calls.length > 0 ? 'tool_use' : 'end_turn');
const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x' };
const usage = { input_tokens: 5, output_tokens: 7 };

export const messagesSample: ApiSample = {
  api: 'anthropic',
  contentType: 'text/event-stream',
  frames: (turn) => [
    event({
      type: 'message_start',
      message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    } as never),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never),
    ...turn.pieces.map((text) => delta(0, { type: 'text_delta', text })),
    event({ type: 'content_block_stop', index: 0 } as never),
    ...turn.calls.flatMap(({ id, name, arguments: input }, index) => [
      event({
        type: 'content_block_start',
        index: index + 1,
        content_block: { type: 'tool_use', id, name, input: {} },
      } as never),
      delta(index + 1, { type: 'input_json_delta', partial_json: JSON.stringify(input) }),
      event({ type: 'content_block_stop', index: index + 1 } as never),
    ]),
    event({ type: 'message_delta', delta: { stop_reason: stopReason(turn) }, usage: { output_tokens: 7 } } as never),
    event({ type: 'message_stop' }),
  ],
  endFrames: 2,
  plain: (turn) =>
    JSON.stringify({
      ...head,
      content: [
        { type: 'text', text: turn.pieces.join('') },
        ...turn.calls.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input })),
      ],
      stop_reason: stopReason(turn),
      usage,
    }),
  error: (message) => JSON.stringify({ type: 'error', error: { type: 'some_error', message } }),
  overloaded: event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } as never),
  badFrame: 'dta: {"type":"ping"}\n\n',
  tooLong: 'prompt is too long: 213000 tokens > 200000 maximum',
  keyHeader: ['x-api-key', 'KEY'],
};

export const vertexSample: ApiSample = {
  ...messagesSample,
  api: 'vertex-anthropic',
  keyHeader: ['authorization', 'Bearer KEY'],
};
