// What an answer says about the wire: the digest of what was sent, the bytes that came, and no key in either. And what a cassette
// plays of it.
import { appendFile, readFile, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiProviderOptions, apiProvider } from '../../../../bridge/providers/api/api-provider.ts';
import { ENCODERS } from '../../../../bridge/providers/api/dialects.ts';
import { openCassetteFile } from '../../../../bridge/providers/cassette/cassette-file.ts';
import { cassetteProvider } from '../../../../bridge/providers/cassette/cassette-provider.ts';
import { readCassette } from '../../../../bridge/providers/cassette/line.ts';
import type { GenerateReply, ProviderError } from '../../../../bridge/providers/provider.ts';
import { createRedactor } from '../../../../bridge/secrets/redactor.ts';
import { digestText } from '../../../../schemas/canonical.ts';
import { REPLY_BYTES_MAX } from '../../../../schemas/limits.ts';
import { cassetteHeadOf, readCassetteHead } from '../../../../src/files/cassette.ts';
import { chatRequestOf } from '../../../support/bridge/chat-server.ts';
import { inTemporaryDirectory } from '../../../support/journal/temporary-directory.ts';
import { type ModelServer, type WireAnswer, openModelServer } from '../../../support/providers/model-server.ts';
import { turnOf } from '../../../support/providers/turn-of.ts';
import type { ApiSample } from '../contract.ts';
import { EVERY_API } from './every-api.ts';

const KEY = 'exchange-key-of-32-characters-xx';
const SECRET = 'a-secret-of-the-bridge';
const isBinary = ({ contentType }: ApiSample): boolean => contentType.startsWith('application/vnd');
const clock = { now: () => 0, after: () => () => undefined };

let server: ModelServer;
beforeAll(async () => {
  server = await openModelServer();
});
afterAll(() => server.close());

const streamOf = ({ frames, contentType }: ApiSample, pieces: readonly string[]): WireAnswer => ({
  headers: { 'content-type': contentType },
  body: Buffer.concat(frames({ pieces, calls: [] }).map((frame) => Buffer.from(frame))),
});

function ask(
  { api }: ApiSample,
  answers: readonly WireAnswer[],
  options: Partial<ApiProviderOptions> = {},
): Promise<GenerateReply> {
  server.answer(...answers);
  const provider = apiProvider({ api, baseUrl: server.url, apiKey: KEY, clock, ...options });
  return provider.generate(chatRequestOf(), new AbortController().signal);
}

const failureOf = (asked: Promise<unknown>): Promise<ProviderError> =>
  asked.then(
    () => Promise.reject(new Error('it was answered')),
    (error: unknown) => error as ProviderError,
  );

describe.each(EVERY_API)('an exchange with $api', (sample) => {
  test('names the request that was sent, and holds the response as it came', async () => {
    const answer = streamOf(sample, ['some ', 'text']);
    const { exchange } = await ask(sample, [answer]);
    expect(exchange).toMatchObject({
      encoder: ENCODERS[sample.api],
      request: digestText(server.asked[0]?.body ?? ''),
      target: { model: 'some-model', base_url: server.url, stream: true },
    });
    // What follows the end marker is not read.
    const received = Buffer.from(exchange?.response ?? []);
    expect(Buffer.from(answer.body ?? '').subarray(0, received.length)).toEqual(received);
    expect(received.length).toBeGreaterThan(0);
  });

  test('of a failed attempt is kept too: an error, and a stream that is cut', async () => {
    const body = sample.error('no');
    const refused = await failureOf(ask(sample, [{ status: 500, body }]));
    expect(Buffer.from(refused.exchange?.response ?? []).toString()).toBe(body);
    const whole = Buffer.from(streamOf(sample, ['some ', 'text']).body ?? '');
    const begun = whole.subarray(0, whole.length >> 1);
    const cut = await failureOf(ask(sample, [{ ...streamOf(sample, []), body: begun }]));
    expect(cut.code).toBe('provider_retryable');
    expect(Buffer.from(cut.exchange?.response ?? [])).toEqual(begun);
  });

  test('holds no key: neither one that stands there whole, nor one in the pieces of a stream', async () => {
    const refused = await failureOf(ask(sample, [{ status: 401, body: sample.error(`bad key ${KEY}`) }]));
    expect(refused.exchange?.response_redacted).toBe(true);
    expect(Buffer.from(refused.exchange?.response ?? []).toString()).toContain('bad key ‹secret›');
    const { exchange } = await ask(sample, [streamOf(sample, ['is ', KEY.slice(0, 9), KEY.slice(9), '.'])]);
    expect(exchange).toMatchObject({ response: null, response_redacted: true });
  });

  test('on a cassette is played by the same decoder, and holds no secret', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'a.cassette');
      const file = await openCassetteFile(path, () => createRedactor([SECRET]));
      const onExchange: ApiProviderOptions['onExchange'] = (exchange) => file.add(exchange);
      const recorded: unknown[] = [];
      const answers = [
        { status: 429, headers: { 'retry-after': '7' }, body: sample.error(`slow down, ${KEY}`) },
        { status: 302, headers: { location: `/login?${KEY}`, 'content-type': `a/b; c=${SECRET}` }, body: '' },
        { ...streamOf(sample, ['lost']), body: '', reset: true as const },
        streamOf(sample, ['some ', 'text ', isBinary(sample) ? '' : SECRET]),
      ];
      for (const answer of answers) recorded.push(await outcomeOf(ask(sample, [answer], { onExchange })));
      await file.close();
      const text = await readFile(path, 'utf8');
      expect(text).not.toContain(KEY);
      expect(text).not.toContain(SECRET);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readCassetteHead(path)).toEqual({ api: sample.api, model: 'some-model', base_url: server.url });
      const provider = cassetteProvider(text, { clock });
      const played: unknown[] = [];
      for (const _ of answers)
        played.push(await outcomeOf(provider.generate(chatRequestOf(), new AbortController().signal)));
      expect(JSON.stringify(played)).toBe(JSON.stringify(recorded).replaceAll(SECRET, '‹secret›'));
      const more = await failureOf(provider.generate(chatRequestOf(), new AbortController().signal));
      expect(more.code).toBe('recording_exhausted');
    }));
});

/** The turn, or why there is none. */
async function outcomeOf(asked: Promise<GenerateReply>): Promise<unknown> {
  try {
    const { content, stop, usage } = await turnOf(asked);
    return { content, stop, usage };
  } catch (error) {
    const { code, retryAfterMs } = error as ProviderError;
    return { code, retryAfterMs };
  }
}

test('a secret in a binary frame is not recorded: the checksum of the frame would no longer fit', () =>
  inTemporaryDirectory(async (directory) => {
    const path = join(directory, 'a.cassette');
    const file = await openCassetteFile(path, () => createRedactor([SECRET]));
    const bedrock = EVERY_API.find(isBinary) as ApiSample;
    await ask(bedrock, [streamOf(bedrock, ['is ', SECRET])], { onExchange: (one) => file.add(one) });
    await file.close();
    const text = await readFile(path, 'utf8');
    expect(readCassette(text)[0]).not.toHaveProperty('response_base64');
    const played = cassetteProvider(text, { clock }).generate(chatRequestOf(), new AbortController().signal);
    expect((await failureOf(played)).message).toContain('was not recorded');
  }));

const [chat] = EVERY_API as readonly [ApiSample];

test('a response that is too large is held up to the limit', async () => {
  const failed = await failureOf(ask(chat, [{ body: `{"a":"${'x'.repeat(REPLY_BYTES_MAX)}"}` }]));
  expect(failed.exchange?.response?.length).toBeLessThanOrEqual(REPLY_BYTES_MAX);
  expect(failed.exchange?.response?.length).toBeGreaterThan(0);
});

test('a conversation that holds the key has no exchange: not even the digest of its request is kept', async () => {
  server.answer(streamOf(chat, ['ok']));
  const provider = apiProvider({ api: 'openai-chat', baseUrl: server.url, apiKey: KEY, clock });
  const messages = [{ role: 'user', text: `my key is ${KEY}` }] as const;
  const reply = await provider.generate(chatRequestOf({ messages }), new AbortController().signal);
  expect(reply).not.toHaveProperty('exchange');
});

describe('a cassette', () => {
  const record = async (path: string, texts: readonly string[]): Promise<void> => {
    const file = await openCassetteFile(path, () => createRedactor([]));
    for (const text of texts) {
      server.answer(streamOf(chat, ['ok']));
      const provider = apiProvider({
        api: 'openai-chat',
        baseUrl: server.url,
        clock,
        onExchange: (one) => file.add(one),
      });
      await provider.generate(chatRequestOf({ messages: [{ role: 'user', text }] }), new AbortController().signal);
    }
    await file.close();
  };
  const play = (provider: ReturnType<typeof cassetteProvider>, text: string): Promise<GenerateReply> =>
    provider.generate(chatRequestOf({ messages: [{ role: 'user', text }] }), new AbortController().signal);

  test('answers requests in any order, and names where the first that differs does', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'a.cassette');
      await record(path, ['one', 'two', 'three']);
      const provider = cassetteProvider(await readFile(path, 'utf8'), { clock });
      expect((await play(provider, 'two')).content).toBe('ok');
      const failed = await failureOf(play(provider, 'four'));
      expect(failed.code).toBe('recording_differs');
      expect(failed.message).toContain('line 1 of the cassette at "/messages/0/content": recorded "one", now "four"');
    }));

  test('is not written through a link', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'a.cassette');
      await symlink(join(directory, 'elsewhere'), path);
      await expect(openCassetteFile(path, () => createRedactor([]))).rejects.toThrow('ELOOP');
      expect(await readdir(directory)).toEqual(['a.cassette']);
    }));

  test('that a killed process left with half a line is continued, and a half line is not played', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'a.cassette');
      await record(path, ['one']);
      await appendFile(path, '{"cassette":1,"api":"openai-ch');
      expect(readCassette(await readFile(path, 'utf8'))).toHaveLength(1);
      await record(path, ['two']);
      expect(readCassette(await readFile(path, 'utf8'))).toHaveLength(2);
    }));

  test('with a line that is no exchange is refused, by its number', () => {
    expect(() => readCassette('{"cassette":1}\n')).toThrow(/cassette, line 1: at "/);
    expect(cassetteHeadOf('{"turn":1}\n')).toBeNull();
  });
});
