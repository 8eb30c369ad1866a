// Readers that take nothing, and viewers that follow: neither keeps bridges and operators out.
import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import { type AddressInfo, type Socket, connect as connectSocket } from 'node:net';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { SUBSCRIBERS_MAX, SUBSCRIBERS_OF_VIEWERS_MAX } from '../../schemas/limits.ts';
import { connect } from '../../src/client/http-client.ts';
import { must } from '../../src/client/must.ts';
import { newDoor } from '../../src/server/door.ts';
import { serve } from '../../src/server/serve.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { newWorld } from '../support/engine/world.ts';

const opened: Socket[] = [];

afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

function ask(port: number, path: string, ...headers: readonly string[]): Socket {
  const socket = connectSocket(port, '127.0.0.1');
  opened.push(socket);
  socket.on('error', () => undefined);
  socket.write([`GET ${path} HTTP/1.1`, 'host: 127.0.0.1', ...headers, '', ''].join('\r\n'));
  return socket;
}

test('a connection whose reader takes nothing ends; one whose response waits does not', async () => {
  let answerWaiting = (): void => undefined;
  const large = Buffer.alloc(32 * 1_048_576);
  const ended: Promise<unknown>[] = [];
  const respond = (path: string | undefined, response: ServerResponse): void => {
    if (path === '/waits') answerWaiting = () => void response.end('answered');
    else ended.push(once(response.writeHead(200), 'close'));
    if (path === '/stalls') response.end(large);
  };
  const server = createServer(({ url }, response) => respond(url, response));
  const door = newDoor(server, 40);
  server.on('connection', (socket: Socket) => door.admit(socket, 'viewer'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close().closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const waiting = ask(port, '/waits');
  const waited = once(server, 'request');
  await waited;
  const stalled = once(server, 'request');
  ask(port, '/stalls').pause();
  await stalled;
  await Promise.all(ended);
  // It has waited for longer than the one that was ended.
  answerWaiting();
  expect(String((await once(waiting, 'data'))[0])).toContain('answered');
});

test('viewers take part of the places of followers; the rest is kept', async () => {
  const { engine } = await newWorld();
  const tokens = { operator: 'o', bridge: 'b', viewer: 'v' };
  const served = await serve(engine.client, { tokens: fixedTokens(tokens), port: 0 });
  onTestFinished(async () => {
    await served.close();
    await engine.close();
  });
  const { url } = served;
  const { session_id } = await must(connect(url, tokens.operator).createSession());
  const statusOf = async (token: string): Promise<string> => {
    const socket = ask(
      Number(new URL(url).port),
      `/v1/sessions/${session_id}/events`,
      `authorization: Bearer ${token}`,
    );
    return String((await once(socket, 'data'))[0]).slice(9, 12);
  };
  const follow = async (token: string, count: number): Promise<readonly string[]> => {
    const statuses = await Promise.all(Array.from({ length: count }, () => statusOf(token)));
    return statuses.filter((status) => status === '200');
  };
  expect(await follow(tokens.viewer, SUBSCRIBERS_OF_VIEWERS_MAX + 5)).toHaveLength(SUBSCRIBERS_OF_VIEWERS_MAX);
  expect(await follow(tokens.bridge, 100)).toHaveLength(100);
  const rest = SUBSCRIBERS_MAX - SUBSCRIBERS_OF_VIEWERS_MAX - 100;
  expect(await follow(tokens.operator, rest + 1)).toHaveLength(rest);
  // A viewer that leaves makes room for one.
  for (const socket of opened.splice(0)) socket.destroy();
  while ((await statusOf(tokens.viewer)) !== '200');
});
