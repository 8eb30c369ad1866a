// What is kept for a host over HTTP whose stream broke: the last messages, within both limits, each stream for itself.
import type { EventId, EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { HOST_SENT_CHARS_MAX, HOST_SENT_MAX } from '../../schemas/limits.ts';
import { newSentEvents } from '../../src/mcp/sent-events.ts';

const said = (text: string | number): JSONRPCMessage => ({ jsonrpc: '2.0', method: 'said', params: { text } });

async function replayed(store: EventStore, after: EventId): Promise<readonly JSONRPCMessage[]> {
  const messages: JSONRPCMessage[] = [];
  await store.replayEventsAfter(after, { send: async (_id, message) => void messages.push(message) });
  return messages;
}

test('a host that comes back gets what followed on its stream, and nothing of another', async () => {
  const store = newSentEvents();
  const first = await store.storeEvent('a', said(1));
  await store.storeEvent('b', said(2));
  const third = await store.storeEvent('a', said(3));
  expect(await replayed(store, first)).toEqual([said(3)]);
  expect(await replayed(store, third)).toEqual([]);
  expect(await store.getStreamIdForEventId?.(first)).toBe('a');
});

test('one message more than are kept ends the first', async () => {
  const store = newSentEvents();
  const ids: EventId[] = [];
  for (let n = 0; n < HOST_SENT_MAX; n += 1) ids.push(await store.storeEvent('a', said(n)));
  const [first = '', second = ''] = ids;
  expect(await replayed(store, first)).toHaveLength(HOST_SENT_MAX - 1);
  await store.storeEvent('a', said('last'));
  await expect(replayed(store, first)).rejects.toThrow('is not kept');
  expect(await store.getStreamIdForEventId?.(first)).toBeUndefined();
  expect(await replayed(store, second)).toHaveLength(HOST_SENT_MAX - 1);
});

test('messages are kept up to their size, and the last one whatever its size', async () => {
  const store = newSentEvents();
  const half = said('x'.repeat(HOST_SENT_CHARS_MAX / 2 - 64));
  const first = await store.storeEvent('a', half);
  const second = await store.storeEvent('a', half);
  expect(await replayed(store, first)).toEqual([half]);
  const third = await store.storeEvent('a', half);
  await expect(replayed(store, first)).rejects.toThrow('is not kept');
  expect(await replayed(store, second)).toEqual([half]);
  const large = await store.storeEvent('a', said('x'.repeat(HOST_SENT_CHARS_MAX)));
  await expect(replayed(store, third)).rejects.toThrow('is not kept');
  expect(await replayed(store, large)).toEqual([]);
});
