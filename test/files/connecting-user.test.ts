// Which user's process is at the other end of a connection: the code of a page is for the pages of its user alone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connectingUser, refuseConnectingStranger } from '../../src/files/connecting-user.ts';

const isRoot = process.getuid?.() === 0;

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
const row = (local: number, remote: number, uid: number, state = '01'): string =>
  `   0: 0100007F:${hex(local)} 0100007F:${hex(remote)} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 1 1`;

describe('the user at the other end', () => {
  const found = (rows: readonly string[], remoteAddress = '127.0.0.1'): number | null =>
    connectingUser({ localPort: 7_423, remotePort: 50_000, remoteAddress }, (name) =>
      ['header', ...(name === 'tcp' ? rows : [])].join('\n'),
    );

  test('is that of the socket whose ends are those of the connection, seen from there', () => {
    const rows = [row(7_423, 50_000, 1), row(50_001, 7_423, 2), row(50_000, 7_423, 3), row(50_000, 80, 4)];
    expect(found(rows)).toBe(3);
    expect(found(rows, '::ffff:127.0.0.1')).toBe(3);
  });

  test('is not known from another machine, after the connection has ended, or without a list of sockets', () => {
    expect(found([row(50_000, 7_423, 3)], '10.0.0.5')).toBeNull();
    expect(found([row(50_000, 7_423, 3, '06')])).toBeNull();
    expect(found([])).toBeNull();
    expect(refuseConnectingStranger({ localPort: 1, remotePort: 1, remoteAddress: '10.0.0.5' })).toBeNull();
  });
});

/** Connects to a port as another user, and stays. */
const CONNECTING = `
  process.setuid(Number(process.argv[1]));
  require('node:net').connect(Number(process.argv[2]), '127.0.0.1').on('close', () => process.exit());
`;

test.runIf(isRoot).each([
  [65_534, 'the request comes from a process of uid 65534, which is no user of this engine'],
  [0, null],
])('a connection of the user %d: %s', async (uid, refusal) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, ['-e', CONNECTING, String(uid), String(port)], { cwd: '/', stdio: 'ignore' });
  const [socket] = (await once(server, 'connection')) as [Socket];
  expect(refuseConnectingStranger(socket)).toBe(refusal);
  socket.destroy();
  await once(child, 'exit');
  server.close();
});
