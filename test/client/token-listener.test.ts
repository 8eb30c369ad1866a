// A token goes to no other user's process: after an engine was killed, its port is free for all users of the machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/client/http-client.ts';
import { FollowRefused } from '../../src/client/follow-refused.ts';
import { listeningUser, refuseStranger } from '../../src/files/listening-user.ts';
import { SESSION } from '../support/engine/world.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const isRoot = process.getuid?.() === 0;
const TOKEN = 'a-token-for-the-engine-alone';

/** Listens as the user `nobody`, and prints what it is sent. */
const STRANGER = `
  process.setuid(65534);
  const server = require('node:http').createServer((request, response) => {
    console.log('sent ' + request.headers.authorization);
    response.end('{}');
  });
  server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));
`;

describe('a process of another user', () => {
  test.runIf(isRoot)('that listens where the engine was is sent no token, in no kind of request', async () => {
    await inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'operator');
      await writeFile(path, TOKEN, { mode: 0o600 });
      const stranger = spawn(process.execPath, ['-e', STRANGER], { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
      let printed = '';
      stranger.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
      await once(stranger.stdout, 'data');
      const url = `http://127.0.0.1:${printed.trim().slice('port '.length)}`;
      const client = connect(url, TOKEN, { refuseListener: refuseStranger(url, path) });
      const answers = [
        await client.info()(),
        await client.submit(SESSION, { events: [] })(),
        await client.putBlob(new Uint8Array([1]))(),
      ];
      const following = client.backup()[Symbol.asyncIterator]().next();
      const followed = await following.catch((error: unknown) => error);
      await client.close();
      stranger.kill();
      await once(stranger, 'close');
      for (const answer of answers)
        expect(isLeft(answer) && answer.left.message).toMatch(/a process of uid 65534 listens there.* no token/);
      expect(followed).toBeInstanceOf(FollowRefused);
      expect(printed).not.toContain('sent');
    });
  });
});

const row = (address: string, port: number, uid: number, state = '0A'): string =>
  `   0: ${address}:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 1 1`;

describe('the user that listens on a port', () => {
  const found = (url: string, tcp: readonly string[], tcp6: readonly string[] = []): number | null =>
    listeningUser(url, (name) => ['header', ...(name === 'tcp' ? tcp : tcp6)].join('\n'));

  test('is that of the address itself, before that of all addresses', () => {
    const both = [row('00000000', 7_423, 7), row('0100007F', 7_423, 8)];
    expect(found('http://127.0.0.1:7423', both)).toBe(8);
    expect(found('http://localhost:7423/', both.slice(0, 1))).toBe(7);
    expect(found('http://[::1]:7423', [], [row('00000000000000000000000001000000', 7_423, 9)])).toBe(9);
    expect(found('http://127.0.0.1:7423', [], [row('0000000000000000FFFF00000100007F', 7_423, 9)])).toBe(9);
  });

  test('is not known for another port, a connection that is not listening, or another machine', () => {
    expect(found('http://127.0.0.1:7424', [row('0100007F', 7_423, 8)])).toBeNull();
    expect(found('http://127.0.0.1:7423', [row('0100007F', 7_423, 8, '01')])).toBeNull();
    expect(found('http://10.0.0.5:7423', [row('0100007F', 7_423, 8), row('00000000', 7_423, 8)])).toBeNull();
    expect(found('http://127.0.0.1:7423', [])).toBeNull();
  });

  test.runIf(process.platform === 'linux')('is this user for a port of this process', async () => {
    const { createServer } = await import('node:net');
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    expect(listeningUser(`http://127.0.0.1:${port}`)).toBe(process.getuid?.());
    server.close();
  });
});
