// The forms of generateContent, for the contract of all APIs.
import type { ApiSample, SampleTurn } from '../contract.ts';

const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 7, totalTokenCount: 12 };
const chunk = (parts: readonly object[], more: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  modelVersion: 'gemini-x',
});
const event = (value: object): string => `data: ${JSON.stringify(value)}\r\n\r\n`;
const callParts = ({ calls }: SampleTurn): readonly object[] =>
  calls.map(({ id, name, arguments: args }) => ({ functionCall: { id, name, args } }));

export const generateContentSample: ApiSample = {
  api: 'gemini',
  contentType: 'text/event-stream',
  frames: (turn) => [
    ...turn.pieces.map((text) => event(chunk([{ text }]))),
    ...callParts(turn).map((part) => event(chunk([part]))),
    event({ ...chunk([{ text: '' }], { finishReason: 'STOP' }), usageMetadata }),
  ],
  endFrames: 1,
  plain: (turn) =>
    JSON.stringify({
      ...chunk([{ text: turn.pieces.join('') }, ...callParts(turn)], { finishReason: 'STOP' }),
      usageMetadata,
    }),
  error: (message) => JSON.stringify({ error: { code: 400, message, status: 'SOME_STATUS' } }),
  overloaded: event({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
  badFrame: 'dta: {"candidates":[]}\r\n\r\n',
  tooLong: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  keyHeader: ['x-goog-api-key', 'KEY'],
};
