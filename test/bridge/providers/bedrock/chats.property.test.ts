import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bedrockConverse } from '../../../../bridge/providers/bedrock/dialect.ts';
import type { Message } from '../../../../bridge/providers/provider.ts';
import { anyChat, requestWith, sessionChat, withLayouts } from '../../../support/providers/any-chat.ts';
import { checkChat } from '../../../support/providers/chat-laws.ts';
import { roundsOf } from '../../../support/random.ts';

const ITEM = '{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}}';
const MODELS = [
  'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'us.amazon.nova-pro-v1:0',
  'meta.llama3-2-1b-instruct-v1:0',
];

const bodyOf = (messages: readonly Message[], model: string): string =>
  bedrockConverse.encode(requestWith(messages, model), { model, baseUrl: 'http://x', stream: true }).body;

describe.each(MODELS)('a request to %s', (model) => {
  test.each([
    ['the history of a session', sessionChat],
    ['any messages', anyChat],
  ])('of %s breaks no law', (_, chat) => {
    fc.assert(
      fc.property(withLayouts(chat, model, ITEM), (messages) => {
        expect(checkChat('bedrock.converse', bodyOf(messages, model))).toEqual([]);
      }),
      { numRuns: roundsOf(200, 4_000) },
    );
  });
});

test('every text, result and call of the history of a session is in the request', () => {
  const [model = ''] = MODELS;
  fc.assert(
    fc.property(sessionChat, (messages) => {
      const body = bodyOf(messages, model);
      for (const { role, text } of messages) {
        if (text.trim() !== '') expect([role, body.includes(JSON.stringify(text).slice(1, -1))]).toEqual([role, true]);
      }
      const count = (key: string): number => body.split(`"${key}":{`).length - 1;
      const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
      expect(count('toolUse')).toBe(calls.length);
    }),
    { numRuns: roundsOf(100, 2_000) },
  );
});

test('the same request gives the same bytes, and more messages leave the bytes before them as they are', () => {
  const [model = ''] = MODELS;
  fc.assert(
    fc.property(sessionChat, (messages) => {
      const body = bodyOf(messages, model);
      expect(bodyOf(messages, model)).toBe(body);
      const earlier = JSON.parse(bodyOf(messages.slice(0, -1), model)).messages.slice(0, -1);
      expect(JSON.parse(body).messages.slice(0, earlier.length)).toEqual(earlier);
    }),
    { numRuns: roundsOf(100, 2_000) },
  );
});
