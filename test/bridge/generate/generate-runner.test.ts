import { left } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { GenerateReply, GenerateRequest, ProviderErrorCode } from '../../../bridge/providers/provider.ts';
import { ProviderError } from '../../../bridge/providers/provider.ts';
import { RETRY_CAP_MS_MAX } from '../../../schemas/limits.ts';
import { reject } from '../../../schemas/rejection.ts';
import { SESSION, call, newWorld, statusOf } from '../../support/bridge/harness.ts';

const endingOf = (world: ReturnType<typeof newWorld>) => world.engine.state(SESSION).run_history.at(-1)?.ending;

const replies = (reply: unknown) => () => Promise.resolve(reply as GenerateReply);

describe('a generate', () => {
  test('sends the conversation so far, each call followed by its result', async () => {
    const asked: GenerateRequest[] = [];
    const world = newWorld({ config: { instructions: { text: 'Be brief.' }, model: 'm', output_tokens_max: 7 } });
    const provider = {
      generate: (request: GenerateRequest) => {
        asked.push(request);
        const first: GenerateReply = { content: 'I look.', calls: [call('a', 'read'), call('b', 'unknown_tool')] };
        return Promise.resolve(request.turn === 1 ? first : { content: 'done', calls: [] });
      },
    };
    world.start({ provider });
    world.request();
    await world.finish();
    expect(asked[0]).toMatchObject({ turn: 1, model: 'm', instructions: 'Be brief.', output_tokens_max: 7 });
    expect(asked[0]?.tools.map(({ tool_name }) => tool_name)).toEqual([
      'read',
      'write',
      'solo',
      'again',
      'other',
      'asks',
      'asks_read',
      'tiny',
    ]);
    expect(asked[1]?.messages).toEqual([
      { role: 'user', text: 'go' },
      {
        role: 'assistant',
        text: 'I look.',
        calls: [
          { id: 'a', name: 'read', arguments: '{"path":"a"}' },
          { id: 'b', name: 'unknown_tool', arguments: '{"path":"b"}' },
        ],
      },
      { role: 'tool', call_id: 'a', name: 'read', text: 'ok', is_error: false },
      {
        role: 'tool',
        call_id: 'b',
        name: 'unknown_tool',
        text: expect.stringContaining('tool_unknown') as string,
        is_error: true,
      },
    ]);
  });

  test("that fails with a transient error is retried as the run's policy says, and then fails", async () => {
    const world = newWorld({ config: { retry: { attempts_max: 3, base_ms: 100, cap_ms: 150 } } });
    let asked = 0;
    world.start({
      provider: {
        generate: () => {
          asked += 1;
          return Promise.reject(new ProviderError('provider_retryable', 'busy', asked === 1 ? 700 : null));
        },
      },
    });
    world.request();
    await world.finish();
    expect(asked).toBe(3);
    expect(endingOf(world)).toMatchObject({ outcome: 'failed', code: 'provider_retryable', message: 'busy' });
  });

  test.each([
    ['NaN', Number.NaN, 150],
    ['a time that has passed', -1, 150],
    ['a fraction', 700.5, 701],
    ['more than a day', 10 ** 12, RETRY_CAP_MS_MAX],
  ])('whose server asks to wait for %s is retried nevertheless', async (_, retryAfterMs, waitsMs) => {
    const world = newWorld({ config: { retry: { attempts_max: 2, base_ms: 150, cap_ms: 150 } } });
    const askedAt: number[] = [];
    world.start({
      provider: {
        generate: () => {
          askedAt.push(world.clock.now());
          return Promise.reject(new ProviderError('provider_retryable', 'busy', retryAfterMs));
        },
      },
    });
    world.request();
    await world.clock.until(() => endingOf(world) !== undefined, 2 * RETRY_CAP_MS_MAX);
    expect(askedAt).toHaveLength(2);
    expect(Number(askedAt[1]) - Number(askedAt[0])).toBeGreaterThanOrEqual(waitsMs);
    expect(endingOf(world)).toMatchObject({ outcome: 'failed', code: 'provider_retryable' });
  });

  test('that fails with an unknown code ends the run with provider_terminal', async () => {
    const world = newWorld();
    const error = new ProviderError('Rate Limited!' as ProviderErrorCode, 'slow down');
    world.start({ provider: { generate: () => Promise.reject(error) } });
    world.request();
    await world.finish();
    expect(endingOf(world)).toMatchObject({ outcome: 'failed', code: 'provider_terminal', message: 'slow down' });
  });

  test.each<ProviderErrorCode>(['provider_terminal', 'recording_exhausted', 'cancelled'])(
    'that fails with %s ends the run with that code',
    async (code) => {
      const world = newWorld();
      world.start({ provider: { generate: () => Promise.reject(new ProviderError(code, 'because')) } });
      world.request();
      await world.finish();
      expect(endingOf(world)).toMatchObject({ outcome: 'failed', code, message: 'because' });
    },
  );

  test.each<[ProviderErrorCode, string]>([
    ['provider_auth', 'key'],
    ['provider_quota', 'credit'],
    ['invalid_request', 'settings'],
    ['context_length', 'context mark'],
  ])('that fails with %s says what to do, however long the message is', async (code, advice) => {
    for (const said of ['because', 'because '.repeat(1_000)]) {
      const world = newWorld();
      world.start({ provider: { generate: () => Promise.reject(new ProviderError(code, said)) } });
      world.request();
      await world.finish();
      expect(endingOf(world)).toMatchObject({ outcome: 'failed', code });
      expect(endingOf(world)?.message).toMatch(new RegExp(`^because.*${advice}.*\\.$`));
    }
  });

  test("passes on what the run's config says to the model", async () => {
    const asked: GenerateRequest[] = [];
    const settings = { tool_choice: 'required', parallel_calls: false, temperature: 0.25 } as const;
    const world = newWorld({ config: { ...settings, reasoning: { effort: 'high' } } });
    const generate = (request: GenerateRequest) => {
      asked.push(request);
      return Promise.resolve({ content: 'done', calls: [] });
    };
    world.start({ provider: { generate } });
    world.request();
    await world.finish();
    expect(asked[0]).toMatchObject({ ...settings, reasoning: { effort: 'high' } });
  });

  test.each([
    ['throws a string', () => Promise.reject('no'), 'no'],
    [
      'throws synchronously',
      () => {
        throw new Error('at once \ud800');
      },
      'at once',
    ],
    ['returns no list of calls', replies({ calls: 'many' }), 'at "/calls": must be a list of calls'],
    ['returns undefined', replies(undefined), 'invalid: it must be an object with "calls"'],
    ['returns a number as content', replies({ content: 5, calls: [] }), 'at "/content": must be text'],
    ['returns null as a call', replies({ calls: [null] }), 'at "/calls/0": must be an object with "name"'],
    [
      'omits the name of a call',
      replies({ calls: [{ name: 'read' }, { id: 'a' }] }),
      'at "/calls/1/name": must be text',
    ],
    ['returns a number as a call id', replies({ calls: [{ id: 7, name: 'read' }] }), 'at "/calls/0/id": must be text'],
    ['omits a field of the usage', replies({ calls: [], usage: { input_tokens: 1 } }), 'at "/usage/output_tokens"'],
  ])('fails when its provider %s', async (_, generate, message) => {
    const world = newWorld();
    world.start({ provider: { generate } });
    world.request();
    await world.finish();
    expect(endingOf(world)).toMatchObject({ outcome: 'failed', code: 'provider_terminal' });
    expect(endingOf(world)?.message).toContain(message);
  });

  test('whose answer cannot be recorded fails the run and not the bridge', async () => {
    const world = newWorld();
    const usage = { input_tokens: 1.5, output_tokens: -1 };
    world.start({ provider: { generate: () => Promise.resolve({ calls: [], content: 'x', usage }) } });
    world.request();
    await world.finish();
    expect(endingOf(world)).toMatchObject({ outcome: 'failed', code: 'provider_terminal' });
  });

  test('stores a long answer as a blob, which is whole in the next conversation', async () => {
    const long = 'word '.repeat(5_000);
    const seen: string[] = [];
    const world = newWorld();
    world.start({
      provider: {
        generate: ({ messages }) => {
          seen.push(...messages.filter(({ role }) => role === 'assistant').map(({ text }) => text));
          return Promise.resolve({ content: long, calls: [] });
        },
      },
    });
    world.request();
    await world.finish();
    world.request();
    await world.finish();
    expect(seen).toEqual([long]);
    expect(endingOf(world)?.output).toMatchObject({ bytes: long.length });
  });

  test('is stopped when its run is cancelled', async () => {
    const world = newWorld();
    let stopped = false;
    world.start({
      provider: {
        generate: (_, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              stopped = true;
              reject(new ProviderError('cancelled', 'cancelled'));
            });
          }),
      },
    });
    world.request();
    await world.clock.settle();
    world.engine.record(SESSION, { kind: 'RunCancelled', run_id: 'run-1' as never });
    await world.clock.until(() => stopped, 6_000);
    expect(world.engine.of('GenerateFailed')).toEqual([]);
  });

  test('that is stopped while it reads the conversation does not ask the model with a part of it', async () => {
    const world = newWorld();
    const asked: GenerateRequest[] = [];
    const generate = (request: GenerateRequest): Promise<GenerateReply> => {
      asked.push(request);
      return Promise.resolve({ content: 'word '.repeat(5_000), calls: [] });
    };
    const first = world.start({ provider: { generate } });
    world.request();
    await world.finish();
    await first.stop();
    Object.assign(world.engine.client, { getBlob: () => async () => left(reject('storage_failed', '', 'not now')) });
    world.start({ owner: 'bridge-b', provider: { generate } });
    world.request();
    const waits = () => world.log.some((line) => line.event === 'reconnecting' && line.during === 'get_blob');
    await world.clock.until(waits, 6_000);
    world.engine.record(SESSION, { kind: 'RunCancelled', run_id: 'run-2' as never });
    await world.clock.until(() => world.log.some(({ event }) => event === 'lease_lost'), 60_000);
    await world.clock.settle();
    expect(asked).toHaveLength(1);
  });

  test('fetches sealed pages, and sends the whole conversation', async () => {
    const turns = Array.from({ length: 40 }, (_, turn) => [call(`c${turn}`, 'read', { path: String(turn) })]);
    const world = newWorld({ turns });
    world.start();
    world.request();
    await world.finish();
    expect(statusOf(world)).toBe('completed');
    expect(world.engine.state(SESSION).transcript.sealed.length).toBeGreaterThan(0);
    const sizes = world.log.flatMap((line) => (line.event === 'generate_started' ? [line.messages] : []));
    expect(sizes).toEqual(Array.from({ length: 41 }, (_, turn) => 1 + 2 * turn));
  });

  test('fails the run when a page is missing', async () => {
    const turns = Array.from({ length: 40 }, (_, turn) => [call(`c${turn}`, 'read', { path: String(turn) })]);
    const world = newWorld({ turns });
    world.start();
    world.engine.tamper = (grant) => {
      if (world.engine.state(SESSION).transcript.sealed.length > 0) world.engine.blobs.clear();
      return grant;
    };
    world.request();
    await world.finish();
    expect(endingOf(world)).toMatchObject({ outcome: 'failed', code: 'provider_terminal' });
    expect(endingOf(world)?.message).toContain('cannot read');
  });
});
