// The programs that run outside every sandbox: refold's package, what it imports, node, and the helper programs. A tool that
// could write one would run code as the user at the next `npx refold`.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { programDirectories } from '../../../bridge/host/exec/find-program.ts';
import { findHelper } from '../../../src/files/helper-programs.ts';
import { openHost } from '../../../bridge/host/open-host.ts';
import { openOwnCode, refuseOwnCode } from '../../../bridge/host/workspace/own-code.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { until } from '../../support/host/condition.ts';
import {
  type TestHost,
  type TestWorkspace,
  callContext,
  makeHost,
  makeWorkspace,
} from '../../support/host/workspace.ts';

const probe = await makeHost();
const hasBwrap = probe.sandbox === 'bwrap';
if (!hasBwrap) process.stderr.write(`refold's own code in a sandbox is NOT tested here: ${probe.sandboxNote}\n`);
await probe.end();

const MAIN = 'node_modules/refold/dist/src/cli/main.js';
/** A project in which refold is installed. */
const PROJECT = {
  [MAIN]: 'true refold',
  'node_modules/.bin/refold': 'true refold',
  'node_modules/level/index.js': 'true level',
  'src/a.txt': 'a',
};

const withFiles = (files: Readonly<Record<string, string>>, use: (workspace: TestWorkspace) => void): void => {
  const workspace = makeWorkspace(files);
  try {
    use(workspace);
  } finally {
    workspace.remove();
  }
};

const withProject = async (use: (host: TestHost) => Promise<void>): Promise<void> => {
  const host = await makeHost(PROJECT);
  try {
    await use(host);
    for (const [name, text] of Object.entries(PROJECT)) expect([name, host.workspace.read(name)]).toEqual([name, text]);
    expect(existsSync(host.workspace.at('node_modules/new'))).toBe(false);
  } finally {
    await host.end();
  }
};

describe.runIf(hasBwrap)('a workspace in which refold is installed', () => {
  const patch = (lines: string): JsonObject => ({ patch: `*** Begin Patch\n${lines}\n*** End Patch` });
  const WRITES: readonly (readonly [string, JsonObject])[] = [
    ['host.fs.write_file', { path: MAIN, text: 'planted' }],
    ['host.fs.write_file', { path: 'NODE_MODULES/.bin/refold', text: 'planted', create_parents: true }],
    ['host.fs.write_file', { path: 'node_modules/new/index.js', text: 'planted', create_parents: true }],
    ['host.fs.edit_file', { path: 'node_modules/level/index.js', old_string: 'true', new_string: 'planted' }],
    ['host.fs.apply_patch', patch('*** Add File: node_modules/new/x.js\n+planted')],
    ['host.fs.apply_patch', patch(`*** Delete File: ${MAIN}`)],
    ['host.fs.apply_patch', patch('*** Update File: src/a.txt\n*** Move to: node_modules/new/a\n@@\n-a\n+b')],
  ];

  test('lets file tools and undo read it, and write none of it', () =>
    withProject(async (host) => {
      for (const [tool, args] of WRITES) {
        const { success, code, text } = await host.call(tool, args);
        const wanted = tool === 'host.fs.apply_patch' ? 'path_forbidden' : 'forbidden';
        expect([args, success, code]).toEqual([args, false, wanted]);
        expect(text).toContain('programs that refold itself runs');
      }
      const put = { path: MAIN, before: Buffer.from('planted'), after_digest: null };
      expect(host.restore([put])).toMatchObject({ success: false, code: 'forbidden' });
      expect((await host.call('host.fs.read_file', { path: MAIN })).text).toContain('true refold');
      expect(await host.call('host.fs.write_file', { path: 'src/b.txt', text: 'b' })).toMatchObject({ success: true });
    }));

  test('lets commands read it, and neither write nor move it', () =>
    withProject(async (host) => {
      const sh = async (script: string) => (await host.call('host.exec', { argv: ['sh', '-c', script] })).data;
      for (const script of [
        `echo planted > ${MAIN}`,
        'ln -sf /bin/true node_modules/.bin/refold',
        'mkdir node_modules/new',
        'mv node_modules away',
        'mv node_modules/refold node_modules/new',
        'rm -rf node_modules/level',
        `ln ${MAIN} alias && echo planted > alias`,
        'umount node_modules',
      ]) {
        expect([script, (await sh(script))?.['exit_code']]).not.toEqual([script, 0]);
      }
      expect((await sh(`cat ${MAIN} && echo b > src/c.txt`))?.['exit_code']).toBe(0);
    }));
});

describe.runIf(hasBwrap)('a command that makes what `npx refold` would run', () => {
  // The whole workspace would be own code, or a part of it that the command chooses, or another program would run.
  test.each([
    ['a link to the workspace', 'mkdir node_modules; ln -s .. node_modules/refold', 'node_modules/refold'],
    ['a link around it', 'mkdir node_modules; ln -s ../.. node_modules/refold', 'node_modules/refold'],
    ['a link into it', 'mkdir node_modules; ln -s ../src node_modules/refold', 'node_modules/refold'],
    ['a package', 'mkdir -p node_modules/refold/dist; touch node_modules/refold/package.json', 'node_modules/refold'],
    ['a program', 'mkdir -p node_modules/.bin; touch node_modules/.bin/refold', 'node_modules/.bin/refold'],
    ['a link instead of the directory', 'mkdir x; ln -s .. x/refold; ln -s x node_modules', 'node_modules'],
  ])('as %s leaves it under another name, and locks nothing', async (_, script, planted) => {
    const files = makeWorkspace({ 'src/a.txt': 'a' });
    const options = { workspace: files.path, tempDir: files.tempDir, now: (): number => 0 };
    const host = await openHost(options);
    const whileOther = host.run('host.exec', { argv: ['sh', '-c', `${script}; read -r end < src/end`] }, callContext());
    spawnSync('mkfifo', ['-m', '666', files.at('src/end')]);
    await until('the link is there', () => lstatSync(files.at(planted), { throwIfNoEntry: false }) !== undefined);
    const write = (name: string): Promise<HostOutcome> =>
      host.run('host.fs.write_file', { path: name, text: 'x' }, callContext());
    expect(await write('src/b.txt')).toMatchObject({ success: true });
    expect(await write(`${planted}/x.js`)).toMatchObject({ success: false });
    writeFileSync(files.at('src/end'), 'end\n');
    expect((await whileOther).text).toContain(`[${planted} was moved to ${planted}.quarantined-`);
    expect(await write('src/c.txt')).toMatchObject({ success: true });
    await host.close();
    const next = await openHost(options);
    expect(await next.run('host.exec', { argv: ['touch', 'src/d.txt'] }, callContext())).toMatchObject({
      data: { exit_code: 0 },
    });
    await next.close();
    files.remove();
  });

  test('and is killed with its host has it moved before the next host reads what its own code is', async () => {
    const files = makeWorkspace({ 'src/a.txt': 'a' });
    mkdirSync(files.tempDir);
    const record = { workspace: files.path, known: [] };
    writeFileSync(join(files.tempDir, 'git-1.0.0.0.json'), JSON.stringify(record));
    mkdirSync(files.at('node_modules'));
    symlinkSync('..', files.at('node_modules/refold'));
    const host = await openHost({ workspace: files.path, tempDir: files.tempDir, now: () => 0 });
    expect(host.gitQuarantined).toMatchObject([{ path: 'node_modules/refold' }]);
    await host.close();
    files.remove();
  });
});

test('a workspace in which refold is installed is refused without a sandbox, except to put files back', async () => {
  const files = makeWorkspace(PROJECT);
  const options = { workspace: files.path, tempDir: files.tempDir, sandbox: 'none' as const, now: () => 0 };
  await expect(openHost(options)).rejects.toThrow(
    /contains .*node_modules, whose programs .*; install refold and node/,
  );
  await (await openHost({ ...options, runsCommands: false })).close();
  files.remove();
});

test("refold's own checkout is refused as a workspace, with what to do", async () => {
  const checkout = dirname(dirname(dirname(import.meta.dirname)));
  for (const workspace of [checkout, join(checkout, 'src')])
    await expect(openHost({ workspace, now: () => 0 })).rejects.toThrow(
      /lies in .*run a copy that is installed outside/,
    );
});

describe('own code in a workspace', () => {
  test('is what it was when it was first asked for, and never the workspace itself', () => {
    withFiles({ 'packages/refold/x': '', 'node_modules/x': '', 'src/x': '' }, (files) => {
      mkdirSync(files.tempDir);
      const running = { package: files.tempDir, node: process.execPath };
      symlinkSync('..', files.at('node_modules/refold'));
      const code = openOwnCode(files.path, running);
      expect(code.shown()).toEqual([files.at('node_modules')]);
      renameSync(files.at('node_modules/refold'), files.at('node_modules/away'));
      symlinkSync('../src', files.at('node_modules/refold'));
      expect(code.shown()).toEqual([files.at('node_modules')]);
      expect(openOwnCode(files.path, running).shown()).toContain(files.at('src'));
    });
  });

  const found = (files: TestWorkspace, packagePath: string, node = process.execPath): readonly string[] =>
    openOwnCode(files.path, { package: files.at(packagePath), node })
      .shown()
      .map((place) => place.slice(files.path.length + 1))
      .toSorted();

  test('is the package, where its imports are looked up, and what npx would run', () => {
    withFiles({ [MAIN]: '', 'node_modules/node/bin/node': '' }, (files) => {
      expect(found(files, 'node_modules/refold', files.at('node_modules/node/bin/node'))).toEqual(['node_modules']);
    });
    withFiles({ 'a/packages/refold/x': '', 'nvm/bin/node': '' }, (files) => {
      expect(found(files, 'a/packages/refold', files.at('nvm/bin/node'))).toEqual([
        'a/node_modules',
        'a/packages/node_modules',
        'a/packages/refold',
        'node_modules',
        'nvm/bin',
      ]);
    });
  });

  test('is also a refold that does not run now', () => {
    withFiles({ 'packages/refold/x': '', 'node_modules/.bin/x': '' }, (files) => {
      const elsewhere = `../${basename(files.tempDir)}`;
      mkdirSync(files.tempDir);
      expect(found(files, elsewhere)).toEqual([]);
      symlinkSync('../packages/refold', files.at('node_modules/refold'));
      expect(found(files, elsewhere)).toEqual(['node_modules', 'packages/node_modules', 'packages/refold']);
    });
  });

  test('is refused behind a link, which a command could replace', () => {
    withFiles(PROJECT, (files) => {
      renameSync(files.at('node_modules'), files.at('deps'));
      symlinkSync('deps', files.at('node_modules'));
      expect(() => refuseOwnCode(files.path)).toThrow(/node_modules, in which refold is looked up, is a symbolic link/);
    });
  });
});

const plant = (files: TestWorkspace, name: string): void => {
  files.write(name, '#!/bin/sh\nexit 0\n');
  chmodSync(files.at(name), 0o755);
};

test('helper programs are not looked up beside node, which a project may contain', () => {
  withFiles({}, (files) => {
    const node = process.execPath;
    for (const name of ['node', 'bwrap', 'sh', 'prlimit']) plant(files, `bin/${name}`);
    process.execPath = files.at('bin/node');
    try {
      expect(programDirectories()[0]).toBe(files.at('bin'));
      for (const name of ['bwrap', 'sh', 'prlimit']) expect(findHelper(name) ?? '').not.toContain(files.path);
    } finally {
      process.execPath = node;
    }
  });
});
