import { isRight } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { turnReplyOf } from '../../../embed/ai-sdk/answer-parts.ts';
import type { TurnReply } from '../../../embed/durable/turn.ts';
import { graphReply } from '../../../embed/langgraph/answer.ts';
import { agentsReply } from '../../../embed/openai-agents/reply.ts';
import { Usage, decode } from '../../../schemas/index.ts';

const COUNTS = [undefined, null, Number.NaN, Infinity, -1, -0.4, 1.5, 1e300, '7', {}, 7] as const;

const finishReason = { unified: 'stop', raw: 'stop' };

/** What each adapter records of an answer whose provider says that it used so many tokens. */
const ADAPTERS: readonly (readonly [name: string, reply: (count: unknown) => TurnReply])[] = [
  [
    'the AI SDK',
    (count) => {
      const tokens = { total: count, cacheRead: count, cacheWrite: count, reasoning: count };
      const usage = { inputTokens: tokens, outputTokens: tokens };
      return turnReplyOf({ content: [], finishReason, usage, warnings: [] } as never);
    },
  ],
  [
    'OpenAI Agents JS',
    (count) =>
      agentsReply({ output: [], usage: { inputTokens: count, outputTokens: count, totalTokens: count } } as never),
  ],
  [
    'LangGraph',
    (count) => graphReply({ content: '', usage_metadata: { input_tokens: count, output_tokens: count } } as never),
  ],
];

test.each(ADAPTERS)('%s: any count of tokens is a usage of the record, or none', (_, reply) => {
  const found = COUNTS.map((count) => reply(count).usage ?? null);
  for (const usage of found) expect(usage === null || isRight(decode(Usage, usage))).toBe(true);
  expect(found.map((usage) => usage?.input_tokens ?? null)).toEqual([
    null,
    null,
    null,
    Number.MAX_SAFE_INTEGER,
    null,
    null,
    2,
    Number.MAX_SAFE_INTEGER,
    null,
    null,
    7,
  ]);
});

test('an answer without any usage has none', () => {
  for (const usage of [undefined, null, {}]) {
    expect(turnReplyOf({ content: [], finishReason, usage, warnings: [] } as never).usage).toBeUndefined();
    expect(agentsReply({ output: [], usage } as never).usage).toBeUndefined();
    expect(graphReply({ content: '', usage_metadata: usage } as never).usage).toBeUndefined();
  }
});
