// Following over HTTP: through restarts, refusals, stalled readers, and servers that are not engines.
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { connect as connectSocket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../schemas/upcast.ts';
import { type Position, type SessionId, brand } from '../../schemas/ids.ts';
import { COMMIT_KEPT_CHARS_MAX, SUBSCRIBERS_MAX } from '../../schemas/limits.ts';
import type { CommitRecord } from '../../schemas/record.ts';
import { reject } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { FollowRefused } from '../../src/client/follow-refused.ts';
import { connect } from '../../src/client/http-client.ts';
import { must } from '../../src/client/must.ts';
import { type Served, TOKEN, serveClient } from '../support/engine/serving.ts';
import { A, SESSION, Talk, type World, leaseRequest, newWorld } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function served(client: EngineClient, port = 0): Promise<Served> {
  const serving = await serveClient(client, port);
  closers.push(() => serving.close());
  return serving;
}

/** An event of 150 characters or so. */
const configured = (at: number) =>
  ({ kind: 'SessionConfigured', event_id: brand<'EventId'>(`${at}${'x'.repeat(100)}`), config: {} }) as const;

async function withEvents(count: number): Promise<World> {
  const world = await newWorld();
  closers.push(() => world.engine.close());
  await world.talk.create();
  for (let index = 0; index < count; index += 1) await world.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
  return world;
}

describe('following over HTTP', () => {
  test('continues after a restart of the engine, without a gap or a repeat', async () => {
    const world = await withEvents(3);
    const first = await served(world.engine.client);
    const seen: number[] = [];
    const controller = new AbortController();
    const steps: (() => Promise<unknown>)[] = [
      async () => {
        await first.close();
        await world.restart();
        await world.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
        await served(world.engine.client, first.port);
      },
    ];
    for await (const { position } of first.client.follow(SESSION, { signal: controller.signal })) {
      seen.push(position);
      if (seen.length === 2) await steps.pop()?.();
      if (seen.length === 4) controller.abort();
    }
    expect(seen).toEqual([0, 1, 2, 3]);
  });

  test('yields each new commit as it is on record, whether it is kept in memory or too large for that', async () => {
    const world = await withEvents(1);
    const { client } = await served(world.engine.client);
    const controller = new AbortController();
    const followed: CommitRecord[] = [];
    const chars: number[] = [];
    for await (const commit of client.followCommits(SESSION, { signal: controller.signal })) {
      followed.push(commit);
      chars.push(JSON.stringify(commit.events).length);
      if (followed.length === 3) controller.abort();
      else {
        const events = Array.from({ length: followed.length === 1 ? 1 : 250 }, (_, at) =>
          configured(1_000 * followed.length + at),
        );
        await world.talk.submit(events);
      }
    }
    expect(chars[1]).toBeLessThan(COMMIT_KEPT_CHARS_MAX);
    expect(chars[2]).toBeGreaterThan(COMMIT_KEPT_CHARS_MAX);
    expect(followed).toEqual((await must(client.records(SESSION))).slice(2));
  });

  test('ends when it is aborted, also after the garbage of its request was collected', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const world = await withEvents(1);
    const { client } = await served(world.engine.client);
    const controller = new AbortController();
    const commits = client.followCommits(SESSION, { signal: controller.signal })[Symbol.asyncIterator]();
    expect(await commits.next()).toMatchObject({ done: false });
    const next = commits.next();
    for (let turn = 0; turn < 10; turn += 1) {
      await new Promise(setImmediate);
      collectGarbage();
    }
    controller.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  test('resumes after the last event id that the reader names', async () => {
    const world = await withEvents(4);
    const { url } = await served(world.engine.client);
    const headers = { authorization: `Bearer ${TOKEN}`, 'last-event-id': '1' };
    const controller = new AbortController();
    const { body } = await fetch(`${url}/v1/sessions/${SESSION}/events?from=0`, { headers, signal: controller.signal });
    let text = '';
    const utf8 = new TextDecoder();
    for await (const chunk of body ?? []) {
      text += utf8.decode(chunk as Uint8Array, { stream: true });
      if (text.includes('id: 3')) break;
    }
    controller.abort();
    expect(text.match(/^id: \d+$/gm)).toEqual(['id: 2', 'id: 3']);
  });

  test('yields the events of a commit from the one that the reader asks for, and whole commits when it asks for those', async () => {
    const world = await withEvents(1);
    const configured = { kind: 'SessionConfigured' as const, config: {} };
    await world.talk.submit([configured, configured, configured]);
    const { client } = await served(world.engine.client);
    for (const of of [client, world.engine.client]) {
      const controller = new AbortController();
      const seen: number[] = [];
      for await (const { position } of of.follow(SESSION, { from: 2, signal: controller.signal })) {
        seen.push(position);
        if (position === 3) controller.abort();
      }
      expect(seen).toEqual([2, 3]);
      const commits = of.followCommits(SESSION, { from: 2 })[Symbol.asyncIterator]();
      const { value } = await commits.next();
      await commits.return?.();
      expect(value).toMatchObject({ kind: 'commit', position: 1 });
      expect(value?.events).toHaveLength(3);
    }
  });

  test('ends with the reason when the stream is damaged', async () => {
    const world = await withEvents(2);
    const broken: EngineClient = {
      ...world.engine.client,
      // oxlint-disable-next-line require-yield
      followCommits: async function* follow() {
        throw new FollowRefused(reject('damaged', '', 'position 1'));
      },
    };
    const { client } = await served(broken);
    await expect(client.follow(SESSION)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      rejection: { code: 'damaged' },
    });
  });

  test('refuses one reader too many, and accepts one again when another has left', async () => {
    const world = await withEvents(0);
    const { client, port } = await served(world.engine.client);
    const controller = new AbortController();
    const readers = Array.from({ length: SUBSCRIBERS_MAX }, () => {
      const reader = client.follow(SESSION, { signal: controller.signal })[Symbol.asyncIterator]();
      return reader.next();
    });
    // Null when the connection is closed unanswered, as that of a stranger may be when many come at once.
    const ask = () =>
      new Promise<number | null>((resolve) => {
        const path = `/v1/sessions/${SESSION}/events`;
        const socket = connectSocket(port, '127.0.0.1');
        socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
        socket.once('data', (data: Buffer) => {
          resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1]));
          socket.destroy();
        });
        socket.once('error', () => socket.destroy()).once('close', () => resolve(null));
      });
    let status: number | null = 200;
    while (status === 200 || status === null) status = await ask();
    expect(status).toBe(429);
    controller.abort();
    await Promise.all(readers);
    while (status !== 200) status = await ask();
    expect(status).toBe(200);
  });

  test('buffers nothing for a stalled reader, and delays no other reader', async () => {
    const world = await withEvents(1);
    const records = await must(world.talk.client.records(SESSION, 0));
    const template = records.find((record) => record.kind === 'commit');
    if (template === undefined) throw new Error('no commit');
    const MANY = 12_000;
    const large = { ...template.events[0], config: { instructions: { text: 'x'.repeat(4_000) } } } as RecordedEvent;
    const given: number[] = [];
    const endless: EngineClient = {
      ...world.engine.client,
      followCommits: async function* follow(_id: SessionId) {
        const reader = given.push(0) - 1;
        for (let index = 0; index < MANY; index += 1) {
          given[reader] = index;
          yield { ...template, events: [large], position: index as Position };
        }
      },
    };
    const { client, port } = await served(endless);
    const stalled = connectSocket(port, '127.0.0.1');
    stalled.write(
      `GET /v1/sessions/${SESSION}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
    );
    await once(stalled, 'readable');
    let seen = 0;
    for await (const { position } of client.follow(SESSION)) {
      seen = position;
      if (position === MANY - 1) break;
    }
    expect(seen).toBe(MANY - 1);
    // Only what fits the buffers of the two sockets.
    expect(given[0]).toBeLessThan(MANY / 2);
    stalled.destroy();
  }, 20_000);
});

describe('an engine that does not answer', () => {
  test('is `closing`, for every method', async () => {
    const client = connect('http://127.0.0.1:1', TOKEN);
    expect(await outcome(client.info())).toBe('closing');
    expect(await outcome(client.lease(leaseRequest(A, { wait_ms: 1_000 })))).toBe('closing');
    const controller = new AbortController();
    const reading = client.follow(SESSION, { signal: controller.signal })[Symbol.asyncIterator]().next();
    controller.abort();
    expect(await reading).toMatchObject({ done: true });
  });

  test('ends a waiting request when its server closes', async () => {
    const world = await withEvents(1);
    const serving = await served(world.engine.client);
    const { client } = serving;
    const waiting = client.lease(leaseRequest(A, { wait_ms: 20_000 }))();
    await client.info()();
    await serving.close();
    expect(await waiting).toMatchObject({ left: { code: 'closing' } });
  });
});

describe('a server that is not an engine', () => {
  async function garbage(status: number, body: string, type = 'application/json'): Promise<EngineClient> {
    const server: Server = createServer((_, response) => {
      response.writeHead(status, { 'content-type': type });
      response.end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(
      () =>
        new Promise((resolve) => {
          server.close(resolve);
          server.closeAllConnections();
        }),
    );
    const address = server.address();
    return connect(`http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}`, TOKEN);
  }

  test.each([
    ['a word', 200, 'hello'],
    ['nothing', 200, ''],
    ['an empty object', 200, '{}'],
    ['an empty list', 200, '[]'],
    ['almost an engine', 200, '{"name":"refold","version":1,"started_at_ms":0}'],
    ['an HTML page', 500, '<html>'],
    ['an unknown code', 404, '{"code":"no_such_code"}'],
    ['a code of another type', 404, '{"code":{}}'],
    ['a bad gateway', 502, ''],
    ['many brackets', 200, '['.repeat(100_000)],
  ])('is `closing` when it answers with %s', async (_name, status, body) => {
    const client = await garbage(status, body);
    const talk = new Talk(client, brand('s'));
    expect(await outcome(client.info())).toBe('closing');
    expect(await outcome(client.session(talk.id))).toBe('closing');
    expect(await outcome(client.putBlob(new Uint8Array(1)))).toBe('closing');
    if (body !== '[]') {
      expect(await outcome(client.records(talk.id))).toBe('closing');
      expect(await outcome(client.sessions())).toBe('closing');
    }
  });

  test('yields no record to a reader that follows it', async () => {
    const client = await garbage(200, 'x', 'text/event-stream');
    const controller = new AbortController();
    const reading = client.follow(SESSION, { signal: controller.signal })[Symbol.asyncIterator]().next();
    await client.info()();
    controller.abort();
    expect(await reading).toMatchObject({ done: true });
  });

  test.each([
    ['text', 'data: x\n\n', 'not JSON'],
    ['an incomplete commit', 'event: commit\ndata: {"kind":"commit"}\n\n', 'a commit ('],
    ['a fault without a code', 'event: fault\ndata: {}\n\n', 'unknown code'],
    [
      'half of a surrogate pair',
      'event: delta\ndata: {"kind":"delta","run_id":"run-1","turn":1,"parts":[{"kind":"text","text":"\\ud83d"}]}\n\n',
      'frame of deltas',
    ],
  ])('is told to a reader that follows it and gets %s', async (_name, body, named) => {
    const client = await garbage(200, body, 'text/event-stream');
    const reading = client.followLive(SESSION)[Symbol.asyncIterator]().next();
    await expect(reading).rejects.toMatchObject({
      rejection: { code: 'internal', message: expect.stringContaining(named) },
    });
  });
});
