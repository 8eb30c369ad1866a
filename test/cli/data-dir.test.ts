// Which engine a command finds by its data directory, and an engine that cannot be found.
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { connect } from '../../src/client/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { readToken, tokenFile } from '../../src/server/token.ts';
import { type Started, freshDirectory, jsonLines, must, refold, start } from '../support/e2e/refold.ts';

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

test('a copy of a data directory that is in use is read itself, not through the engine of the other', async () => {
  await cp(at('data'), at('copy'), { recursive: true });
  const client = connect(String(engine.ready['url']), await readToken(tokenFile(at('data'))));
  await must(client.createSession({ session_id: brand('later') }));
  await client.close();
  const sessions = async (name: string): Promise<readonly unknown[]> =>
    jsonLines((await refold(['sessions', '--json', '--data-dir', at(name)])).stdout).map((row) => row['session_id']);
  expect(await sessions('data')).toEqual(['later']);
  expect(await sessions('copy')).toEqual([]);
});

test('an engine that cannot tell where it listens ends, and says so', async () => {
  await mkdir(at('other/engine.json'), { recursive: true });
  const { code, stderr } = await refold(['serve', '--port', '0', '--data-dir', at('other')]);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^refold: cannot tell where .*folder\n$/),
  });
});

describe('a data directory whose journal is gone', () => {
  test.each([
    ['deleted', 'sessions'],
    ['deleted', 'verify --all'],
    ['emptied', 'serve --port 0'],
    ['emptied', 'sessions'],
  ])('%s, is told by refold %s, and no empty one made in its place', async (how, command) => {
    const lost = await mkdtemp(at('lost-'));
    await (await must(openEngine({ dataDir: lost }))).close();
    await rm(join(lost, 'journal'), { recursive: true });
    if (how === 'emptied') await mkdir(join(lost, 'journal'));
    const before = await readdir(lost, { recursive: true });
    const { code, stderr } = await refold([...command.split(' '), '--data-dir', lost]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^refold: an engine has worked in .* its journal is gone: .* from a backup/),
    });
    expect(await readdir(lost, { recursive: true })).toEqual(before);
  });
});
