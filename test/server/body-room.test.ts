// The bodies that a server holds are bounded, of all requests together.
import { EventEmitter } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import {
  BLOB_BYTES_MAX,
  BODIES_BYTES_FOR_OPERATORS,
  BODIES_BYTES_MAX,
  BODIES_BYTES_OF_VIEWERS_MAX,
  BODY_READS_MAX,
} from '../../schemas/limits.ts';
import { newBodyRoom } from '../../src/server/body-room.ts';
import { send } from '../support/engine/raw-http.ts';
import { TOKEN, serveForAll } from '../support/engine/serving.ts';

const server = serveForAll();

const responding = () => Object.assign(new EventEmitter(), { closed: false });

test('viewers and bridges leave room for operators', () => {
  const room = newBodyRoom();
  const take = (scope: 'viewer' | 'bridge' | 'operator', bytes: number) => room.enter(scope, undefined).take(bytes);
  expect(take('viewer', BODIES_BYTES_OF_VIEWERS_MAX)).toBeNull();
  expect(take('viewer', 1)).toMatchObject({ code: 'queue_full' });
  const rest = BODIES_BYTES_MAX - BODIES_BYTES_FOR_OPERATORS - BODIES_BYTES_OF_VIEWERS_MAX;
  expect(take('bridge', rest)).toBeNull();
  expect(take('bridge', 1)).toMatchObject({ code: 'queue_full' });
  expect(take('operator', BODIES_BYTES_FOR_OPERATORS)).toBeNull();
  expect(take('operator', 1)).toMatchObject({ code: 'queue_full' });
  expect(room.held()).toBe(BODIES_BYTES_MAX);
});

test.each([['handled first'], ['closed first']])(
  'room is free once a request is handled and its response ended, %s',
  (first) => {
    const room = newBodyRoom();
    const response = responding();
    const own = room.enter('bridge', response as never);
    expect([own.take(3), own.take(4)]).toEqual([null, null]);
    const done = (): void => own.done();
    const close = (): void => {
      response.closed = true;
      response.emit('close');
    };
    const [one, other] = first === 'handled first' ? [done, close] : [close, done];
    one();
    expect(room.held()).toBe(7);
    other();
    expect(room.held()).toBe(0);
  },
);

test('few blobs are read at a time, in order', async () => {
  const room = newBodyRoom().enter('viewer', undefined);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const reads = Array.from({ length: BODY_READS_MAX + 2 }, (_, number) =>
    room.read(async () => {
      begun.push(number);
      await new Promise<void>((resolve) => ends.push(resolve));
    }),
  );
  expect(begun).toHaveLength(BODY_READS_MAX);
  ends[0]?.();
  await reads[0];
  await Promise.resolve();
  expect(begun).toEqual(Array.from({ length: BODY_READS_MAX + 1 }, (_, number) => number));
  for (const end of ends) end();
  await Promise.resolve();
  while (begun.length < reads.length) await reads[1];
  ends.at(-1)?.();
  await Promise.all(reads);
});

test('uploads that are not sent hold no more than the room; once they end, there is room again', async () => {
  const { port } = server().served;
  const head = `POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${BLOB_BYTES_MAX}\r\n\r\n`;
  const upload = () => {
    const socket = connectSocket(port, '127.0.0.1');
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(head);
    return socket;
  };
  const put = () =>
    send({ port, method: 'POST', path: '/v1/blobs', headers: { authorization: `Bearer ${TOKEN}` } }, Buffer.from('x'));
  const held = Array.from({ length: BODIES_BYTES_MAX / BLOB_BYTES_MAX }, upload);
  await expect.poll(async () => (await put()).status).toBe(429);
  for (const socket of held) socket.destroy();
  await expect.poll(async () => (await put()).status).toBe(201);
});
