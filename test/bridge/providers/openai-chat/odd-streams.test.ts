// Streams of servers that deviate from the format.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiProvider } from '../../../../bridge/providers/api/api-provider.ts';
import type { GenerateReply } from '../../../../bridge/providers/provider.ts';
import { type Answer, type ChatServer, chatRequestOf, openChatServer } from '../../../support/bridge/chat-server.ts';
import { turnOf } from '../../../support/providers/turn-of.ts';

let server: ChatServer;
beforeAll(async () => {
  server = await openChatServer();
});
afterAll(() => server.close());

function ask(answer: Answer): Promise<GenerateReply> {
  server.answer(answer);
  const clock = { now: () => 0, after: () => () => undefined };
  const provider = apiProvider({ api: 'openai-chat', baseUrl: server.url, clock });
  return turnOf(provider.generate(chatRequestOf(), new AbortController().signal));
}

const stop = { reason: 'end', word: 'stop' };
const chunk = (choice: object) => ({ choices: [{ index: 0, finish_reason: null, ...choice }] });
const called = (...calls: readonly object[]) =>
  chunk({ delta: { tool_calls: calls.map((call, index) => ({ index, ...call })) } });
const cut = chunk({ delta: {}, finish_reason: 'length' });
const named = { id: 'a', function: { name: 'remove', arguments: '' } };

test('an answer ends with [DONE], whether the server keeps the connection open or resets it', async () => {
  const chunks = [chunk({ delta: { content: 'x' }, finish_reason: 'stop' })];
  for (const end of [{ silent: true }, { breakOff: true }]) {
    expect(await ask({ chunks, ...end })).toEqual({ content: 'x', calls: [], stop });
  }
});

test('content that a server sends in deltas and repeats in growing messages is read once', async () => {
  const chunks = [
    chunk({ delta: { content: 'Hel' }, message: { content: 'Hel' } }),
    chunk({ delta: { content: 'lo' }, message: { content: 'Hello' } }),
    chunk({ delta: { content: '' }, message: { content: 'Hello' }, finish_reason: 'stop' }),
  ];
  expect(await ask({ chunks })).toEqual({ content: 'Hello', calls: [], stop });
  await expect(ask({ chunks: chunks.slice(0, 1), done: false })).rejects.toThrow('ended before');
});

test.each([
  ['a stream', { chunks: [called(named), cut] }],
  ['one piece', { json: chunk({ message: { tool_calls: [named] }, finish_reason: 'length' }) }],
])('a call cut off after its name in %s is not a call without arguments', async (_, answer) => {
  expect((await ask(answer)).calls).toEqual([
    { id: 'a', name: 'remove', arguments_text: expect.stringContaining('cut') },
  ]);
});

test('calls before the one that was cut off are complete', async () => {
  const second = { id: 'b', function: { name: 'read', arguments: '{"p' } };
  expect((await ask({ chunks: [called(named, second), cut] })).calls).toEqual([
    { id: 'a', name: 'remove', arguments: {} },
    { id: 'b', name: 'read', arguments_text: '{"p' },
  ]);
});

test.each([
  [
    'an `error` event with JSON',
    'event: error\ndata: {"message":"Overloaded"}\n\ndata: [DONE]\n\n',
    'provider_retryable',
  ],
  ['an `error` event with text', 'event: error\ndata: the backend timed out\n\n', 'provider_retryable'],
  [
    'an object of type error',
    'data: {"object":"error","message":"bad","code":400}\n\ndata: [DONE]\n\n',
    'invalid_request',
  ],
])('an error sent as %s ends an answer that has begun', async (_, raw, code) => {
  const begun = `data: ${JSON.stringify(chunk({ delta: { content: 'half' } }))}\n\n`;
  const answer = { raw: begun + raw, headers: { 'content-type': 'text/event-stream' } };
  await expect(ask(answer)).rejects.toMatchObject({ name: 'ProviderError', code });
});
