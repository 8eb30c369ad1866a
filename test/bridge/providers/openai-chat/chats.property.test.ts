// Whatever the history of a session, servers take the request.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openAiChat } from '../../../../bridge/providers/openai-chat/dialect.ts';
import type { Message } from '../../../../bridge/providers/provider.ts';
import { anyChat, requestWith, sessionChat, withLayouts } from '../../../support/providers/any-chat.ts';
import { checkChat } from '../../../support/providers/chat-laws.ts';
import { roundsOf } from '../../../support/random.ts';

const bodyOf = (messages: readonly Message[], model: string): string =>
  openAiChat.encode(requestWith(messages, model), { model, baseUrl: 'http://x', stream: true }).body;

describe.each([
  ['fields of a message', '{"message":{"reasoning_content":"hm"}}'],
  ['a part of the content', '{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}'],
])('with %s as an item, a request', (_, item) => {
  test.each([
    ['the history of a session', sessionChat],
    ['any messages', anyChat],
  ])('of %s breaks no law', (_name, chat) => {
    fc.assert(
      fc.property(withLayouts(chat, 'qwen3', item), (messages) => {
        fc.pre(messages.length > 0);
        expect(checkChat('openai.chat', bodyOf([...messages, { role: 'user', text: 'x' }], 'qwen3'))).toEqual([]);
      }),
      { numRuns: roundsOf(150, 3_000) },
    );
  });
});

test('every text, result and call of the history of a session is in the request', () => {
  fc.assert(
    fc.property(sessionChat, (messages) => {
      const body = bodyOf(messages, 'qwen3');
      for (const { role, text } of messages) {
        if (text !== '') expect([role, body.includes(JSON.stringify(text))]).toEqual([role, true]);
      }
      const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
      expect(body.split('"type":"function","function":{"name":').length - 1).toBeGreaterThanOrEqual(calls.length);
    }),
    { numRuns: roundsOf(100, 2_000) },
  );
});

test('the same request gives the same bytes, and more messages leave those before them as they are', () => {
  fc.assert(
    fc.property(sessionChat, (messages) => {
      const body = bodyOf(messages, 'qwen3');
      expect(bodyOf(messages, 'qwen3')).toBe(body);
      const roles = (text: string) => (JSON.parse(text) as { messages: { role: string }[] }).messages;
      const earlier = roles(bodyOf(messages.slice(0, -1), 'qwen3')).filter(({ role }) => role !== 'system');
      const later = roles(body).filter(({ role }) => role !== 'system');
      // A text stands in for a conversation that says nothing, and goes when there is one.
      if (messages.slice(0, -1).every(saysNothing)) return;
      if (messages.at(-1)?.role !== 'tool') expect(later.slice(0, earlier.length)).toEqual(earlier);
    }),
    { numRuns: roundsOf(100, 2_000) },
  );
});

const saysNothing = (message: Message): boolean =>
  message.text === '' &&
  message.role !== 'tool' &&
  (message.role === 'assistant' ? message.calls : (message.attachments ?? [])).length === 0;

test.each([
  ['no message', []],
  ['an empty text', [{ role: 'user', text: '' }]],
  ['an empty turn of the model', [{ role: 'assistant', text: '', calls: [] }]],
] satisfies [string, Message[]][])('%s is sent as one short message of the user', (_name, messages) => {
  expect(checkChat('openai.chat', bodyOf(messages, 'qwen3'))).toEqual([]);
  expect(JSON.parse(bodyOf(messages, 'qwen3'))).toMatchObject({
    messages: expect.arrayContaining([{ role: 'user', content: '(Earlier messages are not shown.)' }]) as unknown,
  });
});
