// The route of a client stream, as any reader of server-sent events sees it.
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createParser } from 'eventsource-parser';
import { FOLLOW_BEAT_MS, STREAM_COMMITS_KEPT_MAX, SUBSCRIBERS_OF_VIEWERS_MAX } from '../../schemas/limits.ts';
import type { CommitRecord } from '../../schemas/record.ts';
import { reject } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { FollowRefused } from '../../src/client/follow-refused.ts';
import { newApp } from '../../src/server/app.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { SESSION, type World, newWorld } from '../support/engine/world.ts';

const TOKENS = { operator: 'o', bridge: 'b', viewer: 'v' } as const;
const CONTENT = { text: 'Hello' };

let world: World;

beforeAll(async () => {
  world = await newWorld();
  await world.talk.create();
  await world.talk.run();
  await world.talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [], content: CONTENT }]);
});
afterAll(async () => await world.engine.close());

const appOf = (client: EngineClient) => newApp(client, { tokens: fixedTokens(TOKENS), hosts: ['engine'] });

interface Asked {
  readonly path?: string;
  readonly token?: string;
  readonly lastId?: string;
  readonly app?: ReturnType<typeof appOf>;
}

async function ask({ path = '', token = 'v', lastId, app = appOf(world.engine.client) }: Asked = {}) {
  const left = new AbortController();
  const request = new Request(`http://engine/v1/sessions/${SESSION}/stream${path}`, {
    headers: {
      host: 'engine',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    },
    signal: left.signal,
  });
  return { response: await app.request(request), leave: () => left.abort() };
}

interface Message {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: unknown;
}

/** The messages of a response until one fits, or until it ends. */
async function read(
  { response, leave }: Awaited<ReturnType<typeof ask>>,
  isLast: (message: Message) => boolean,
): Promise<readonly Message[]> {
  const seen: Message[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => seen.push({ id, event, data: JSON.parse(data) as unknown }),
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const utf8 = new TextDecoder();
  while (!seen.some(isLast)) {
    const { done, value } = await reader.read();
    if (done) break;
    parser.feed(utf8.decode(value, { stream: true }));
  }
  leave();
  await reader.cancel();
  return seen;
}

const isOver = ({ event, data }: Message): boolean =>
  event === 'thread_lifecycle' && (data as { phase: string }).phase === 'completed';

const problemIn = async ({ response }: Awaited<ReturnType<typeof ask>>) => ({
  status: response.status,
  ...((await response.json()) as { readonly code: string }),
});

describe('GET /v1/sessions/:id/stream', () => {
  test.each(['operator', 'bridge', 'viewer'] as const)('is for the scope %s', async (scope) => {
    const asked = await ask({ token: TOKENS[scope] });
    expect(asked.response.headers.get('content-type')).toBe('text/event-stream');
    const seen = await read(asked, isOver);
    expect(seen.map(({ id, event }) => `${id} ${event}`)).toEqual([
      '0 thread_lifecycle',
      '1.1 content_block_start',
      '1.2 text_delta',
      '1.3 content_block_stop',
      '1 thread_lifecycle',
    ]);
    expect(seen[2]?.data).toEqual(CONTENT);
  });

  test.each([
    ['Last-Event-ID', { lastId: '1.2' }],
    ['?after=', { path: '?after=1.2' }],
    ['Last-Event-ID before ?after=', { lastId: '1.2', path: '?after=0' }],
  ])('resumes after %s', async (_how, asked) => {
    const seen = await read(await ask(asked), isOver);
    expect(seen.map(({ id }) => id)).toEqual(['1.3', '1']);
  });

  test('a reader that has seen all waits for what is new', async () => {
    const asked = await ask({ lastId: '1' });
    const next = read(asked, () => true);
    await world.talk.run();
    expect(await next).toMatchObject([{ id: '2', event: 'thread_lifecycle', data: { phase: 'started' } }]);
  });

  test.each<[string, Asked, number, string]>([
    ['without a token', { token: '' }, 401, 'unauthorized'],
    ['with an id of no stream', { lastId: 'x' }, 400, 'invalid_shape'],
    ['with an id that is too large', { lastId: '1'.repeat(500) }, 400, 'invalid_shape'],
    ['with an id that is not reached', { lastId: '4711' }, 409, 'position_unknown'],
  ])('is refused %s', async (_why, asked, status, code) => {
    expect(await problemIn(await ask(asked))).toMatchObject({ status, code });
  });

  test('an unknown session is refused', async () => {
    const response = await appOf(world.engine.client).request('http://engine/v1/sessions/none/stream', {
      headers: { host: 'engine', authorization: 'Bearer v' },
    });
    expect(await problemIn({ response, leave: () => undefined })).toMatchObject({
      status: 404,
      code: 'unknown_session',
    });
  });

  test('its readers and those of /events have the same places, which are given back', async () => {
    const app = appOf(world.engine.client);
    const readers = [];
    for (let count = 0; count < SUBSCRIBERS_OF_VIEWERS_MAX; count += 1) readers.push(await ask({ app }));
    expect(await problemIn(await ask({ app }))).toMatchObject({ status: 429, code: 'queue_full' });
    const follow = await app.request(`http://engine/v1/sessions/${SESSION}/events`, {
      headers: { host: 'engine', authorization: 'Bearer v' },
    });
    expect(follow.status).toBe(429);
    expect((await ask({ app, token: 'o' })).response.status).toBe(200);
    readers.pop()?.leave();
    expect((await ask({ app })).response.status).toBe(200);
  });

  test('a stream that cannot go on ends with an error, and nothing follows', async () => {
    const fails = (): AsyncIterable<CommitRecord> => ({
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new FollowRefused(reject('closing', '', 'the engine stops'))),
      }),
    });
    const client: EngineClient = { ...world.engine.client, followLive: fails };
    const seen = await read(await ask({ app: appOf(client) }), () => false);
    expect(seen).toEqual([
      { id: undefined, event: 'error', data: { error: 'closing', message: 'the engine stops', details: { path: '' } } },
    ]);
  });

  test('a reader that waits gets heartbeats without an id', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const asked = await ask({ lastId: '2' });
    const next = read(asked, () => true);
    vi.advanceTimersByTime(FOLLOW_BEAT_MS);
    expect(await next).toEqual([{ id: undefined, event: 'heartbeat', data: {} }]);
  });

  test('readers that wait for one commit get the same bytes, made once', async () => {
    const other = await newWorld();
    await other.talk.create();
    const app = appOf(other.engine.client);
    const ask256 = Array.from({ length: 256 }, () => ask({ app, token: 'o' }));
    const readers = (await Promise.all(ask256)).map(({ response }) =>
      (response.body as ReadableStream<Uint8Array>).getReader(),
    );
    const pieces = readers.map((reader) => reader.read());
    await other.talk.run();
    const got = await Promise.all(pieces);
    expect(new Set(got.map(({ value }) => value)).size).toBe(1);
    for (const reader of readers) await reader.cancel();
    await other.engine.close();
  });

  test('many readers of one session get the same, whatever is kept for them', async () => {
    const other = await newWorld();
    await other.talk.create();
    await other.talk.run();
    for (let count = 0; count <= 2 * STREAM_COMMITS_KEPT_MAX; count += 1)
      await other.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
    await other.talk.submit([{ kind: 'RunCancelled', run_id: 'run-1' }]);
    const app = appOf(other.engine.client);
    const readers = await Promise.all(Array.from({ length: 5 }, async () => await read(await ask({ app }), isOver)));
    expect(readers[0]?.map(({ event, data }) => [event, (data as { phase: string }).phase])).toEqual([
      ['thread_lifecycle', 'started'],
      ['thread_lifecycle', 'completed'],
    ]);
    for (const reader of readers) expect(reader).toEqual(readers[0]);
    await other.engine.close();
  });
});
