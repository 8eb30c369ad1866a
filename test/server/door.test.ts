// Who may keep a connection: strangers cannot keep the owner of the token out, nor can others keep operators out.
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { type Socket, connect as connectSocket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  CONNECTIONS_FOR_OPERATORS,
  CONNECTIONS_MAX,
  CONNECTIONS_OF_VIEWERS_MAX,
  LEASES_WAITING_MAX,
  REQUESTS_PER_CONNECTION_MAX,
  STRANGERS_AT_ONCE_MAX,
  STRANGERS_MAX,
  STRANGER_MS_MAX,
  STRANGER_MS_MIN,
  SUBSCRIBERS_MAX,
} from '../../schemas/limits.ts';
import type { Scope } from '../../schemas/access.ts';
import { must } from '../../src/client/must.ts';
import { newDoor } from '../../src/server/door.ts';
import { sendBytes } from '../support/engine/raw-http.ts';
import { TOKEN, serveForAll } from '../support/engine/serving.ts';
import { Talk, ingress, leaseRequest, A } from '../support/engine/world.ts';
import { brand } from '../../schemas/ids.ts';

const server = serveForAll();
const opened: Socket[] = [];

afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

/** Connections that have sent this text, and keep open what the server lets them. */
function open(count: number, text: string): Promise<readonly Socket[]> {
  return Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve) => {
          const socket = connectSocket(server().served.port, '127.0.0.1', () => {
            socket.write(text, () => resolve(socket));
          });
          opened.push(socket);
          // What the server answers, and that it closes, is not of interest here.
          socket.on('error', () => resolve(socket)).resume();
        }),
    ),
  );
}

const request = (method: string, path: string, ...headers: readonly string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', ...headers, '', ''].join('\r\n');

const KNOWN = `authorization: Bearer ${TOKEN}`;
let sessions = 0;

/** How long a person waits for an interrupt, in milliseconds: the best of three, as other processes load the machine too. */
async function interruptMs(): Promise<number> {
  const waits: number[] = [];
  while (waits.length < 3 && !waits.some((ms) => ms < 1_000)) waits.push(await oneInterruptMs());
  return Math.min(...waits);
}

async function oneInterruptMs(): Promise<number> {
  sessions += 1;
  const { engine, served } = server();
  const talk = await new Talk(engine.client, brand<'SessionId'>(`door-${sessions}`)).create();
  await talk.run();
  const began = performance.now();
  await must(served.client.submit(talk.id, { events: [ingress({ kind: 'user.interrupt', run_id: 'run-1' })] }));
  return performance.now() - began;
}

const HALF_OPEN = 'GET /v1 HTTP/1.1\r\nhost: 127.0.0.1\r\nx';
const UNAUTHORISED = request('GET', '/v1', 'authorization: Bearer wrong');
const SLOW_BODY = `${request('POST', '/v1/sessions', KNOWN, 'content-type: application/json', 'content-length: 9')}{`;
const SLOW_STRANGER = request('POST', '/v1/sessions', 'content-type: application/json', 'content-length: 9');

describe('an interrupt is answered within a second', () => {
  test('with as many requests at once as there are sessions', async () => {
    const { client } = server().served;
    const answers = await Promise.all(Array.from({ length: 300 }, () => client.sessions({ limit: 1 })()));
    expect(answers.filter(({ _tag }) => _tag === 'Left')).toEqual([]);
  });

  test('beside 600 half-open and 600 unauthorised connections', async () => {
    await Promise.all([open(600, HALF_OPEN), open(600, UNAUTHORISED)]);
    expect(await interruptMs()).toBeLessThan(1_000);
  });

  test('beside strangers who never end their bodies, and say nothing at all', async () => {
    await Promise.all([open(300, SLOW_STRANGER), open(300, '')]);
    expect(await interruptMs()).toBeLessThan(1_000);
  });

  test('beside as many slow bodies of clients with the token as fit', async () => {
    await open(CONNECTIONS_MAX - CONNECTIONS_FOR_OPERATORS, SLOW_BODY);
    expect(await interruptMs()).toBeLessThan(1_000);
  });

  test('beside more followers and more waiting leases than are allowed', async () => {
    const { served } = server();
    const session = await must(served.client.createSession());
    const lease = JSON.stringify(leaseRequest(A, { kinds: ['call.undo'], wait_ms: 20_000 }));
    const posted = request(
      'POST',
      '/v1/leases',
      KNOWN,
      'content-type: application/json',
      `content-length: ${lease.length}`,
    );
    await open(LEASES_WAITING_MAX + 20, posted + lease);
    await open(SUBSCRIBERS_MAX + 20, request('GET', `/v1/sessions/${session.session_id}/events`, KNOWN));
    expect(await interruptMs()).toBeLessThan(1_000);
    expect(await sendBytes(served.port, [posted.replace('host:', 'connection: close\r\nhost:') + lease])).toContain(
      'queue_full',
    );
  });
});

test('a connection that sends many requests without waiting is closed, and few of them are worked on', async () => {
  const { served, engine } = server();
  const asked = vi.spyOn(engine.client, 'info');
  const many = request('GET', '/v1', KNOWN).repeat(1_000);
  // Resolves only when the server closes the connection.
  await sendBytes(served.port, [many]);
  const worked = asked.mock.calls.length;
  expect(worked).toBeLessThanOrEqual(REQUESTS_PER_CONNECTION_MAX);
  const few = request('GET', '/v1', KNOWN).repeat(3) + request('GET', '/v1', KNOWN, 'connection: close');
  expect((await sendBytes(served.port, [few])).split('HTTP/1.1 200')).toHaveLength(5);
  expect(asked.mock.calls.length).toBe(worked + 4);
  asked.mockRestore();
});

test.each([
  ['a wrong token', UNAUTHORISED, '401'],
  ['a wrong token and a body that never ends', `${SLOW_STRANGER}{`, '401'],
  ['another host', request('GET', '/v1', KNOWN).replace('127.0.0.1', 'evil.example'), '403'],
  ['an origin', request('GET', '/v1', KNOWN, 'origin: null'), '403'],
])('the connection ends after a request with %s', async (_, text, status) => {
  // Resolves only when the server closes the connection.
  expect(await sendBytes(server().served.port, [text])).toContain(`HTTP/1.1 ${status}`);
});

describe('the door', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  function newHouse() {
    vi.useFakeTimers();
    const house = new EventEmitter();
    const door = newDoor(house as Server);
    return {
      door,
      arrive: (): Socket => {
        const socket = Object.assign(new EventEmitter(), {
          destroyed: false,
          setTimeout: () => undefined,
          destroy: () => undefined,
        }) as never as Socket;
        socket.destroy = () => {
          if (!socket.destroyed) Object.assign(socket, { destroyed: true }).emit('close');
          return socket;
        };
        house.emit('connection', socket);
        return socket;
      },
      /** A request that is not answered before `end` is called. */
      ask: (socket: Socket): { readonly end: () => void } => {
        const response = new EventEmitter();
        house.emit('request', { socket }, response);
        return { end: () => void response.emit('close') };
      },
    };
  }

  const closed = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => destroyed).length;

  test('closes the oldest strangers when there are too many and each had its time to be read', () => {
    const { arrive } = newHouse();
    const strangers = Array.from({ length: STRANGERS_MAX + 3 }, arrive);
    expect(closed(strangers)).toBe(0);
    vi.advanceTimersByTime(STRANGER_MS_MIN);
    const last = arrive();
    expect(strangers.map(({ destroyed }) => destroyed).lastIndexOf(true)).toBe(3);
    expect(closed([...strangers, last])).toBe(4);
  });

  test('lets one client open many connections at once, and no more than that', () => {
    const { arrive, door } = newHouse();
    const mine = Array.from({ length: STRANGERS_AT_ONCE_MAX }, arrive);
    expect(closed(mine)).toBe(0);
    expect(door.admit(mine[0] as Socket, 'operator')).toBe(true);
    const strangers = [arrive(), arrive()];
    expect([closed(mine), closed(strangers), mine[0]?.destroyed, mine[1]?.destroyed]).toEqual([1, 0, false, true]);
  });

  test('closes a stranger when its time is up, and nobody who has named the token', () => {
    const { arrive, door } = newHouse();
    const [stranger, known] = [arrive(), arrive()];
    expect(door.admit(known, 'operator')).toBe(true);
    vi.advanceTimersByTime(STRANGER_MS_MAX - 1);
    expect(stranger.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect([stranger.destroyed, known.destroyed]).toEqual([true, false]);
  });

  test('keeps slots for operators', () => {
    const { arrive, ask, door } = newHouse();
    const busy = (scope: Scope): boolean => {
      const socket = arrive();
      const admitted = door.admit(socket, scope);
      ask(socket);
      return admitted;
    };
    const others = Array.from({ length: CONNECTIONS_MAX }, () => busy('bridge'));
    expect(others.filter(Boolean)).toHaveLength(CONNECTIONS_MAX - CONNECTIONS_FOR_OPERATORS);
    // Operators get every slot; when none is left, those of others.
    const operators = Array.from({ length: CONNECTIONS_MAX }, () => busy('operator'));
    expect(operators).not.toContain(false);
    expect(busy('bridge')).toBe(false);
    expect(busy('operator')).toBe(false);
  });

  test('lets viewers have no more than their part, and take from no one else', () => {
    const { arrive, ask, door } = newHouse();
    const busy = (scope: Scope) => {
      const socket = arrive();
      return { socket, admitted: door.admit(socket, scope), asked: ask(socket) };
    };
    const viewers = Array.from({ length: CONNECTIONS_MAX }, () => busy('viewer'));
    expect(viewers.filter(({ admitted }) => admitted)).toHaveLength(CONNECTIONS_OF_VIEWERS_MAX);
    const bridge = busy('bridge');
    bridge.asked.end();
    expect([bridge.admitted, busy('viewer').admitted, bridge.socket.destroyed]).toEqual([true, false, false]);
    // Of their own they may end the idle ones.
    viewers[5]?.asked.end();
    expect([busy('viewer').admitted, viewers[5]?.socket.destroyed, bridge.socket.destroyed]).toEqual([
      true,
      true,
      false,
    ]);
    // An operator who needs a slot takes it from a viewer first.
    bridge.asked.end();
    const bridges = Array.from({ length: CONNECTIONS_MAX / 2 - 1 }, () => busy('operator'));
    expect(bridges.every(({ admitted }) => admitted)).toBe(true);
    busy('operator');
    busy('operator');
    expect([viewers[0]?.socket.destroyed, viewers[1]?.socket.destroyed]).toEqual([true, false]);
  });

  test('closes the connection that has been idle longest when there is no slot', () => {
    const { arrive, ask, door } = newHouse();
    const known = Array.from({ length: CONNECTIONS_MAX }, () => {
      const socket = arrive();
      door.admit(socket, 'operator');
      return { socket, asked: ask(socket) };
    });
    expect(door.admit(arrive(), 'operator')).toBe(false);
    for (const index of [7, 3]) known[index]?.asked.end();
    expect(door.admit(arrive(), 'operator')).toBe(true);
    expect(known.flatMap(({ socket }, index) => (socket.destroyed ? [index] : []))).toEqual([3]);
  });
});
