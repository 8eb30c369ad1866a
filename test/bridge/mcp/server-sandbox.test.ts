// What of the file system a local server is shown for the paths of its command line.
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shownFor } from '../../../bridge/mcp/server-sandbox.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { type Opened, open, raw } from '../../support/mcp/opened.ts';

const SERVER = fileURLToPath(new URL('../../support/mcp/raw-server.mjs', import.meta.url));

let root = '';
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'refold-package-')));
  chmodSync(root, 0o755);
  for (const file of [
    'project/package.json',
    'project/src/deep/server.js',
    'project/node_modules/tool/dist/index.js',
    'project/node_modules/tool/node_modules/inner/index.js',
    'python/pyvenv.cfg',
    'python/bin/server',
    'python/lib/site/module.py',
    'loose/server.sh',
    'loose/other/secret',
  ]) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), '');
  }
  mkdirSync(join(root, 'project/node_modules/.bin'));
  symlinkSync('../tool/dist/index.js', join(root, 'project/node_modules/.bin/tool'));
  symlinkSync(join(root, 'project'), join(root, 'linked'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('a path of the command line shows', () => {
  test.each([
    ['project/src/deep/server.js', 'project'],
    ['linked/src/deep/server.js', 'project'],
    ['project/node_modules/.bin/tool', 'project/node_modules'],
    ['project/node_modules/tool/dist/index.js', 'project/node_modules'],
    ['project/node_modules/tool/node_modules/inner/index.js', 'project/node_modules'],
    ['project/node_modules/tool', 'project/node_modules'],
    ['python/bin/server', 'python'],
    ['loose/server.sh', 'loose'],
    // Files for the server, and no program of its own: what is above stays hidden.
    ['project/src', 'project/src'],
    ['loose/other', 'loose/other'],
  ])('for %s: %s', (path, shown) => expect(shownFor(join(root, path))).toBe(join(root, shown)));

  test.each(['/', '/etc', '/home', '/tmp', '/usr', '/var', homedir()])('nothing for %s', (path) => {
    expect(shownFor(path)).toBeNull();
  });

  test('only itself for a file in a directory that holds everything', () => {
    expect(shownFor('/etc/passwd')).toBe('/etc/passwd');
    const file = join(tmpdir(), `refold-package-${process.pid}.sh`);
    writeFileSync(file, '');
    try {
      expect(shownFor(file)).toBe(realpathSync(file));
    } finally {
      rmSync(file);
    }
  });
});

test('a server that is started by a link to it finds itself', async () => {
  const beside = join(root, 'links');
  mkdirSync(beside);
  const link = join(beside, 'server.mjs');
  symlinkSync(SERVER, link);
  await using opened = await open({ linked: { command: process.execPath, args: [link, 'plain', ''] } });
  expect(await opened.logged('mcp_server_ready', 'linked')).toMatchObject({ sandbox: 'bwrap' });
});

describe('nothing of refold is shown', () => {
  const look = async (opened: Opened, path: string): Promise<string> =>
    (await opened.call('mcp.s.echo', { path })).text;
  const shows = async (opened: Opened, sandbox: JsonObject): Promise<void> => {
    // The user of a server is another one than root.
    chmodSync(dirname(opened.configFile), 0o755);
    opened.configure({ s: raw('files', '', { sandbox }) });
    await opened.logged('mcp_server_ready', 's');
  };

  test.each(['read', 'write'])('by a link to a directory that holds it, in "%s"', async (list) => {
    const above = join(root, `above-${list}`);
    mkdirSync(above);
    writeFileSync(join(above, 'beside'), 'plain');
    const link = join(root, `link-${list}`);
    symlinkSync(above, link);
    await using opened = await open({}, {}, { within: above });
    await shows(opened, { [list]: [link] });
    expect(await look(opened, join(link, 'beside'))).toBe('plain');
    expect(await look(opened, join(link, basename(dirname(opened.configFile)), 'mcp.json'))).toBe('refused: ENOENT');
  });

  test('by a directory within it', async () => {
    await using opened = await open({});
    const inside = join(dirname(opened.configFile), 'mcp-logins');
    mkdirSync(inside);
    writeFileSync(join(inside, 'a.json'), 'a token');
    await shows(opened, { read: [inside] });
    expect(await look(opened, join(inside, 'a.json'))).toBe('refused: ENOENT');
  });

  test('by a name of it that is a link', async () => {
    await using opened = await open(
      {},
      {},
      {
        nameOf(directory) {
          const name = join(root, 'data-by-link');
          symlinkSync(directory, name);
          return name;
        },
      },
    );
    await shows(opened, { read: [realpathSync(dirname(opened.configFile))] });
    expect(await look(opened, opened.configFile)).toBe('refused: ENOENT');
  });

  test('of another engine, which is told by what is in it', async () => {
    const data = join(root, 'others/engine');
    mkdirSync(join(data, 'journal'), { recursive: true });
    for (const file of ['epochs', 'journal/CURRENT', 'token']) writeFileSync(join(data, file), 'theirs');
    await using opened = await open({});
    await shows(opened, { write: [join(root, 'others')] });
    expect(await look(opened, join(data, 'token'))).toBe('refused: ENOENT');
  });
});
