// The evidence beside an answer: recorded with it, stored without waiting, and never a reason to fail it.
import { left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { type ExchangeOptions, recordedExchange } from '../../../bridge/generate/exchange.ts';
import { requestOf } from '../../../bridge/generate/generate-runner.ts';
import { rebuildRequest } from '../../../bridge/generate/rebuild-request.ts';
import { ENCODERS, loadDialect } from '../../../bridge/providers/api/dialects.ts';
import type { GenerateReply, ProviderExchange } from '../../../bridge/providers/provider.ts';
import { ProviderError } from '../../../bridge/providers/provider.ts';
import { createRedactor } from '../../../bridge/secrets/redactor.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { type Digest, brand } from '../../../schemas/ids.ts';
import { reject } from '../../../schemas/rejection.ts';
import { MODEL_SERVER_NAMES } from '../../../src/files/model-servers.ts';
import { chatRequestOf } from '../../support/bridge/chat-server.ts';
import { newWorld } from '../../support/bridge/harness.ts';
import { session } from '../../support/session.ts';

const SECRET = 'a-secret-of-the-bridge';
/** A conversation with instructions, a tool, a call with its result, and settings. */
const SAMPLE = chatRequestOf({
  instructions: 'Be brief.',
  output_tokens_max: 100,
  temperature: 0.5,
  tool_choice: 'auto',
  tools: [
    {
      tool_id: brand('t.read'),
      tool_ref: digestText('t'),
      tool_name: brand('read'),
      description: 'reads',
      input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
  ],
  messages: [
    { role: 'user', text: 'hello' },
    {
      role: 'assistant',
      text: 'I read.',
      calls: [{ id: 'functions.read:0', name: 'read', arguments: '{"path":"ä"}' }],
    },
    { role: 'tool', call_id: 'functions.read:0', name: 'read', text: 'no such file', is_error: true },
    { role: 'user', text: 'and now?' },
  ],
});
const UNCUT = { request: false, reply: false };

const exchangeOf = (text: string): ProviderExchange => ({
  encoder: 'openai.chat/1',
  request: digestText('the request'),
  target: { model: 'm', base_url: 'https://models.example/v1', stream: true },
  response: Buffer.from(text),
});

function newStore(more: Partial<ExchangeOptions> = {}) {
  const stored: string[] = [];
  const options: ExchangeOptions = {
    redactor: createRedactor([SECRET]),
    keepResponses: 'all',
    putEvidence: (bytes) => () => {
      stored.push(Buffer.from(bytes).toString());
      return Promise.resolve(right(digestText(bytes)));
    },
    ...more,
  };
  return { stored, options };
}

describe('what is recorded of an exchange', () => {
  test('names the stored response, its size, and how long it is kept', async () => {
    const { stored, options } = newStore({ keepResponses: 3 });
    const { exchange } = await recordedExchange(options, exchangeOf('answer'), UNCUT);
    expect(stored).toEqual(['answer']);
    expect(exchange).toMatchObject({ response: digestText('answer'), response_bytes: 6, keep_turns: 3 });
  });

  test('holds no secret of the bridge, and says that it was cut out', async () => {
    const { stored, options } = newStore();
    const whole = await recordedExchange(options, exchangeOf(`is ${SECRET}`), { request: true, reply: true });
    expect(stored).toEqual(['is ‹secret›']);
    expect(whole.exchange).toMatchObject({ request_redacted: true, response_redacted: true });
    const spread = await recordedExchange(options, exchangeOf('in pieces'), { request: false, reply: true });
    expect(stored).toHaveLength(1);
    expect(spread.exchange).toMatchObject({ response_redacted: true });
    expect(spread.exchange).not.toHaveProperty('response');
  });

  test('has no response when none are kept, or the store refuses it', async () => {
    const off = newStore({ keepResponses: 'off' });
    expect((await recordedExchange(off.options, exchangeOf('x'), UNCUT)).exchange).not.toHaveProperty('response');
    expect(off.stored).toEqual([]);
    const full = newStore({ putEvidence: () => () => Promise.resolve(left(reject('storage_full', '', 'full'))) });
    expect((await recordedExchange(full.options, exchangeOf('x'), UNCUT)).exchange).toMatchObject({
      encoder: 'openai.chat/1',
    });
  });

  test.each([null, undefined, {}, { ...exchangeOf('x'), encoder: 'no version' }, 'text', { target: null }])(
    'is nothing for %j',
    async (exchange) => {
      expect(await recordedExchange(newStore().options, exchange as never, UNCUT)).toEqual({});
    },
  );
});

describe('a bridge', () => {
  test('records the exchanges of answers and of failed attempts', async () => {
    const world = newWorld({ config: { retry: { attempts_max: 2, base_ms: 100, cap_ms: 150 } } });
    let asked = 0;
    const generate = (): Promise<GenerateReply> => {
      asked += 1;
      if (asked === 1) throw new ProviderError('provider_retryable', 'busy', null, exchangeOf('busy'));
      return Promise.resolve({ content: 'done', calls: [], exchange: exchangeOf('done') });
    };
    world.start({ provider: { generate } });
    world.request();
    await world.finish();
    const answers = world.engine.events.filter(({ kind }) => /GenerateFailed|ToolCallsObserved/.test(kind));
    const responses = answers.map((event) => (event as { exchange?: { response?: Digest } }).exchange?.response);
    expect(responses).toEqual([digestText('busy'), digestText('done')]);
    expect(responses.map((ref) => Buffer.from(world.engine.blobs.get(ref as Digest) ?? []).toString())).toEqual([
      'busy',
      'done',
    ]);
  });
});

test('the fold ignores an exchange: the state is the same without it', () => {
  const exchange = { encoder: 'openai.chat/1', request: digestText('x'), response: digestText('y'), response_bytes: 1 };
  const begun = session().runRequested();
  const answered = [{}, { exchange }].map((more) =>
    begun.takes('ToolCallsObserved', { ...begun.turnFields(), calls: [], content: { text: 'done' }, ...more }),
  );
  expect(answered[1]?.state).toEqual(answered[0]?.state);
  const failed = [{}, { exchange }].map((more) =>
    begun.takes('GenerateFailed', {
      ...begun.turnFields(),
      code: 'busy',
      message: 'busy',
      retryable: true,
      jitter_permille: 1_000,
      ...more,
    }),
  );
  expect(failed[1]?.state).toEqual(failed[0]?.state);
});

describe('a request that is written again', () => {
  const unread = { read: () => Promise.resolve(left(reject('unknown_blob', '', 'gone'))) };
  const effect = (() => {
    const [owed] = session().runRequested().effects();
    if (owed?.kind !== 'llm.generate') throw new Error('no generate is owed');
    return owed;
  })();

  const sent = async (api: (typeof MODEL_SERVER_NAMES)[number]) => {
    const target = { model: 'm', baseUrl: 'https://models.example/v1', stream: true };
    const request = await requestOf(effect, { blobs: { ...unread, kept: () => null } });
    const { body } = (await loadDialect(api)).encode(request, target);
    const recorded = { model: target.model, base_url: target.baseUrl, stream: true };
    return { body, exchange: { encoder: ENCODERS[api], request: digestText(body), target: recorded } };
  };

  test.each(MODEL_SERVER_NAMES)('for %s is equal to the recorded one, and differs from any other', async (api) => {
    const { body, exchange } = await sent(api);
    expect(await rebuildRequest({ effect, exchange }, unread)).toMatchObject({ comparison: 'equal', why: null, body });
    const other = { ...exchange, request: digestText('another') };
    expect(await rebuildRequest({ effect, exchange: other }, unread)).toMatchObject({ comparison: 'different' });
  });

  test('is not comparable when that proves nothing, and says why', async () => {
    const { exchange } = await sent('openai-chat');
    const other = { ...exchange, request: digestText('another') };
    const why = async (more: object | null): Promise<string | null> => {
      const given = more === null ? { effect } : { effect, exchange: { ...other, ...more } };
      const { comparison, why: said } = await rebuildRequest(given, unread);
      expect(comparison).toBe('not_comparable');
      return said;
    };
    expect(await why(null)).toContain('records no exchange');
    expect(await why({ encoder: 'openai.chat/999' })).toContain('written by openai.chat/999');
    expect(await why({ encoder: 'unheard.of/1' })).toContain('is not known');
    expect(await why({ target: undefined })).toContain('no target');
    expect(await why({ request_redacted: true })).toContain('a secret was cut out');
    const ref = digestText('gone');
    const large = { ...effect, instructions: { ref, bytes: 9_999, head: 'a', tail: 'z' } };
    const missing = await rebuildRequest({ effect: large, exchange }, unread);
    expect(missing).toMatchObject({
      comparison: 'not_comparable',
      why: expect.stringContaining('1 of the blobs') as string,
    });
  });
});

/**
 * The digests of one request by each encoder. When one changes, raise the version of that encoder (ENCODERS) with it: requests
 * that an earlier release sent are compared by version.
 */
const WRITTEN: Readonly<Record<(typeof MODEL_SERVER_NAMES)[number], readonly [encoder: string, digest: string]>> = {
  'openai-chat': ['openai.chat/1', 'sha256:5b69d10f4b5cfa4f2535ed92d6cf16e3066d36fc2b7e164e43365b6e74c5349f'],
  'openai-responses': ['openai.responses/1', 'sha256:c2c3a66ac5cfa8949278bf47f29bef6b2e834d8fd54108e0bae758580ae56319'],
  anthropic: ['anthropic.messages/1', 'sha256:7146028cdfe858b24ffee09f0247bdf86f22f33ccd23d43e5ae2f327add20d25'],
  'vertex-anthropic': ['vertex.anthropic/1', 'sha256:6769d284df091011d13b5e42b6b2e2770ca710d5ce1d90ceab3136811c7f1531'],
  gemini: ['gemini.generate_content/1', 'sha256:cf0f03896398d687cf90ae2dac62a486ab69c806b93a69d30b8c3878619e8a6c'],
  bedrock: ['bedrock.converse/1', 'sha256:5b997779d9b4048bef319fd669d627ce8f2e18f1f19747816a34dfb02a062d39'],
};

test.each(MODEL_SERVER_NAMES)('the encoder of %s gives the bytes that its version gave', async (api) => {
  const dialect = await loadDialect(api);
  const target = { model: 'some-model', baseUrl: 'https://models.example/v1', stream: true };
  const { body } = dialect.encode(SAMPLE, target);
  expect([ENCODERS[api], digestText(body)]).toEqual(WRITTEN[api]);
});
