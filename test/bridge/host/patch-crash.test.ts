// A patch over several files is all there or not at all: after an error at any step, and after the process was
// killed at any step and another one opened the workspace.
import { buildSync } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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
const journal = (files: TestWorkspace): string => join(files.tempDir, 'patches');

function commit(files: TestWorkspace, probe: StepHook): void {
  const workspace = openWorkspace(files.path);
  try {
    writeChanges(workspace, journal(files), stagePatch(workspace, parsePatch(PATCH)).changes, probe);
  } finally {
    workspace.close();
  }
}

const steps: string[] = [];
const files = prepare();
commit(files, (step) => steps.push(step));
const written = contents(files);
files.remove();

test('the steps are those that the tests below end at', () => {
  expect(steps).toEqual([
    'journalled',
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
      commit(files, (now) => {
        if (now === step) throw new Error('the disk is gone');
      }),
    ).toThrow(/all files are as they were/);
    expect(contents(files)).toEqual(BEFORE);
    expect(readdirSync(journal(files))).toEqual([]);
    files.remove();
  });
});

describe('a crash', () => {
  const program = join(tmpdir(), `refold-crash-${process.pid}.mjs`);
  beforeAll(() => {
    // The real code in a real process that is really killed: no handler and no `finally` runs.
    const from = (path: string): string =>
      JSON.stringify(fileURLToPath(new URL(`../../../bridge/host/${path}`, import.meta.url)));
    buildSync({
      stdin: {
        contents: `
          import { writeChanges } from ${from('patch/write-changes.ts')};
          import { parsePatch } from ${from('patch/parse-patch.ts')};
          import { stagePatch } from ${from('patch/stage-patch.ts')};
          import { openWorkspace } from ${from('workspace/workspace.ts')};
          const [path, journal, patch, step] = process.argv.slice(2);
          const workspace = openWorkspace(path);
          writeChanges(workspace, journal, stagePatch(workspace, parsePatch(patch)).changes, (now) => {
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
    const { signal } = spawnSync(process.execPath, [program, files.path, journal(files), PATCH, step]);
    expect(signal).toBe('SIGKILL');
  };
  const reopen = async (files: TestWorkspace): Promise<void> => {
    const host = await openHost({ workspace: files.path, tempDir: files.tempDir, sandbox: 'none', now: () => 0 });
    await host.close();
  };

  test.each(steps)('after "%s" is finished or undone by the next host', async (step) => {
    const files = prepare();
    crash(files, step);
    await reopen(files);
    const begun = steps.indexOf(step) >= steps.indexOf('staged');
    expect(contents(files)).toEqual(begun ? AFTER : BEFORE);
    expect(readdirSync(journal(files))).toEqual([]);
    // Doing it again finds nothing to do.
    await reopen(files);
    expect(contents(files)).toEqual(begun ? AFTER : BEFORE);
    files.remove();
  });

  test('leaves alone what someone changed since, and says which', () => {
    const files = prepare();
    crash(files, 'published 1');
    writeFileSync(files.at('c.txt'), 'precious');
    const workspace = openWorkspace(files.path);
    expect(recoverPatches(workspace, journal(files))).toEqual({ finished: 1, undone: 0, conflicts: ['c.txt'] });
    workspace.close();
    expect(files.read('c.txt')).toBe('precious');
    expect(files.list().filter((name) => name.includes('.tmp'))).toEqual([]);
    files.remove();
  });

  test('leaves alone a patch of a process that lives, one of another workspace, and a broken record', () => {
    const files = prepare();
    crash(files, 'staged');
    const [name] = readdirSync(journal(files));
    const path = join(journal(files), name ?? '');
    const workspace = openWorkspace(files.path);
    const before = contents(files);
    for (const broken of ['', '{"version":1}', '[]', JSON.stringify({ version: 1, workspace: '/elsewhere' })]) {
      writeFileSync(path, broken);
      expect(recoverPatches(workspace, journal(files))).toEqual({ finished: 0, undone: 0, conflicts: [] });
      expect(contents(files)).toEqual(before);
    }
    workspace.close();
    files.remove();
  });
});

test('a file that appears while the patch is written is not replaced', () => {
  const files = prepare();
  expect(() =>
    commit(files, (step) => {
      if (step === 'staged') files.write('other/d.txt', 'mine');
    }),
  ).toThrow(/other\/d.txt changed while the patch was written; all files are as they were/);
  expect(contents(files)).toEqual([...BEFORE, 'other/', 'other/d.txt=mine']);
  files.remove();
});
