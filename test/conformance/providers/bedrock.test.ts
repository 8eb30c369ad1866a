// The checks of recorded answers, on answers made up here: good ones pass, and each kind of damage is found.
import { describe, expect, test } from 'vitest';
import { reportOf } from '../recording.ts';
import { bedrockCheck, checkAnswer, readBedrockFixture } from './bedrock.ts';

const URLPATH = '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse';
const answer = (content: readonly object[], further: object = {}) => ({
  output: { message: { role: 'assistant', content } },
  stopReason: 'end_turn',
  usage: { inputTokens: 3, outputTokens: 2, cacheReadInputTokens: 4, totalTokens: 9 },
  metrics: { latencyMs: 1 },
  ...further,
});
const record = (status: number, response: unknown) => ({ status, urlpath: URLPATH, response });

test('answers and errors are counted, and what does not decode is named', async () => {
  const thinking = { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } };
  const call = { toolUse: { toolUseId: 'tooluse_1', name: 'read', input: { path: 'a', n: 1.5 }, type: 'tool_use' } };
  expect(
    await reportOf(
      [
        record(200, answer([{ text: 'Hello, 世界 👋' }])),
        record(200, answer([thinking, { text: 'a' }, call, { text: 'b' }], { stopReason: 'tool_use' })),
        record(200, { outputs: [] }),
        record(429, { message: 'Too many requests' }),
        record(400, { message: 'Input is too long for requested model.' }),
      ],
      bedrockCheck,
    ),
  ).toEqual({
    records: 5,
    decoded: 2,
    errors: { provider_retryable: 1, context_length: 1 },
    undecoded: [expect.stringMatching(/^3: .*output\.message\.content is not a list/)],
    differences: [],
  });
});

describe('a difference is found', () => {
  test.each([
    ['tokens that do not add up', { usage: { inputTokens: 3, outputTokens: 2, totalTokens: 50 } }, 'read: '],
    ['a reason that the simple reader does not know', { stopReason: 'content_filtered' }, 'read: '],
  ])('%s', (_, further, failure) => {
    const failures = checkAnswer(JSON.stringify(answer([{ text: 'a' }], further)), 'm');
    expect(failures).toEqual([expect.stringContaining(failure)]);
  });
});

test('fixtures are answers, or a line for each event', () => {
  const events = [
    { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hi' } } },
    { messageStop: { stopReason: 'end_turn' } },
  ].map((event) => JSON.stringify(event));
  const reply = { content: 'Hi', calls: [], stop: { reason: 'end', word: 'end_turn' } };
  expect(readBedrockFixture('a.chunks.txt', events.join('\n'))).toEqual(reply);
  expect(readBedrockFixture('a.chunks.txt', events[0] ?? '')).toBeNull();
  expect(readBedrockFixture('a.json', JSON.stringify(answer([{ text: 'Hi' }])))).toMatchObject(reply);
});
