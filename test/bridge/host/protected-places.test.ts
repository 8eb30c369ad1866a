// refold's own data: no tool and no sandboxed command reads or writes them, whatever path leads to them.
import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openHost } from '../../../bridge/host/open-host.ts';
import { parseMounts, pathsShowing } from '../../../bridge/host/workspace/mounts.ts';
import { openWorkspace } from '../../../bridge/host/workspace/workspace.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import {
  type TestHost,
  type TestWorkspace,
  callContext,
  makeHost,
  makeWorkspace,
} from '../../support/host/workspace.ts';

const probe = await makeHost();
const hasBwrap = probe.sandbox === 'bwrap';
if (!hasBwrap) process.stderr.write(`protected data in a sandbox are NOT tested here: ${probe.sandboxNote}\n`);
await probe.end();
const forbidsUserns =
  hasBwrap && spawnSync('bwrap', ['--help'], { encoding: 'utf8' }).stdout.includes('--disable-userns');
if (!forbidsUserns)
  process.stderr.write('user namespaces in a sandbox are NOT tested here: bwrap cannot forbid them\n');
const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;
if (!canMount) process.stderr.write('bind mounts are NOT tested here: they need root and unshare(1)\n');

const DATA = { '.local/share/refold/token': 'very-secret', '.local/share/refold/journal/CURRENT': 'M-1', 'a.txt': 'a' };

/** A workspace such as a home directory, with the data directory of an engine and a token elsewhere in it. */
const withHome = async (use: (host: TestHost) => Promise<void>): Promise<void> => {
  const files = makeWorkspace({ ...DATA, 'keys/token': 'very-secret' });
  const protect = [files.at('.local/share/refold'), files.at('keys/token')];
  const host = await openHost({ workspace: files.path, tempDir: files.tempDir, now: () => 0, protect });
  const context = { sessionId: 's', signal: new AbortController().signal, timeoutMs: 30_000, outputBytesMax: 50_000 };
  try {
    await use({
      ...host,
      workspace: files,
      call: (tool, args) => host.run(tool, args, context),
      end: () => host.close(),
    });
    expect(files.read('.local/share/refold/token') + files.read('keys/token')).toBe('very-secretvery-secret');
    expect(files.read('.local/share/refold/journal/CURRENT')).toBe('M-1');
  } finally {
    await host.close();
    files.remove();
  }
};

describe.runIf(hasBwrap)('a workspace that contains protected data', () => {
  const TOKEN = '.local/share/refold/token';
  const add = `*** Begin Patch\n*** Add File: .local/share/refold/new\n+x\n*** End Patch`;
  const CALLS: readonly (readonly [string, JsonObject])[] = [
    ['host.fs.read_file', { path: TOKEN }],
    ['host.fs.read_file', { path: 'keys/token' }],
    ['host.fs.write_file', { path: TOKEN, text: 'mine' }],
    ['host.fs.write_file', { path: 'keys/token', text: 'mine' }],
    ['host.fs.write_file', { path: '.local/share/refold/x/y', text: 'mine', create_parents: true }],
    ['host.fs.edit_file', { path: TOKEN, old_string: 'very', new_string: 'not' }],
    ['host.fs.edit_file', { path: 'keys/token', old_string: 'very', new_string: 'not' }],
    ['host.fs.apply_patch', { patch: add }],
    ['host.fs.apply_patch', { patch: '*** Begin Patch\n*** Delete File: keys/token\n*** End Patch' }],
    [
      'host.fs.apply_patch',
      { patch: `*** Begin Patch\n*** Update File: ${TOKEN}\n*** Move to: out\n@@\n-very-secret\n+x\n*** End Patch` },
    ],
    ['host.fs.list_dir', { path: '.local/share/refold' }],
    ['host.fs.stat', { path: '.local/share/refold/journal/CURRENT' }],
    ['host.fs.glob', { pattern: '**', path: '.local/share/refold' }],
    ['host.fs.grep', { pattern: 'secret', path: 'keys/token' }],
    ['host.exec', { argv: ['ls'], cwd: '.local/share/refold' }],
  ];
  test('serves no file tool with it', () =>
    withHome(async (host) => {
      for (const [tool, args] of CALLS) {
        const outcome = await host.call(tool, args);
        expect([tool, args, outcome.success, outcome.code]).toEqual([
          tool,
          args,
          false,
          tool === 'host.fs.apply_patch' ? 'path_forbidden' : 'forbidden',
        ]);
        expect(outcome.text).not.toContain('very-secret');
      }
      for (const [tool, args] of [
        ['host.fs.grep', { pattern: 'very-secret' }],
        ['host.fs.glob', { pattern: '**' }],
      ] as const) {
        const { text } = await host.call(tool, args);
        expect(text).not.toMatch(/journal|share\/refold\/token|very-secret/);
      }
      const put = { path: TOKEN, before: Buffer.from('old'), after_digest: null };
      expect(host.restore([put])).toMatchObject({ success: false, code: 'forbidden' });
      expect(await host.call('host.fs.write_file', { path: 'a.txt', text: 'b' })).toMatchObject({ success: true });
    }));

  test('hides it from commands, which cannot move it away either', () =>
    withHome(async (host) => {
      const sh = async (script: string): Promise<string> =>
        (await host.call('host.exec', { argv: ['sh', '-c', script] })).text;
      expect(
        await sh('cat .local/share/refold/token keys/token; ls -A .local/share/refold; grep -r very-secret .'),
      ).not.toContain('very-secret');
      for (const script of [
        'echo x > .local/share/refold/token',
        'mkdir .local/share/refold/x',
        'mv .local/share/refold elsewhere',
        'mv .local/share elsewhere',
        'mv .local elsewhere',
        'rm -rf .local/share/refold',
        'rmdir .local/share/refold',
        'mv keys elsewhere',
        'rm keys/token',
        'ln keys/token alias && cat alias | grep very',
        'umount .local/share/refold',
        'unshare -Urm umount .local/share/refold',
        'cat /proc/1/root/$PWD/.local/share/refold/token',
      ]) {
        expect([script, await sh(script)]).not.toEqual([script, expect.stringContaining('exit code 0')]);
      }
      expect(await sh('echo fine > .local/share/other && cat .local/share/other')).toContain('fine');
      expect(existsSync(host.workspace.at('.local/share/refold/token'))).toBe(true);
    }));

  test('hides it from commands when it was made after the start', async () => {
    const files = makeWorkspace({ 'home/x': 'x' });
    const protect = [files.at('home/later')];
    const host = await openHost({ workspace: files.path, tempDir: files.tempDir, now: () => 0, protect });
    files.write('home/later/token', 'very-secret');
    const outcome = await host.run('host.exec', { argv: ['cat', 'home/later/token', 'home/x'] }, callContext());
    expect(outcome).toMatchObject({ success: true, data: { exit_code: 1 } });
    expect(outcome.text).not.toContain('very-secret');
    await host.close();
    files.remove();
  });

  test.runIf(forbidsUserns)('and gives them no user namespace, where bwrap can forbid them', () =>
    withHome(async (host) => {
      const outcome = await host.call('host.exec', { argv: ['unshare', '-U', 'true'] });
      expect(outcome.data?.['exit_code']).not.toBe(0);
      expect(outcome.text).toContain('unshare failed');
    }),
  );

  test('runs no command once it was moved, because it could not be hidden', () =>
    withHome(async (host) => {
      const [from, to] = [host.workspace.at('.local/share/refold'), host.workspace.at('moved')];
      renameSync(from, to);
      const outcome = await host.call('host.exec', { argv: ['cat', 'moved/token'] });
      const read = await host.call('host.fs.read_file', { path: 'moved/token' });
      renameSync(to, from);
      expect(outcome).toMatchObject({ success: false, code: 'forbidden' });
      expect(outcome.text).toContain('a person must restart the bridge');
      expect(read).toMatchObject({ success: false, code: 'forbidden' });
    }));

  test('is refused without a sandbox, with what to do', async () => {
    const files = makeWorkspace(DATA);
    const options = { workspace: files.path, tempDir: files.tempDir, sandbox: 'none' as const, now: () => 0 };
    const opening = openHost({ ...options, protect: [files.at('.local/share/refold')] });
    await expect(opening).rejects.toThrow(
      /contains .*\.local\/share\/refold, where refold keeps its own data.*; choose/,
    );
    files.remove();
  });
});

describe('a protected path', () => {
  /** What happens at a path after the host was opened. */
  const CHANGES: Readonly<Record<string, (files: TestWorkspace) => void>> = {
    'a file that was replaced by a rename': (files) => {
      files.write('new', 'second-secret');
      renameSync(files.at('new'), files.at('keys/token'));
    },
    'a file that was removed and made again': (files) => {
      rmSync(files.at('keys/token'));
      files.write('other', 'x');
      files.write('keys/token', 'second-secret');
    },
    'a directory that was moved away and restored': (files) => {
      renameSync(files.at('data'), `${files.tempDir}-away`);
      files.write('data/tokens/operator', 'second-secret');
    },
    'a directory that did not exist': (files) => files.write('home/later/tokens/operator', 'second-secret'),
    'a file that did not exist': (files) => files.write('home/later-file', 'second-secret'),
  };
  const PATHS = ['keys/token', 'data/tokens/operator', 'home/later/tokens/operator', 'home/later-file'];

  test.each(Object.keys(CHANGES))('protects %s', async (what) => {
    const files = makeWorkspace({ 'data/tokens/operator': 'very-secret', 'keys/token': 'very-secret', 'home/x': 'x' });
    const protect = ['data', 'keys/token', 'home/later', 'home/later-file'].map((path) => files.at(path));
    const host = await openHost({
      workspace: files.path,
      tempDir: files.tempDir,
      now: () => 0,
      protect,
      runsCommands: false,
    });
    const call = (tool: string, args: JsonObject) => host.run(tool, args, callContext());
    CHANGES[what]?.(files);
    for (const path of PATHS) {
      expect((await call('host.fs.read_file', { path })).text).not.toMatch(/second|very/);
      const write = { path, text: 'planted', create_parents: true };
      expect([path, await call('host.fs.write_file', write)]).toMatchObject([
        path,
        { success: false, code: 'forbidden' },
      ]);
      const patch = `*** Begin Patch\n*** Add File: ${path}.d/x\n+planted\n*** End Patch`;
      if (path.startsWith('data/')) expect((await call('host.fs.apply_patch', { patch })).success).toBe(false);
    }
    expect((await call('host.fs.grep', { pattern: 'secret' })).text).not.toMatch(/second|very/);
    expect(files.list().filter((path) => path !== 'home/x' && /planted/.test(safeRead(files, path)))).toEqual([]);
    // What was at the path stays protected when it is moved.
    if (what === 'a file that was replaced by a rename') {
      renameSync(files.at('keys/token'), files.at('moved'));
      expect(await call('host.fs.read_file', { path: 'moved' })).toMatchObject({ success: false, code: 'forbidden' });
    }
    await host.close();
    files.remove();
  });

  const safeRead = (files: TestWorkspace, path: string): string => (path.endsWith('/') ? '' : files.read(path));
});

describe('a workspace that lies in protected data', () => {
  const open = (files: TestWorkspace, workspace: string, protect: string) => () =>
    openWorkspace(files.at(workspace), { protect: [files.at(protect)] });

  test('or is it, or is a link into it, is refused with what to do', () => {
    const files = makeWorkspace({ 'data/journal/CURRENT': 'x', 'other/x': 'x' });
    symlinkSync('data', files.at('link'));
    symlinkSync('data/journal', files.at('deep'));
    for (const [workspace, protect] of [
      ['data', 'data'],
      ['data/journal', 'data'],
      ['link', 'data'],
      ['deep', 'data'],
      ['data', 'link'],
      ['data/journal', 'link'],
    ] as const) {
      expect(open(files, workspace, protect)).toThrow(
        /lies in .*data, where refold keeps its own data; choose a directory outside/,
      );
    }
    open(files, 'other', 'data')().close();
    open(files, 'data', 'not-there')().close();
    files.remove();
  });

  test('cannot be replaced while it is opened or afterwards', async () => {
    const host = await makeHost({ 'a.txt': 'a' });
    const { path } = host.workspace;
    renameSync(path, `${path}-away`);
    mkdirSync(path);
    const outcome = await host.call('host.exec', { argv: ['true'] });
    if (host.sandbox === 'bwrap') expect(outcome).toMatchObject({ success: false, code: 'forbidden' });
    expect((await host.call('host.fs.read_file', { path: 'a.txt' })).text).toBe('a');
    await host.end();
  });
});

test('a hard link to protected data is not read', async () => {
  const files = makeWorkspace({ 'data/token': 'very-secret', 'work/x': 'x' });
  linkSync(files.at('data/token'), files.at('work/alias'));
  const workspace = openWorkspace(files.at('work'), { protect: [files.at('data')] });
  workspace.close();
  const host = await openHost({
    workspace: files.at('work'),
    tempDir: files.tempDir,
    now: () => 0,
    protect: [files.at('data/token')],
  });
  const context = { sessionId: 's', signal: new AbortController().signal, timeoutMs: 10_000, outputBytesMax: 50_000 };
  const outcome = await host.run('host.fs.read_file', { path: 'alias' }, context);
  expect(outcome).toMatchObject({ success: false, code: 'forbidden' });
  await host.close();
  files.remove();
});

test('the paths that show a directory follow bind mounts, whose names may hold spaces', () => {
  const mounts = parseMounts(
    [
      '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
      '23 22 8:1 /home/u /mnt/my\\040home rw - ext4 /dev/sda1 rw',
      '24 22 8:1 /home/u/.refold/journal /srv/j rw - ext4 /dev/sda1 rw',
      '25 22 0:50 / /home/u/ram rw - tmpfs tmpfs rw',
      'garbage',
    ].join('\n'),
  );
  expect(pathsShowing('/home/u/.refold', mounts)).toEqual(['/home/u/.refold', '/mnt/my home/.refold', '/srv/j']);
  expect(pathsShowing('/mnt/my home/.refold', mounts)).toEqual(['/mnt/my home/.refold', '/home/u/.refold', '/srv/j']);
  expect(pathsShowing('/home/u/ram/x', mounts)).toEqual(['/home/u/ram/x']);
  expect(pathsShowing('/home/u/.refold', [])).toEqual(['/home/u/.refold']);
});

/** Runs in a mount namespace of its own: opens the workspace of a bind mount and prints what it got. */
const MOUNTED = `
  const [dist, base] = process.argv.slice(1);
  const { openHost } = await import(dist + '/bridge/host/open-host.js');
  const { openWorkspace } = await import(dist + '/bridge/host/workspace/workspace.js');
  const protect = [base + '/data'];
  const attempt = (path) => { try { openWorkspace(path, { protect }).close(); return 'opened'; } catch (e) { return e.message; } };
  console.log(attempt(base + '/inside'));
  const host = await openHost({ workspace: base + '/home', tempDir: base + '/tmp', now: () => 0, protect });
  const call = { sessionId: 's', signal: new AbortController().signal, timeoutMs: 20000, outputBytesMax: 50000 };
  const run = async (tool, args) => (await host.run(tool, args, call)).text.replaceAll('\\n', ' ');
  console.log(await run('host.fs.read_file', { path: 'part/CURRENT' }));
  console.log(await run('host.fs.read_file', { path: 'whole/token' }));
  if (host.sandbox === 'bwrap') console.log(await run('host.exec', { argv: ['sh', '-c', 'cat part/CURRENT whole/token; echo x > part/CURRENT'] }));
  await host.close();
`;

test.runIf(canMount)('a bind mount leads to none of it', () => {
  const files = makeWorkspace({
    'data/token': 'very-secret',
    'data/journal/CURRENT': 'M-1',
    'data/w/x': '',
    'home/part/x': '',
    'home/whole/x': '',
    'inside/x': '',
  });
  const base = files.path;
  const mounts = ['data/w inside', 'data/journal home/part', 'data home/whole']
    .map((pair) => `mount --bind ${pair}`)
    .join(' && ');
  const dist = join(dirname(dirname(dirname(import.meta.dirname))), 'dist');
  const argv = [
    '-m',
    'sh',
    '-c',
    `cd ${base} && ${mounts} && exec "$@"`,
    'sh',
    process.execPath,
    '--input-type=module',
    '-e',
    MOUNTED,
    dist,
    base,
  ];
  const { stdout, stderr } = spawnSync('unshare', argv, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const [inside, part, whole, command = ''] = stdout.split('\n');
  expect(inside).toContain('lies in');
  expect([part, whole]).toEqual([expect.stringContaining('forbidden'), expect.stringContaining('forbidden')]);
  expect(command).not.toMatch(/very-secret|M-1/);
  expect(readFileSync(files.at('data/journal/CURRENT'), 'utf8')).toBe('M-1');
  writeFileSync(files.at('x'), '');
  files.remove();
});
