// What of the file system a local server is shown for the paths of its command line.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shownFor } from '../../../bridge/mcp/server-sandbox.ts';
import { open } from '../../support/mcp/opened.ts';

const SERVER = fileURLToPath(new URL('../../support/mcp/raw-server.mjs', import.meta.url));

let root = '';
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'refold-package-')));
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
