// The check of recorded traffic, on examples of its forms.
import { describe, expect, test } from 'vitest';
import { type Recording, checkGemini } from '../../../conformance/providers/gemini.ts';
import { bodyOf } from './examples.ts';

const recording = (more: Partial<Recording>): Recording => ({
  file: 'examples',
  line: 1,
  status: 200,
  response: null,
  response_text: null,
  ...more,
});

const BODY = bodyOf(
  [{ text: 'Let me see.', thoughtSignature: 'c2ln' }, { functionCall: { name: 'look', args: { at: [1] }, id: 'a' } }],
  { finishReason: 'STOP' },
  { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, thoughtsTokenCount: 5 } },
);
const STREAM = [bodyOf([{ text: 'Zwölf ' }], {}), bodyOf([{ text: '🙂' }], { finishReason: 'MAX_TOKENS' })];
const sse = (chunks: readonly object[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join('');

describe('recordings', () => {
  test('that agree are decoded or classified', () => {
    const lines = [
      recording({ response: BODY }),
      recording({ response: STREAM }),
      recording({ response_text: sse(STREAM) }),
      recording({ response: { promptFeedback: { blockReason: 'SAFETY' } } }),
      recording({ status: 400, response: { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'Wrong.' } } }),
    ];
    expect(checkGemini(lines)).toEqual({ decoded: 4, errors: 1, undecodable: [], faults: [] });
  });

  test('that cannot be decoded are listed with their place', () => {
    const lines = [
      recording({ line: 7, response: { candidates: [] } }),
      recording({ line: 8, response_text: sse(STREAM.slice(0, 1)) }),
    ];
    expect(checkGemini(lines).undecodable).toEqual([
      expect.stringMatching(/^examples:7: .*\$\.candidates/),
      'examples:8: the stream has no end marker',
    ]);
  });

  test('that are misread are faults: a call in an item is seen by the second reader only', () => {
    const parts = [{ text: 'x', functionCall: 'none' }];
    expect(checkGemini([recording({ response: bodyOf(parts) })]).faults[0]).toMatch(/^examples:1: calls/);
  });
});
