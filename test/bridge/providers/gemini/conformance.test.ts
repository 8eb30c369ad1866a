// The check of recorded traffic, on examples of its forms.
import { describe, expect, test } from 'vitest';
import { geminiCheck } from '../../../conformance/providers/gemini.ts';
import { type Recording, reportOf } from '../../../conformance/recording.ts';
import { bodyOf } from './examples.ts';

const BODY = bodyOf(
  [{ text: 'Let me see.', thoughtSignature: 'c2ln' }, { functionCall: { name: 'look', args: { at: [1] }, id: 'a' } }],
  { finishReason: 'STOP' },
  { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, thoughtsTokenCount: 5 } },
);
const STREAM = [bodyOf([{ text: 'Zwölf ' }], {}), bodyOf([{ text: '🙂' }], { finishReason: 'MAX_TOKENS' })];
const sse = (chunks: readonly object[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join('');

describe('recordings', () => {
  test('that agree are decoded or classified', async () => {
    const lines: readonly Recording[] = [
      { status: 200, response: BODY },
      { status: 200, response: STREAM },
      { status: 200, response: null, response_text: sse(STREAM) },
      { status: 200, response: { promptFeedback: { blockReason: 'SAFETY' } } },
      { status: 400, response: { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'Wrong.' } } },
    ];
    expect(await reportOf(lines, geminiCheck)).toEqual({
      records: 5,
      decoded: 4,
      errors: { invalid_request: 1 },
      undecoded: [],
      differences: [],
    });
  });

  test('that give no turn are listed with their line', async () => {
    const lines: readonly Recording[] = [
      { status: 200, response: { candidates: [] } },
      { status: 200, response_text: sse(STREAM.slice(0, 1)) },
    ];
    expect((await reportOf(lines, geminiCheck)).undecoded).toEqual([
      expect.stringMatching(/^1: .*\$\.candidates/),
      '2: provider_retryable the stream has no end marker',
    ]);
  });

  test('that are misread differ: a call that is no object is seen by the second reader only', async () => {
    const response = bodyOf([{ text: 'x', functionCall: 'none' }]);
    expect((await reportOf([{ status: 200, response }], geminiCheck)).differences[0]).toMatch(/^1: calls/);
  });
});
