// What a stream refuses, and that it is the same engine as over HTTP.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect as connectSocket, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { FRAME_BYTES_MAX, LEASE_TTL_MS } from '../../../schemas/limits.ts';
import { connect } from '../../../src/client/http-client.ts';
import { encodeFrame, newFrameReader } from '../../../src/client/frames/frame-codec.ts';
import { must } from '../../../src/client/must.ts';
import { serveFrames } from '../../../src/server/frames/frame-session.ts';
import { newRoutes } from '../../../src/server/route-handlers.ts';
import { BRIDGE } from '../../../schemas/access.ts';
import { brand } from '../../../schemas/ids.ts';
import { outcome } from '../../support/journal/outcomes.ts';
import { roundsOf } from '../../support/random.ts';
import { openStream } from '../../../src/client/frames/open-stream.ts';
import { type Connection, overFrames } from '../../../src/client/frames/over-frames.ts';
import { openMemoryBlobs } from '../../../src/blobs/memory-blobs.ts';
import { type Engine, startEngine } from '../../../src/engine/engine.ts';
import { openMemoryJournal } from '../../../src/journal/memory-journal.ts';
import type { SocketServing } from '../../../src/server/listen.ts';
import { serve } from '../../../src/server/serve.ts';
import { fixedTokens } from '../../../src/server/tokens.ts';
import { describeClient } from '../../support/engine/client-contract.ts';
import { sendBytes } from '../../support/engine/raw-http.ts';
import { type RawStream, openRaw } from '../../support/engine/streaming.ts';
import { A, SESSION, Talk, leaseRequest } from '../../support/engine/world.ts';

const TOKENS = { operator: 'o'.repeat(64), bridge: 'b'.repeat(64), viewer: 'v'.repeat(64) };

interface Opened {
  readonly engine: Engine;
  readonly serving: SocketServing;
  readonly path: string;
  readonly close: () => Promise<void>;
}

async function open(): Promise<Opened> {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const directory = await mkdtemp(join(tmpdir(), 'refold-stream-'));
  const path = join(directory, 'engine.sock');
  const serving = await serve(engine.client, { tokens: fixedTokens(TOKENS), port: 0 });
  expect(await serving.listenAt(path)).toBeNull();
  return {
    engine,
    serving,
    path,
    async close() {
      await serving.close();
      await engine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A client over a stream: at the socket, or by an upgrade. */
function streamClient(url: string, socket: string | null, told: Connection[] = []) {
  const frames = overFrames({
    open: (onEnd) =>
      openStream(
        { url, token: TOKENS.operator, socketPath: () => Promise.resolve(socket), refuseListener: () => null },
        onEnd,
      ),
    now: () => performance.now(),
    onConnection: (connection) => told.push(connection),
  });
  return { client: connect(url, TOKENS.operator, { over: frames.over }), ready: () => frames.ready() };
}

// The same frames either way: `npm test` has the socket, `npm run soak -- streams` both.
for (const how of (['socket', 'upgrade'] as const).slice(0, roundsOf(1, 2))) {
  describeClient(`a client over a stream (${how})`, async () => {
    const opened = await open();
    const { client, ready } = streamClient(opened.serving.url, how === 'socket' ? opened.path : null);
    const connection = await ready();
    if (connection !== how) throw new Error(`connected by ${String(connection)}`);
    return {
      client,
      close: async () => {
        await client.close();
        await opened.close();
      },
    };
  });
}

describe('a stream', () => {
  let opened: Opened;
  let port: number;
  const streams: RawStream[] = [];

  beforeAll(async () => {
    opened = await open();
    port = Number(new URL(opened.serving.url).port);
  });
  afterEach(() => {
    for (const { socket } of streams.splice(0)) socket.destroy();
  });
  afterAll(() => opened.close());

  async function raw(token: string = TOKENS.bridge, more: readonly string[] = []): Promise<RawStream> {
    const stream = await openRaw({ port }, token, more);
    streams.push(stream);
    return stream;
  }
  const answers = (stream: RawStream, count: number): Promise<void> =>
    vi.waitFor(() => expect(stream.frames.length).toBeGreaterThanOrEqual(count), 10_000);

  test('is for bridges and operators of this engine alone', async () => {
    expect((await raw()).opened).toMatch(/^HTTP\/1.1 101 /);
    expect((await raw(TOKENS.operator)).opened).toMatch(/^HTTP\/1.1 101 /);
    expect((await raw('x'.repeat(64))).opened).toMatch(/^HTTP\/1.1 401 /);
    expect((await raw(TOKENS.viewer)).opened).toMatch(/^HTTP\/1.1 401 /);
    expect((await raw(TOKENS.bridge, ['host: elsewhere.example'])).opened).toMatch(/^HTTP\/1.1 403 /);
    expect((await raw(TOKENS.bridge, ['origin: http://127.0.0.1'])).opened).toMatch(/^HTTP\/1.1 403 /);
  });

  test('holds each request to the scope of its token', async () => {
    const stream = await raw();
    stream.send('{"id":1,"type":"createSession","body":{}}', '{"id":2,"type":"info"}');
    await answers(stream, 2);
    const statuses = stream.frames.map(({ id, status }) => [id, status]);
    expect(statuses).toEqual(
      expect.arrayContaining([
        [1, 403],
        [2, 200],
      ]),
    );
  });

  test('has a socket for this user only', async () => {
    expect((await stat(opened.path)).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['no JSON', '{"id":', 'invalid_frame'],
    ['an unknown type', '{"id":1,"type":"erase"}', 'invalid_frame'],
    ['a route that streams', '{"id":1,"type":"followCommits","of":"s-1"}', 'invalid_frame'],
    ['an unknown field', '{"id":1,"type":"info","why":1}', 'invalid_frame'],
    ['a body that is no JSON', '{"id":1,"type":"heartbeat","body":{"owner":}}', 'invalid_frame'],
    ['a frame over 1 MiB', `"${'x'.repeat(FRAME_BYTES_MAX)}"`, 'too_large'],
  ])('is closed for %s', async (_name, text, code) => {
    const stream = await raw();
    stream.send(text, '{"id":9,"type":"info"}');
    await stream.closed;
    expect(stream.frames).toEqual([{ closed: code, detail: expect.any(String) as string }]);
  });

  test('is closed for an id used twice, and does nothing of that frame', async () => {
    const stream = await raw(TOKENS.operator);
    stream.send('{"id":1,"type":"createSession","body":{"session_id":"once"}}');
    await answers(stream, 1);
    stream.send('{"id":1,"type":"createSession","body":{"session_id":"twice"}}');
    await stream.closed;
    expect(stream.frames.at(-1)).toMatchObject({ closed: 'invalid_frame' });
    const { sessions } = await must(opened.engine.client.sessions());
    expect(sessions.map(({ session_id }) => session_id)).toEqual(['once']);
  });

  test('answers a faulty body as HTTP does, and goes on', async () => {
    const stream = await raw();
    stream.send(
      '{"id":1,"type":"heartbeat","body":{"owner":"a","owner":"b"}}',
      '{"id":2,"type":"heartbeat","body":[]}',
    );
    await answers(stream, 2);
    expect(stream.frames).toMatchObject([
      { id: 1, status: 400, body: { code: 'duplicate_key', path: '/owner' } },
      { id: 2, status: 400, body: { code: 'invalid_shape' } },
    ]);
  });

  test('gives an HTTP client that asks for another protocol the answer of HTTP', async () => {
    const body = '{"owner":"o-1","leases":[]}';
    const answer = await sendBytes(port, [
      [
        'POST /v1/leases/heartbeat HTTP/1.1',
        'host: 127.0.0.1',
        'connection: Upgrade, HTTP2-Settings',
        'upgrade: h2c',
        'http2-settings: AAEAAEAA',
        `authorization: Bearer ${TOKENS.bridge}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        '',
        body,
      ].join('\r\n'),
    ]);
    expect(JSON.stringify(answer)).toContain('200');
  });
});

test('grants are pushed as they come, on one request', async () => {
  const opened = await open();
  const { client } = streamClient(opened.serving.url, opened.path);
  const talk = new Talk(opened.engine.client);
  await talk.create();
  const pushed: string[] = [];
  const waiting = client.lease({ ...leaseRequest(A), max: 2, wait_ms: LEASE_TTL_MS / 2 }, undefined, ({ effects }) =>
    pushed.push(...effects.map(({ kind }) => kind)),
  )();
  await talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
  await vi.waitFor(() => expect(pushed).toEqual(['llm.generate']), 5_000);
  await must(client.release({ owner: A, leases: [], all: true }));
  const last = await waiting;
  expect(last._tag).toBe('Right');
  expect((await must(opened.engine.client.session(SESSION))).held_by).toBeUndefined();
  await client.close();
  await opened.close();
});

describe('a client over a stream', () => {
  test('uses HTTP with an engine that opens none, and says so', async () => {
    const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
    const info = JSON.stringify(await must(engine.client.info()));
    const before = createServer((_incoming, outgoing) => {
      outgoing.setHeader('content-type', 'application/json');
      outgoing.end(info);
    });
    await new Promise<void>((resolve) => {
      before.listen(0, '127.0.0.1', resolve);
    });
    const told: Connection[] = [];
    const { client, ready } = streamClient(`http://127.0.0.1:${(before.address() as AddressInfo).port}`, null, told);
    expect(await ready()).toBe('http');
    expect(told).toEqual(['http']);
    expect(await must(client.info())).toMatchObject({ name: 'refold' });
    await client.close();
    before.closeAllConnections();
    before.close();
    await engine.close();
  });

  test('leaves requests without an answer when the stream is cut, at whatever byte, and opens another', async () => {
    const opened = await open();
    const port = Number(new URL(opened.serving.url).port);
    let cutAfter = Infinity;
    // Passes the bytes of the engine on, so many of them.
    const proxy = createTcpServer((near) => {
      const far = connectSocket(port, '127.0.0.1');
      near
        .on('data', (bytes) => far.write(bytes))
        .on('error', () => far.destroy())
        .on('close', () => far.destroy());
      far.on('error', () => near.destroy()).on('close', () => near.destroy());
      far.on('data', (bytes: Buffer) => {
        const passed = bytes.subarray(0, cutAfter);
        cutAfter -= passed.length;
        near.write(passed, () => {
          if (cutAfter <= 0) near.destroy();
        });
      });
    });
    await new Promise<void>((resolve) => {
      proxy.listen(0, '127.0.0.1', resolve);
    });
    const { client } = streamClient(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, null);
    for (const at of [1, 3, 4, 5, 20, 60]) {
      await must(client.info());
      cutAfter = at;
      const id = brand<'SessionId'>(`cut-${at}`);
      expect(await outcome(client.createSession({ session_id: id }))).toBe('closing');
      cutAfter = Infinity;
      // Sent again, as whoever asked does: it was done once.
      expect(await outcome(client.createSession({ session_id: id }))).toBe('session_exists');
    }
    await client.close();
    proxy.close();
    await opened.close();
  });
});

test('a stream with half a frame is closed when its time is over', async () => {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const holder = { access: BRIDGE, isCurrent: () => true };
  const server = createTcpServer((socket) =>
    serveFrames(socket, new Uint8Array(), {
      holder,
      routes: newRoutes(engine.client),
      onError: () => undefined,
      frameMsMax: 50,
    }),
  );
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const socket = connectSocket((server.address() as AddressInfo).port, '127.0.0.1');
  const texts: string[] = [];
  const reader = newFrameReader();
  socket.on('data', (bytes: Buffer) => texts.push(...reader.read(bytes).texts));
  // A whole frame, then half of another.
  socket.write(
    Buffer.concat([encodeFrame('{"id":1,"type":"info"}'), encodeFrame('{"id":2,"type":"info"}').subarray(0, 9)]),
  );
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  expect(texts.map((text) => JSON.parse(text) as unknown)).toMatchObject([
    { id: 1, status: 200 },
    { closed: 'timeout' },
  ]);
  server.close();
  await engine.close();
});
