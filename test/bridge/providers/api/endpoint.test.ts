import { expect, test } from 'vitest';
import { type ApiProviderOptions, apiProvider } from '../../../../bridge/providers/api/api-provider.ts';
import { baseUrlFault, endpoint } from '../../../../bridge/providers/api/endpoint.ts';
import type { GenerateRequest } from '../../../../bridge/providers/provider.ts';
import { brand } from '../../../../schemas/ids.ts';

const REQUEST: GenerateRequest = {
  session_id: brand('s'),
  run_id: brand('run-1'),
  turn: 1,
  provider: 'p',
  model: 'm',
  instructions: null,
  output_tokens_max: null,
  tools: [],
  messages: [{ role: 'user', text: 'go' }],
};

test.each([
  'https://api.openai.com/v1',
  'http://localhost:11434/v1',
  'http://127.0.0.1:8080',
  'http://127.1.2.3/v1',
  'http://2130706433/v1',
  'http://[::1]:9/v1',
  'HTTPS://host.test',
])('%s may be a model server', (baseUrl) => {
  expect(baseUrlFault(baseUrl)).toBeNull();
});

test.each([
  ['', /must be an http or https URL/],
  ['file:///v1', /must be an http or https URL/],
  ['http://api.openai.com/v1', /must use https, because api.openai.com is not this machine/],
  ['http://127.0.0.1.host.test/v1', /must use https/],
  ['http://localhost.host.test/v1', /must use https/],
  ['http://0.0.0.0/v1', /must use https/],
  ['http://192.168.0.1/v1', /must use https/],
  ['https://me:pass@host.test/v1', /must not hold a user name or a password/],
  ['https://host.test/v1?key=abc', /must not hold a key/],
  ['https://host.test/v1?API-Key=abc', /must not hold a key/],
])('"%s" may not, and the error says what to do', (baseUrl, message) => {
  const clock = { now: () => 0, after: () => () => undefined };
  expect(() => apiProvider({ api: 'openai-chat', baseUrl, clock })).toThrow(message);
});

test('a key that no header can hold, and an API that is not known, are refused without repeating the key', () => {
  const base = { baseUrl: 'https://host.test', clock: { now: () => 0, after: () => () => undefined } };
  const make = (more: Partial<ApiProviderOptions>) => () => apiProvider({ api: 'openai-chat', ...base, ...more });
  expect(make({ apiKey: 'sécret-of-many-characters' })).toThrow(/^apiKey must be printable ASCII/);
  expect(make({ apiKey: 'two\nlines' })).toThrow(/^apiKey must be printable ASCII/);
  expect(make({ api: 'openai' as never })).toThrow(/^api must be one of openai-chat, /);
});

test.each([
  ['https://host.test/v1', '/chat/completions', 'https://host.test/v1/chat/completions'],
  ['https://host.test/v1/', '/chat/completions', 'https://host.test/v1/chat/completions'],
  ['https://host.test', '/model/a%3A0/converse', 'https://host.test/model/a%3A0/converse'],
  ['https://host.test/d?api-version=1', '/x?alt=sse', 'https://host.test/d/x?api-version=1&alt=sse'],
  ['https://host.test/v1#top', '/x', 'https://host.test/v1/x'],
])('%s and %s make %s', (baseUrl, path, address) => {
  expect(endpoint(baseUrl, path)).toBe(address);
});

test.each(['.', '..', '%2E%2e'])('a model named %s does not change the path: it is refused', (name) => {
  expect(() => endpoint('https://host.test/v1', `/model/${name}/converse`)).toThrow(`"${name}" is no name of a model`);
});

test.each(['bedrock', 'vertex-anthropic', 'gemini'] as const)(
  '%s asks for no model named ".." or "a/../b"',
  async (api) => {
    for (const model of ['.', '..', '../..', 'a/../b']) {
      const asked: string[] = [];
      const provider = apiProvider({
        api,
        baseUrl: 'https://host.test/v1/projects/p',
        model,
        clock: { now: () => 0, after: () => () => undefined },
        transport: (url) => {
          asked.push(url);
          return Promise.resolve(new Response('{}', { status: 400 }));
        },
      });
      await expect(provider.generate(REQUEST, new AbortController().signal)).rejects.toMatchObject({
        code: 'invalid_request',
      });
      // A name with a slash may be sent, written as one segment.
      for (const url of asked) expect(new URL(url).pathname).toMatch(/^\/v1\/projects\/p\/[^/].*(?:%2F|\.:)/);
    }
  },
);
