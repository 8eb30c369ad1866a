// A patch over several files is written completely or not at all: after an error at any step, and after the process is
// killed at any step and another host opens the workspace.
import { buildSync } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHost } from '../../../bridge/host/open-host.ts';
import { type StepHook, writeChanges } from '../../../bridge/host/patch/write-changes.ts';
import { parsePatch } from '../../../bridge/host/patch/parse-patch.ts';
import { recoverPatches } from '../../../bridge/host/patch/recover-patches.ts';
import { stagePatch } from '../../../bridge/host/patch/stage-patch.ts';
import { openWorkspace } from '../../../bridge/host/workspace/workspace.ts';
import { type TestWorkspace, makeWorkspace } from '../../support/host/workspace.ts';

const PATCH = `*** Begin Patch
*** Update File: a.txt
@@
-one
+ONE
*** Update File: b.txt
*** Move to: new/dir/b.txt
@@
-two
+TWO
*** Delete File: c.txt
*** Add File: other/d.txt
+four
*** End Patch`;

const BEFORE = ['a.txt=one\n', 'b.txt=two\n', 'c.txt=three\n'];
const AFTER = ['a.txt=ONE\n', 'new/', 'new/dir/', 'new/dir/b.txt=TWO\n', 'other/', 'other/d.txt=four'];

const prepare = (): TestWorkspace => {
  const files = makeWorkspace({ 'a.txt': 'one\n', 'b.txt': 'two\n', 'c.txt': 'three\n' });
  mkdirSync(join(files.tempDir, 'patches'), { recursive: true });
  return files;
};
const contents = (files: TestWorkspace): readonly string[] =>
  files.list().map((name) => (name.endsWith('/') ? name : `${name}=${files.read(name)}`));
const manifests = (files: TestWorkspace): string => join(files.tempDir, 'patches');

function writePatch(files: TestWorkspace, onStep: StepHook): void {
  const workspace = openWorkspace(files.path);
  try {
    writeChanges(workspace, manifests(files), stagePatch(workspace, parsePatch(PATCH)).changes, onStep);
  } finally {
    workspace.close();
  }
}

const steps: string[] = [];
const files = prepare();
writePatch(files, (step) => steps.push(step));
const written = contents(files);
files.remove();

test('the steps are those that the tests below stop at', () => {
  expect(steps).toEqual([
    'manifest written',
    'staged 1',
    'staged 4',
    'staged 5',
    'staged',
    'published 1',
    'published 2',
    'published 3',
    'published 4',
    'published 5',
    'done',
  ]);
  expect(written).toEqual(AFTER);
});

describe('an error', () => {
  test.each(steps.filter((step) => step !== 'done'))('after "%s" leaves every file as it was', (step) => {
    const files = prepare();
    expect(() =>
      writePatch(files, (now) => {
        if (now === step) throw new Error('the disk is gone');
      }),
    ).toThrow(/all files are as they were before/);
    expect(contents(files)).toEqual(BEFORE);
    expect(readdirSync(manifests(files))).toEqual([]);
    files.remove();
  });
});

describe('a crash', () => {
  const program = join(tmpdir(), `refold-crash-${process.pid}.mjs`);
  beforeAll(() => {
    // The real code in a process that is killed: no handler and no `finally` runs.
    const from = (path: string): string =>
      JSON.stringify(fileURLToPath(new URL(`../../../bridge/host/${path}`, import.meta.url)));
    buildSync({
      stdin: {
        contents: `
          import { writeChanges } from ${from('patch/write-changes.ts')};
          import { parsePatch } from ${from('patch/parse-patch.ts')};
          import { stagePatch } from ${from('patch/stage-patch.ts')};
          import { openWorkspace } from ${from('workspace/workspace.ts')};
          const [path, manifests, patch, step] = process.argv.slice(2);
          const workspace = openWorkspace(path);
          writeChanges(workspace, manifests, stagePatch(workspace, parsePatch(patch)).changes, (now) => {
            if (now === step) process.kill(process.pid, 'SIGKILL');
          });`,
        loader: 'ts',
        resolveDir: fileURLToPath(new URL('.', import.meta.url)),
      },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: program,
    });
  });
  afterAll(() => rmSync(program, { force: true }));

  const crash = (files: TestWorkspace, step: string): void => {
    const { signal } = spawnSync(process.execPath, [program, files.path, manifests(files), PATCH, step]);
    expect(signal).toBe('SIGKILL');
  };
  const reopen = async (files: TestWorkspace): Promise<void> => {
    const host = await openHost({ workspace: files.path, tempDir: files.tempDir, sandbox: 'none', now: () => 0 });
    await host.close();
  };

  test.each(steps)('after "%s" is finished or rolled back by the next host', async (step) => {
    const files = prepare();
    crash(files, step);
    await reopen(files);
    const publishing = steps.indexOf(step) >= steps.indexOf('staged');
    expect(contents(files)).toEqual(publishing ? AFTER : BEFORE);
    expect(readdirSync(manifests(files))).toEqual([]);
    // A second recovery changes nothing.
    await reopen(files);
    expect(contents(files)).toEqual(publishing ? AFTER : BEFORE);
    files.remove();
  });

  test('leaves a file unchanged that changed after the crash, and reports it', () => {
    const files = prepare();
    crash(files, 'published 1');
    writeFileSync(files.at('c.txt'), 'precious');
    const workspace = openWorkspace(files.path);
    expect(recoverPatches(workspace, manifests(files))).toEqual({
      finished: 1,
      rolledBack: 0,
      conflicts: ['c.txt'],
      unreadable: [],
    });
    workspace.close();
    expect(files.read('c.txt')).toBe('precious');
    expect(files.list().filter((name) => name.includes('.tmp'))).toEqual([]);
    files.remove();
  });

  test('is told to a person where a file changed after the crash, or what is left cannot be read', async () => {
    const files = prepare();
    crash(files, 'published 1');
    writeFileSync(files.at('c.txt'), 'precious');
    // A directory cannot be read as a file, by any user.
    const unreadable = join(manifests(files), 'x.patch.json');
    mkdirSync(unreadable);
    const host = await openHost({ workspace: files.path, tempDir: files.tempDir, sandbox: 'none', now: () => 0 });
    expect(host.recoveryNotes).toEqual([
      expect.stringMatching(/^a patch was being written .*, and c\.txt has been changed since: it is left as it is/),
      expect.stringContaining(`${unreadable} cannot be read`),
    ]);
    await host.close();
    files.remove();
  });

  test.runIf(process.platform === 'linux')('leaves the patch of a running process unchanged', () => {
    const files = prepare();
    crash(files, 'staged');
    const path = join(manifests(files), readdirSync(manifests(files))[0] ?? '');
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as object;
    const workspace = openWorkspace(files.path);
    const before = contents(files);
    const ownedBy = (started: string): void =>
      writeFileSync(path, JSON.stringify({ ...manifest, owner: { pid: process.ppid, started } }));
    // proc(5), field 22: the start time.
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    ownedBy(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '');
    expect(recoverPatches(workspace, manifests(files))).toEqual({
      finished: 0,
      rolledBack: 0,
      conflicts: [],
      unreadable: [],
    });
    expect(contents(files)).toEqual(before);
    // A process with the same pid that started at another time is another process.
    ownedBy('0');
    expect(recoverPatches(workspace, manifests(files))).toEqual({
      finished: 1,
      rolledBack: 0,
      conflicts: [],
      unreadable: [],
    });
    expect(contents(files)).toEqual(AFTER);
    workspace.close();
    files.remove();
  });

  test('leaves a manifest of another workspace and a corrupt manifest unchanged', () => {
    const files = prepare();
    crash(files, 'staged');
    const [name] = readdirSync(manifests(files));
    const path = join(manifests(files), name ?? '');
    const workspace = openWorkspace(files.path);
    const before = contents(files);
    for (const broken of ['', '{"version":1}', '[]', JSON.stringify({ version: 1, workspace: '/elsewhere' })]) {
      writeFileSync(path, broken);
      expect(recoverPatches(workspace, manifests(files))).toEqual({
        finished: 0,
        rolledBack: 0,
        conflicts: [],
        unreadable: [],
      });
      expect(contents(files)).toEqual(before);
    }
    workspace.close();
    files.remove();
  });
});

test('a file that is created while the patch is written is not replaced', () => {
  const files = prepare();
  expect(() =>
    writePatch(files, (step) => {
      if (step === 'staged') files.write('other/d.txt', 'mine');
    }),
  ).toThrow(/other\/d.txt changed while the patch was written; all files are as they were before/);
  expect(contents(files)).toEqual([...BEFORE, 'other/', 'other/d.txt=mine']);
  files.remove();
});
