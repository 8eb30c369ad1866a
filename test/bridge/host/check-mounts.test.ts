// bubblewrap resolves paths by name, and another command may replace a directory by a link meanwhile: a sandbox in which
// something else is mounted than was asked starts no command.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findUnasked } from '../../../bridge/host/exec/check-mounts.ts';
import type { Capture } from '../../../bridge/host/exec/output-capture.ts';
import { type CommandEnd, startCommand } from '../../../bridge/host/exec/run-command.ts';
import { openSandbox } from '../../../bridge/host/exec/sandbox.ts';
import type { Shield } from '../../../bridge/host/exec/shielded-paths.ts';
import { findGitEntries } from '../../../bridge/host/git/git-entries.ts';
import { openHost } from '../../../bridge/host/open-host.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { type Mount, parseMounts } from '../../../bridge/host/workspace/mounts.ts';
import { openWorkspace } from '../../../bridge/host/workspace/workspace.ts';
import { type TestWorkspace, callContext, makeHost, makeWorkspace } from '../../support/host/workspace.ts';

const probe = await makeHost();
const hasBwrap = probe.sandbox === 'bwrap';
if (!hasBwrap) process.stderr.write(`what a sandbox mounts is NOT tested here: ${probe.sandboxNote}\n`);
await probe.end();

const keeper = { hold: () => Promise.resolve(), release: () => undefined, close: () => undefined };

/** Chooses the mounts of a command, lets `meanwhile` change the workspace, then starts it. */
async function startAfter(
  files: TestWorkspace,
  script: string,
  meanwhile: () => void,
): Promise<CommandEnd & { readonly output: string }> {
  const workspace = openWorkspace(files.path, { protect: [files.at('data')] });
  const sandbox = openSandbox(workspace, { wanted: 'bwrap', sandboxUid: undefined });
  const readOnly = [...(await findGitEntries(workspace.root)).found.values()];
  const argv = ['sh', '-c', script];
  const launch = sandbox.launch({ argv, directory: files.path, variables: { PATH: '/usr/bin:/bin' }, readOnly });
  meanwhile();
  let output = '';
  const push = (chunk: Buffer): void => void (output += chunk.toString());
  const capture = { push, total: () => 0 } as Partial<Capture> as Capture;
  const io = { cwd: '/', identity: sandbox.identity, stdin: undefined, stdout: capture, stderr: capture };
  const end = await startCommand(launch, io, keeper).ended;
  workspace.close();
  return { ...end, output };
}

describe.runIf(hasBwrap)('a command whose mounts', () => {
  const FILES = { 'p/workspace/d/.git/config': 'mine', 'q/.git/config': 'mine', 'data/token': 'token' };

  const swapped: readonly (readonly [string, (files: TestWorkspace) => void])[] = [
    [
      'would show a directory outside, behind a link that took the place of one above a git directory',
      (files) => {
        renameSync(files.at('p'), files.at('real'));
        mkdirSync(files.at('d/.git'), { recursive: true });
        symlinkSync('..', files.at('p'));
      },
    ],
    [
      'would show another directory of the workspace',
      (files) => {
        renameSync(files.at('p/workspace'), files.at('real'));
        mkdirSync(files.at('elsewhere/d/.git'), { recursive: true });
        symlinkSync('../elsewhere', files.at('p/workspace'));
      },
    ],
    [
      'would miss a git directory, in whose place is another one',
      (files) => {
        renameSync(files.at('q/.git'), files.at('away'));
        mkdirSync(files.at('q/.git'));
      },
    ],
    [
      'would hide something else than the data of refold',
      (files) => {
        renameSync(files.at('data'), files.at('away'));
        mkdirSync(files.at('empty'));
        symlinkSync('empty', files.at('data'));
      },
    ],
  ];

  test.each(swapped)('%s is not started', async (_, meanwhile) => {
    const files = makeWorkspace(FILES);
    const { spawnFault } = await startAfter(files, 'touch ran; echo x > ../outside', () => meanwhile(files));
    expect([existsSync(join(dirname(files.path), 'outside')), files.list().includes('ran')]).toEqual([false, false]);
    expect(spawnFault).toMatch(/changed while the sandbox was set up/);
    files.remove();
  });

  test('are what was asked is started', async () => {
    const files = makeWorkspace(FILES);
    const script = 'touch ran; cat q/.git/config; ls data; echo x > q/.git/config';
    const { spawnFault, output } = await startAfter(files, script, () => undefined);
    expect([spawnFault, files.list().includes('ran'), files.read('q/.git/config')]).toEqual([null, true, 'mine']);
    expect(output).toMatch(/^mine/);
    expect(output).not.toContain('token');
    files.remove();
  });
});

const OUTSIDE = parseMounts(
  [
    '1 0 8:1 / / rw - ext4 /dev/sda rw',
    '2 1 0:5 / /dev rw - devtmpfs dev rw',
    '3 1 8:2 /sub /home/me/ws/disk rw - ext4 /dev/sdb rw',
    '4 1 0:9 / /run/user/7 rw - tmpfs tmpfs rw',
  ].join('\n'),
);
const SHIELDS: readonly Shield[] = [
  { path: '/home/me/ws/a', as: 'above', id: null },
  { path: '/home/me/ws/a/.git', as: 'read-only', id: null },
  { path: '/home/me/ws/data', as: 'hidden-directory', id: null },
  { path: '/home/me/ws/key', as: 'hidden-file', id: null },
];
const GOOD = [
  '10 9 0:40 /newroot / rw - tmpfs tmpfs rw',
  '11 10 8:1 /usr /usr ro - ext4 /dev/sda rw',
  '12 10 0:41 / /proc rw - proc proc rw',
  '13 12 0:5 /null /proc/keys ro - devtmpfs dev rw',
  '14 10 0:42 / /dev rw - tmpfs tmpfs rw',
  '15 14 0:5 /null /dev/null rw shared:7 - devtmpfs dev rw',
  '16 10 0:43 / /tmp rw - tmpfs tmpfs rw',
  '17 10 8:1 /home/me/ws /home/me/ws rw - ext4 /dev/sda rw',
  '18 17 8:2 /sub /home/me/ws/disk rw - ext4 /dev/sdb rw',
  '19 17 8:1 /home/me/ws/a /home/me/ws/a rw - ext4 /dev/sda rw',
  '20 19 8:1 /home/me/ws/a/.git /home/me/ws/a/.git ro - ext4 /dev/sda rw',
  '21 17 0:44 / /home/me/ws/data ro - tmpfs tmpfs rw',
  '22 17 0:5 /null /home/me/ws/key ro - devtmpfs dev rw',
];

describe('the mounts of a sandbox', () => {
  const check = (lines: readonly string[]): string | undefined => {
    const workspace = { path: '/home/me/ws' } as Parameters<typeof findUnasked>[2]['workspace'];
    return findUnasked(parseMounts(lines.join('\n')), OUTSIDE, { workspace, shown: ['/usr'], shields: SHIELDS });
  };
  const without = (point: string): readonly string[] => GOOD.filter((line) => line.split(' ')[4] !== point);

  test('are accepted as they were asked for', () => expect(check(GOOD)).toBeUndefined());

  test.each([
    ['the home directory, writable', '30 10 8:1 /home /home rw - ext4 /dev/sda rw', '/home'],
    ['a directory over the programs', '30 10 8:1 /home/me/ws/x /usr/bin ro - ext4 /dev/sda rw', '/usr/bin'],
    ['the home directory, in /tmp', '30 10 8:1 /home/me /tmp/x rw - ext4 /dev/sda rw', '/tmp/x'],
    ['a file system of the user, in /dev', '30 10 0:9 / /dev/shm rw - tmpfs tmpfs rw', '/dev/shm'],
    ['the parent of the workspace in it', '30 17 8:1 /home/me /home/me/ws/a rw - ext4 /dev/sda rw', '/home/me/ws/a'],
    [
      'a path in the workspace that was not asked for',
      '30 17 8:1 /home/me/ws/b /home/me/ws/b rw - ext4 s rw',
      '/home/me/ws/b',
    ],
    [
      'a git directory once more, writable',
      '30 20 8:1 /home/me/ws/a/.git /home/me/ws/a/.git rw - ext4 s rw',
      '/home/me/ws/a/.git',
    ],
    ['what was hidden, above', '30 21 8:1 /home/me/ws/data /home/me/ws/data ro - ext4 s rw', '/home/me/ws/data'],
    ['another root', '30 10 8:1 / / rw - ext4 /dev/sda rw', '/'],
  ])('are refused with %s', (_, line, point) => {
    expect(check([...GOOD, line])).toBe(point);
  });

  test.each(['/home/me/ws', '/home/me/ws/a', '/home/me/ws/a/.git', '/home/me/ws/data', '/home/me/ws/key'])(
    'are refused without %s',
    (point) => {
      expect(check(without(point))).toBe(point);
    },
  );

  test('of this process are read with their options and types', () => {
    const mounts: readonly Mount[] = parseMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
    expect(mounts.find(({ point }) => point === '/proc')?.type).toBe('proc');
    expect(parseMounts(GOOD[5] ?? '')).toEqual([
      { device: '0:5', root: '/null', point: '/dev/null', readOnly: false, type: 'devtmpfs' },
    ]);
  });
});

test.runIf(hasBwrap)('a command cannot choose what is mounted by a link on the way to a protected path', async () => {
  const files = makeWorkspace({ 'src/a.txt': 'a' });
  const around = dirname(files.path);
  mkdirSync(join(around, 'secret'));
  const protect = [files.at('later/secret')];
  const host = await openHost({ workspace: files.path, tempDir: files.tempDir, protect, now: () => 0 });
  const sh = (script: string): Promise<HostOutcome> =>
    host.run('host.exec', { argv: ['sh', '-c', script] }, callContext());
  expect((await sh('ln -s .. later')).text).toMatch(/later was moved to later\.quarantined-/);
  symlinkSync('..', files.at('later'));
  expect(await sh(`ls ${around}`)).toMatchObject({ success: false, code: 'forbidden' });
  rmSync(files.at('later'));
  expect((await sh(`ls ${around}`)).text).not.toContain('secret');
  await host.close();
  files.remove();
});
