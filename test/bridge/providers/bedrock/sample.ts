// The forms of Converse, for the contract of all APIs.
import { awsEventBytes } from '../../../support/providers/aws-frames.ts';
import type { ApiSample, SampleTurn } from '../contract.ts';

const event = (name: string, data: object): Uint8Array => awsEventBytes(name, JSON.stringify(data));
const delta = (contentBlockIndex: number, value: object): Uint8Array =>
  event('contentBlockDelta', { contentBlockIndex, delta: value });

const usage = { inputTokens: 5, outputTokens: 7, totalTokens: 12 };
const stopReason = ({ calls }: SampleTurn): string => (calls.length > 0 ? 'tool_use' : 'end_turn');

export const converseSample: ApiSample = {
  api: 'bedrock',
  contentType: 'application/vnd.amazon.eventstream',
  frames: (turn) => [
    event('messageStart', { role: 'assistant' }),
    ...turn.pieces.map((text) => delta(0, { text })),
    event('contentBlockStop', { contentBlockIndex: 0 }),
    ...turn.calls.flatMap(({ id, name, arguments: input }, index) => [
      event('contentBlockStart', { contentBlockIndex: index + 1, start: { toolUse: { toolUseId: id, name } } }),
      delta(index + 1, { toolUse: { input: JSON.stringify(input) } }),
      event('contentBlockStop', { contentBlockIndex: index + 1 }),
    ]),
    event('messageStop', { stopReason: stopReason(turn) }),
    event('metadata', { usage, metrics: { latencyMs: 1 } }),
  ],
  endFrames: 2,
  plain: (turn) => {
    const calls = turn.calls.map(({ id, name, arguments: input }) => ({ toolUse: { toolUseId: id, name, input } }));
    const content = [{ text: turn.pieces.join('') }, ...calls];
    return JSON.stringify({ output: { message: { role: 'assistant', content } }, stopReason: stopReason(turn), usage });
  },
  error: (message) => JSON.stringify({ message }),
  overloaded: awsEventBytes('serviceUnavailableException', '{"message":"Overloaded"}', 'exception'),
  badFrame: 'this is no frame of an event stream',
  tooLong: 'Input is too long for requested model.',
  keyHeader: ['authorization', 'Bearer KEY'],
};
