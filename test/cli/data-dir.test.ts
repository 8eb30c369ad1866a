// How commands find the engine of a data directory, and what they report when they cannot.
import { chmod, cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { connect } from '../../src/client/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { must } from '../../src/client/must.ts';
import { type Started, freshDirectory, jsonLines, refold, start } from '../support/e2e/refold.ts';

let home: string;
let engine: Started;
const at = (name: string): string => join(home, name);

beforeAll(async () => {
  home = await freshDirectory();
  engine = await start(['serve', '--port', '0', '--data-dir', at('data')]);
});
afterAll(async () => {
  await engine.kill();
  await rm(home, { recursive: true });
});

test('a copy of a data directory in use is read directly, not through the engine of the original', async () => {
  await cp(at('data'), at('copy'), { recursive: true, filter: (path) => !path.endsWith('.sock') });
  const client = connect(String(engine.ready['url']), await readToken(tokenFile(at('data'), 'operator')));
  await must(client.createSession({ session_id: brand('later') }));
  await client.close();
  const sessions = async (name: string): Promise<readonly unknown[]> =>
    jsonLines((await refold(['sessions', '--json', '--data-dir', at(name)])).stdout).map((row) => row['session_id']);
  expect(await sessions('data')).toEqual(['later']);
  expect(await sessions('copy')).toEqual([]);
});

test('a second engine reports which process has the directory open, and its address', async () => {
  const { url, pid } = engine.ready;
  const { code, stderr } = await refold(['serve', '--port', '0', '--data-dir', at('data')]);
  const who = `refold: another refold engine has this data directory open (process ${String(pid)}, at ${String(url)}). `;
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(who) });
});

test.each([
  ['is gone', /and it cannot be asked: its token cannot be read: .*operator: no such file\)/],
  [
    'others may read',
    /and it cannot be asked: its token cannot be read: .*operator has the mode 644, .*run: chmod 600 /,
  ],
])('a command reports why it cannot ask an engine whose token %s', async (how, message) => {
  const running = await start(['serve', '--port', '0', '--data-dir', at(how)]);
  await (how === 'is gone' ? rm(tokenFile(at(how), 'operator')) : chmod(tokenFile(at(how), 'operator'), 0o644));
  const { code, stderr } = await refold(['gc', '--data-dir', at(how)]);
  await running.kill();
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) });
});

test('an engine that cannot publish its address exits with the reason', async () => {
  await mkdir(at('other/engine.json'), { recursive: true });
  const { code, stderr } = await refold(['serve', '--port', '0', '--data-dir', at('other')]);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^refold: cannot publish the engine’s address: .*directory\n$/),
  });
});

describe('a data directory whose journal is missing', () => {
  test.each([
    ['deleted', 'sessions'],
    ['deleted', 'verify --all'],
    ['emptied', 'serve --port 0'],
    ['emptied', 'sessions'],
  ])('%s, is reported by refold %s, which creates no empty one', async (how, command) => {
    const lost = await mkdtemp(at('lost-'));
    await (await must(openEngine({ dataDir: lost }))).close();
    await rm(join(lost, 'journal'), { recursive: true });
    if (how === 'emptied') await mkdir(join(lost, 'journal'));
    const before = await readdir(lost, { recursive: true });
    const { code, stderr } = await refold([...command.split(' '), '--data-dir', lost]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^refold: an engine has used .* its journal is missing: .* from a backup/),
    });
    expect(await readdir(lost, { recursive: true })).toEqual(before);
  });
});
