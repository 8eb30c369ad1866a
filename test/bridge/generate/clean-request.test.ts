import { expect, test, vi } from 'vitest';
import { newRequestCleaner } from '../../../bridge/generate/clean-request.ts';
import type { GenerateRequest, Message } from '../../../bridge/providers/provider.ts';
import { createRedactor } from '../../../bridge/secrets/redactor.ts';
import { brand } from '../../../schemas/ids.ts';

const SECRET = 'sk-0123456789abcdef';

const requestOf = (...messages: readonly Message[]): GenerateRequest => ({
  session_id: brand('s'),
  run_id: brand('r'),
  turn: 1,
  provider: 'scripted',
  model: 'm',
  output_tokens_max: 1_000,
  tools: [],
  instructions: null,
  messages,
});

const user = (text: string): Message => ({ role: 'user', text });

test('a request without secrets stays the same object', async () => {
  const request = requestOf(user('go'));
  expect(await newRequestCleaner(createRedactor([]))(request)).toBe(request);
  expect(await newRequestCleaner(createRedactor([SECRET]))(request)).toBe(request);
});

test('secrets are replaced in every request, and a message is searched once', async () => {
  const redactor = createRedactor([SECRET]);
  const value = vi.fn<(given: unknown) => unknown>((given) => redactor.value(given));
  const clean = newRequestCleaner({ ...redactor, value: value as typeof redactor.value });
  const messages = [user('go'), user(`use ${SECRET}`)];
  const told = [user('go'), user('use ‹secret›')];
  expect((await clean(requestOf(...messages))).messages).toEqual(told);
  expect(value).toHaveBeenCalledTimes(2);
  const next = user(`again ${SECRET}`);
  expect((await clean(requestOf(...messages, next))).messages).toEqual([...told, user('again ‹secret›')]);
  expect(value).toHaveBeenCalledTimes(3);
});
