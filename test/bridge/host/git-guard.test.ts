// Git directories of the workspace: those it has are read-only for tools and sandboxed commands, and a new one does not stay
// where git would find it.
import { Buffer } from 'node:buffer';
import { execFileSync, spawnSync } from 'node:child_process';
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { GIT_ENTRIES_MAX, GIT_NOTES_MAX } from '../../../schemas/limits.ts';
import { gitNotes, openGitGuard } from '../../../bridge/host/git/git-guard.ts';
import { type GitEntry, findGitEntries } from '../../../bridge/host/git/git-entries.ts';
import { openRecord, tellOthers } from '../../../bridge/host/git/git-records.ts';
import { quarantine } from '../../../bridge/host/git/quarantine.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { openHost } from '../../../bridge/host/open-host.ts';
import { openWorkspace } from '../../../bridge/host/workspace/workspace.ts';
import { until } from '../../support/host/condition.ts';
import { type TestHost, callContext, makeHost, makeWorkspace, withHost } from '../../support/host/workspace.ts';

const probe = await makeHost();
const hasBwrap = probe.sandbox === 'bwrap';
if (!hasBwrap) process.stderr.write(`git directories in a sandbox are NOT tested here: ${probe.sandboxNote}\n`);
await probe.end();
const hasGit = spawnSync('git', ['--version']).status === 0;
if (!hasGit) process.stderr.write('what git makes of a planted directory is NOT tested here: git is not installed\n');

const sh = (host: TestHost, script: string, sessionId = 's-1'): Promise<HostOutcome> =>
  host.call('host.exec', { argv: ['sh', '-c', script] }, { sessionId });

/** Makes a directory that git accepts and that runs `touch ran` when git looks at the state of the files. */
const REPOSITORY = (path: string): string =>
  `mkdir -p ${path}/objects ${path}/refs && echo 'ref: refs/heads/x' > ${path}/HEAD && ` +
  `printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = touch /tmp/never; false\\n' "$PWD" > ${path}/config`;

describe.runIf(hasBwrap)('a git directory that a sandboxed command makes', () => {
  const PLANTED: readonly (readonly [what: string, script: string, path: string])[] = [
    ['at the root', REPOSITORY('.git'), '.git'],
    ['in a new directory', `mkdir -p a/b && ${REPOSITORY('a/b/.git')}`, 'a/b/.git'],
    ['in a directory that was there', REPOSITORY('src/.git'), 'src/.git'],
    ['as a file that names another one', `${REPOSITORY('store')}; echo 'gitdir: store' > .git`, '.git'],
    ['as a link', `mkdir real; ln -s real .git`, '.git'],
    ['in capitals', 'mkdir .GIT', '.GIT'],
    ['empty', 'mkdir .git', '.git'],
    ['in a directory that cannot be written', `mkdir ro && ${REPOSITORY('ro/.git')} && chmod 555 ro`, 'ro/.git'],
    ['in a directory that cannot be listed', `mkdir dark && ${REPOSITORY('dark/.git')} && chmod 311 dark`, 'dark/.git'],
    [
      'below a directory that cannot be listed',
      `mkdir -p dim/x && ${REPOSITORY('dim/x/.git')} && chmod 311 dim`,
      'dim/x/.git',
    ],
    [
      'below a directory without rights',
      `mkdir -p shut/x && ${REPOSITORY('shut/x/.git')} && chmod 0 shut/x && chmod 200 shut`,
      'shut/x/.git',
    ],
    [
      'in a directory that can be listed and not entered',
      `mkdir flat && ${REPOSITORY('flat/.git')} && chmod 600 flat`,
      'flat/.git',
    ],
    ['behind the content of one', `${REPOSITORY('bare')}; ${REPOSITORY('bare/.git')}`, 'bare/.git'],
    ['under another name, then renamed', `${REPOSITORY('later')}; mv later .git`, '.git'],
    ['of Mercurial', 'mkdir .hg && echo "[hooks]" > .hg/hgrc', '.hg'],
    ['of Mercurial, in a directory that cannot be listed', 'mkdir -p hid/.hg && chmod 311 hid', 'hid/.hg'],
    ['of Sapling', 'mkdir -p .sl && echo "[hooks]" > .sl/config', '.sl'],
    ['of Darcs', 'mkdir -p a/_darcs/prefs', 'a/_darcs'],
    ['of Pijul', 'mkdir .pijul && echo "[hooks]" > .pijul/config', '.pijul'],
    ['of Bazaar', 'mkdir -p .bzr/branch', '.bzr'],
    ['of Monotone', 'mkdir _MTN && touch _MTN/monotonerc', '_MTN'],
    ['of Fossil', 'touch .fslckout', '.fslckout'],
    ['of Fossil, by its other name', 'touch _FOSSIL_', '_FOSSIL_'],
    ['of repo', 'mkdir -p .repo/repo && touch .repo/repo/main.py', '.repo'],
    ['of Jujutsu', 'mkdir -p sub/.jj/repo && echo x > sub/.jj/repo/config.toml', 'sub/.jj'],
  ];

  test('is moved, wherever and however it was made, and the result says so', async () => {
    const files = PLANTED.map((_, index): [string, string] => [`${index}/src/x.txt`, 'x']);
    await withHost(Object.fromEntries(files), async (host) => {
      const outcome = await sh(host, PLANTED.map(([, script], index) => `(cd ${index}; ${script})`).join('\n'));
      expect(outcome).toMatchObject({ success: true, data: { exit_code: 0, git_quarantined: PLANTED.length + 2 } });
      expect(outcome.text).toMatch(/\[0\/\.git was moved to 0\/\.git\.quarantined-[0-9a-f]{8}\]/);
      chmodSync(host.workspace.at('8/dark'), 0o755);
      const left = host.workspace.list();
      for (const [index, [what, , path]] of PLANTED.entries()) {
        const found = left.filter((name) => name === `${index}/${path}` || name === `${index}/${path}/`);
        expect([what, found]).toEqual([what, []]);
      }
    });
  });

  test('without that name is moved too: git accepts its content', () =>
    withHost({}, async (host) => {
      const outcome = await sh(
        host,
        `${REPOSITORY('lib')}; mkdir tree && echo x > tree/HEAD && echo ../lib > tree/commondir`,
      );
      expect(outcome.text).toMatch(/\[lib was moved to lib\/HEAD\.quarantined-/);
      expect(outcome.text).toMatch(/\[tree was moved to tree\/HEAD\.quarantined-/);
      expect(host.workspace.list()).not.toContain('lib/HEAD');
    }));

  test('below a directory whose name is not UTF-8 is moved too, and the result shows the bytes', () =>
    withHost({}, async (host) => {
      const script = `d=$(printf 'src\\377'); mkdir "$d" 'src\ufffd' && cd "$d" && ${REPOSITORY('.git')} && ${REPOSITORY('é/b')}`;
      const { text } = await sh(host, script);
      expect(text).toMatch(/\["src\\xff\/\.git" was moved to "src\\xff\/\.git\.quarantined-[0-9a-f]{8}"\]/);
      expect(text).toMatch(/\["src\\xff\/é\/b" was moved to "src\\xff\/é\/b\/HEAD\.quarantined-/);
      expect((await sh(host, 'ls -A src?')).text).toMatch(/^\.git\.quarantined-[0-9a-f]{8}\né$/m);
    }));

  test.runIf(hasGit)('runs nothing for a person who uses git afterwards, wherever they stand', () =>
    withHost({ 'src/x.txt': 'x' }, async (host) => {
      const ran = host.workspace.at('ran');
      const plant = (path: string): string =>
        `git init -q ${path} && git -C ${path} config core.fsmonitor 'touch ${ran}; false' && touch ${path}/f`;
      await sh(
        host,
        [
          plant('.'),
          plant('src'),
          'git init -q --bare n',
          `git -C n config core.fsmonitor 'touch ${ran}; false'`,
          'git -C n config core.bare false',
          `git -C n config core.worktree ${host.workspace.path}`,
        ].join(' && '),
      );
      const ask = (cwd: string) =>
        spawnSync('git', ['-c', 'safe.directory=*', 'status'], {
          cwd,
          env: { PATH: process.env['PATH'], GIT_CEILING_DIRECTORIES: '/tmp' },
        });
      expect(['.', 'src', 'n'].map((name) => ask(host.workspace.at(name)).status)).toEqual([128, 128, 128]);
      expect(existsSync(ran)).toBe(false);
    }),
  );

  test.runIf(hasGit)('takes every repository in it out of sight, too, at any depth and by any name', () =>
    withHost({}, async (host) => {
      const ran = host.workspace.at('ran');
      const made = ['.git', '.git/.git', '.git/.git/.git', '.git/modules/x', 'pkg/.git', 'pkg/.git/.git/sub/.git'];
      const hidden = ['.hg/.git', '.jj/repo/.git', 'p/.git/a/b/bare'];
      const plant = (path: string): string =>
        `mkdir -p ${path} && git init -q --bare ${path} && git -C ${path} config core.bare false && ` +
        `git -C ${path} config core.fsmonitor 'touch ${ran}; false'`;
      const { text, data } = await sh(host, ['chmod 777 .', ...[...made, ...hidden].map(plant)].join(' && '));
      expect(data).toMatchObject({ exit_code: 0, git_quarantined: 13 });
      expect(text).toMatch(
        /\[\.git\/\.git was moved to \.git\.quarantined-[0-9a-f]{8}\/\.git\.quarantined-[0-9a-f]{8}\]/,
      );
      const directories = ['.', ...host.workspace.list().filter((name) => name.endsWith('/'))];
      const env = { PATH: process.env['PATH'], GIT_CEILING_DIRECTORIES: '/tmp' };
      const ask = (name: string) =>
        spawnSync('git', ['-c', 'safe.directory=*', 'rev-parse'], { cwd: host.workspace.at(name), env }).status;
      const places = directories.filter((name) => !/\/(?:objects|refs|hooks|info|branches)\//.test(name));
      expect(places.filter((name) => ask(name) === 0)).toEqual([]);
      expect(existsSync(ran)).toBe(false);
    }),
  );

  test('stays while another command runs, and is moved when that one has ended', () =>
    withHost({}, async (host) => {
      const long = sh(host, 'touch began; while [ ! -e go ]; do sleep 0.02; done', 's-2');
      await until('the command began', () => existsSync(host.workspace.at('began')));
      expect((await sh(host, 'mkdir sub sub/.git')).text).not.toContain('moved');
      host.workspace.write('go', '');
      expect((await long).text).toContain('[sub/.git was moved to ');
    }));

  test('is moved when the host closes while the command runs, and by the next host when this one was killed', () =>
    withHost({ 'own/.git/HEAD': 'x' }, async (host) => {
      const running = sh(host, 'mkdir .git; touch began; sleep 100');
      await until('the command began', () => existsSync(host.workspace.at('began')));
      // What a killed host leaves: the record of what it knew, under the tag of a process that has ended.
      const { tempDir } = host.workspace;
      const record = execFileSync('sh', ['-c', 'cat git-*.json'], { cwd: tempDir, encoding: 'utf8' });
      await host.close();
      await running;
      expect(host.workspace.list().filter((name) => name.startsWith('.git'))).toEqual([
        expect.stringMatching(/^\.git\.quarantined-[0-9a-f]{8}\/$/),
      ]);
      mkdirSync(host.workspace.at('late/.git'), { recursive: true });
      writeFileSync(join(tempDir, 'git-1.1.0.0.json'), record);
      const next = await makeNext(host);
      const moved = next.gitQuarantined.map(({ path }) => path);
      await next.close();
      expect(moved).toContain('late/.git');
      expect(moved).not.toContain('own/.git');
    }));
});

describe.runIf(hasBwrap)('what a killed host must undo', () => {
  test('is undone by the next one also when all temporary files are gone', async () => {
    const files = makeWorkspace({});
    const open = (temp: string) =>
      openHost({
        workspace: files.path,
        stateDir: `${files.tempDir}-state`,
        tempDir: files.tempDir + temp,
        now: () => 0,
      });
    const host = await open('-1');
    const context = { ...callContext(), sessionId: 's' };
    const running = host.run('host.exec', { argv: ['sh', '-c', 'mkdir .git; touch began; sleep 100'] }, context);
    await until('the command began', () => existsSync(files.at('began')));
    const [directory] = readdirSync(`${files.tempDir}-state/hosts`);
    const state = `${files.tempDir}-state/hosts/${directory}`;
    const record = readdirSync(state).find((name) => name.startsWith('git-'));
    const known = readFileSync(`${state}/${record}`);
    await host.close();
    await running;
    // As it is after a kill: the record of a process that has ended, and what its command made.
    mkdirSync(state, { mode: 0o700 });
    writeFileSync(`${state}/git-1.1.0.0.json`, known);
    mkdirSync(files.at('late/.git'), { recursive: true });
    rmSync(`${files.tempDir}-1`, { recursive: true });
    const next = await open('-2');
    expect(next.gitQuarantined.map(({ path }) => path)).toContain('late/.git');
    await next.close();
    files.remove();
  });

  test('is not taken from a directory that another user may write', async () => {
    const files = makeWorkspace({});
    const options = { workspace: files.path, stateDir: `${files.tempDir}-state`, now: () => 0 };
    const host = await openHost(options);
    const [directory] = readdirSync(`${options.stateDir}/hosts`);
    chmodSync(`${options.stateDir}/hosts/${directory}`, 0o777);
    await expect(openHost(options)).rejects.toThrow('must be a directory of this user alone');
    await host.close();
    files.remove();
  });
});

const makeNext = async (host: TestHost) => {
  return await openHost({ workspace: host.workspace.path, tempDir: host.workspace.tempDir, now: () => 0 });
};

test('nothing is written in a repository of Mercurial or Jujutsu, which run commands that it names', () =>
  withHost({ '.hg/hgrc': 'mine', 'sub/.jj/repo/config.toml': 'mine' }, async (host) => {
    for (const path of ['.hg/hgrc', 'sub/.jj/repo/config.toml', 'new/.HG/hgrc', '.jj']) {
      const written = await host.call('host.fs.write_file', { path, text: 'planted', create_parents: true });
      expect([path, written]).toMatchObject([path, { success: false, code: 'forbidden' }]);
    }
    expect((await host.call('host.fs.read_file', { path: '.hg/hgrc' })).text).toBe('mine');
    if (host.sandbox === 'bwrap') await sh(host, 'echo planted > .hg/hgrc; mv .hg x; mv sub y; rm -r sub/.jj');
    expect(host.workspace.read('.hg/hgrc') + host.workspace.read('sub/.jj/repo/config.toml')).toBe('minemine');
  }));

describe.runIf(hasBwrap)('a git directory that the workspace has', () => {
  const FILES = {
    '.git/config': '[core]\n',
    '.git/HEAD': 'x',
    'sub/.git/config': 'old',
    'mod/.git': 'gitdir: ../x',
    'sub/f': 'f',
  };

  test('can be read and not written, at any depth, and nothing above it can be renamed', () =>
    withHost(
      { ...FILES, 'bare/HEAD': 'x', 'bare/objects/o': '', 'bare/refs/r': '', 'bare/config': 'old' },
      async (host) => {
        expect((await sh(host, 'cat .git/config')).text).toContain('[core]');
        for (const script of [
          'echo bad >> .git/config',
          'echo bad >> sub/.git/config',
          'rm -rf sub/.git',
          'mv sub/.git sub/away',
          'mv sub away',
          'echo bad > mod/.git',
          'rm mod/.git',
          'mv mod away',
          'echo bad > bare/config',
          'mkdir -p bare/hooks',
          'ln sub/.git/config alias && echo bad > alias',
        ]) {
          expect([script, (await sh(host, script)).data?.['exit_code']]).not.toEqual([script, 0]);
        }
        expect(host.workspace.read('.git/config') + host.workspace.read('sub/.git/config')).toBe('[core]\nold');
        expect((await sh(host, 'echo new > sub/g && rm sub/f')).data).toMatchObject({ exit_code: 0 });
        expect((await sh(host, 'true')).text).not.toContain('moved');
      },
    ));

  test('is read-only below a directory that its owner cannot list, too', () =>
    withHost({ 'dim/x/.git/config': 'old', 'shut/x/.git/config': 'old' }, async (host) => {
      chmodSync(host.workspace.at('dim'), 0o311);
      chmodSync(host.workspace.at('shut'), 0o200);
      expect((await sh(host, 'echo bad > dim/x/.git/config')).data).not.toMatchObject({ exit_code: 0 });
      const { data, text } = await sh(host, 'cat shut/x/.git/config && echo bad > shut/x/.git/config');
      expect(data).toMatchObject({ exit_code: 2 });
      expect(text).toContain('old');
      expect(text).not.toContain('moved');
      expect(host.workspace.read('dim/x/.git/config') + host.workspace.read('shut/x/.git/config')).toBe('oldold');
    }));

  test('is left alone below a name that is not UTF-8, and the result says that commands could write it', () =>
    withHost({}, async (host) => {
      const directory = Buffer.concat([Buffer.from(host.workspace.at('mine')), Buffer.from([0xff])]);
      mkdirSync(Buffer.concat([directory, Buffer.from('/.git')]), { recursive: true });
      const { text } = await sh(host, 'true');
      expect(text).toContain('["mine\\xff/.git" has a name that is not UTF-8 and was not read-only');
      expect(text).toContain('not all of it was searched and protected');
      expect(text).not.toContain('moved');
    }));

  test('and is a link: a command that replaces it leaves none', () =>
    withHost({ 'store/x': 'x' }, async (host) => {
      symlinkSync('store', host.workspace.at('.git'));
      expect((await sh(host, 'true')).text).not.toContain('moved');
      expect((await sh(host, 'rm .git; mkdir .git')).text).toContain('[.git was moved to ');
    }));

  test('made by a person between two commands is left alone', () =>
    withHost({}, async (host) => {
      await sh(host, 'true');
      host.workspace.write('mine/.git/config', 'x');
      expect((await sh(host, 'true')).text).not.toContain('moved');
      expect(host.workspace.read('mine/.git/config')).toBe('x');
    }));
});

describe('two hosts of one workspace', () => {
  /** Commands of two hosts, each of which ends when it is told to. */
  function openTwo() {
    const files = makeWorkspace({ 'mine/.git/config': 'x' });
    const workspace = openWorkspace(files.path);
    const [own, other, common] = ['own', 'other', 'common'].map((name) => `${files.tempDir}/${name}`);
    for (const directory of [own, other, common]) mkdirSync(directory ?? '', { recursive: true });
    const placesOf = (directory = ''): readonly string[] => [directory, common ?? ''];
    const guards = [openGitGuard(workspace, () => placesOf(own)), openGitGuard(workspace, () => placesOf(other))];
    const begin = async (host: number): Promise<(then?: () => void) => Promise<readonly string[]>> => {
      let end: () => void = () => undefined;
      let began = false;
      const held = new Promise<void>((resolve) => (end = resolve));
      const findings = guards[host]?.around(() => {
        began = true;
        return held;
      });
      await until('it runs', () => began);
      return async (then = () => undefined) => {
        then();
        end();
        return (await findings)?.[1].quarantined.map(({ path }) => path) ?? [];
      };
    };
    const close = async (): Promise<void> => {
      for (const guard of guards) await guard.idle();
      const left = [own, other, common].flatMap((directory) => readdirSync(directory ?? ''));
      expect(left).toEqual([]);
      workspace.close();
      files.remove();
    };
    return { files, begin, close };
  }
  const movedIn = (directory: string): string =>
    readdirSync(directory).find((name) => name.startsWith('.git.quarantined-')) ?? '';

  test('do not take what a command of the other made for the own of the user, in either order of their ends', async () => {
    for (const plantedEndsFirst of [true, false]) {
      const { files, begin, close } = openTwo();
      const planting = await begin(0);
      mkdirSync(files.at('x/.git'), { recursive: true });
      const second = await begin(1);
      const putBack = (): void => {
        if (movedIn(files.at('x')) !== '') renameSync(files.at(`x/${movedIn(files.at('x'))}`), files.at('x/.git'));
      };
      const [first, last] = plantedEndsFirst ? [planting, second] : [second, planting];
      expect(await first()).toEqual(['x/.git']);
      expect(await last(putBack)).toEqual(['x/.git']);
      expect([existsSync(files.at('x/.git')), files.read('mine/.git/config')]).toEqual([false, 'x']);
      await close();
    }
  });

  test('forget what they moved when their commands have ended: a person may move it back', async () => {
    const { files, begin, close } = openTwo();
    const planting = await begin(0);
    mkdirSync(files.at('x/.git'), { recursive: true });
    expect(await planting()).toEqual(['x/.git']);
    renameSync(files.at(`x/${movedIn(files.at('x'))}`), files.at('x/.git'));
    for (const host of [0, 1]) expect(await (await begin(host))()).toEqual([]);
    expect(existsSync(files.at('x/.git'))).toBe(true);
    await close();
  });

  test('note what they move for one that searches meanwhile, and for no host of another workspace', () => {
    const files = makeWorkspace({});
    mkdirSync(files.tempDir);
    const places = (): readonly string[] => [files.tempDir];
    const [first, second] = [openRecord(files.path, places), openRecord(files.path, places)];
    const far = openRecord('/elsewhere', places);
    for (const record of [first, second, far]) record.begin();
    tellOthers(files.path, places, { of: first, ids: ['1:2 a\nb'] });
    first.remove();
    const entry = (id: string): GitEntry => ({ names: ['x', '.git'], kind: 'entry', id });
    const own = (record: typeof first): readonly boolean[] => ['1:2 a\nb', '1:3 '].map(entry).map(record.ownFilter());
    expect([own(second), own(far)]).toEqual([
      [false, true],
      [true, true],
    ]);
    expect([second, far].map((record) => record.movedByOthers().size)).toEqual([1, 0]);
    for (const record of [second, far]) record.remove();
    expect(readdirSync(files.tempDir)).toEqual([]);
    files.remove();
  });

  test('put away what a killed one left, before they search', async () => {
    const { files, begin, close } = openTwo();
    const record = { workspace: files.path, known: [] };
    rmSync(files.at('mine'), { recursive: true });
    writeFileSync(`${files.tempDir}/common/git-1.0.0.0-ab.json`, JSON.stringify(record));
    writeFileSync(`${files.tempDir}/common/git-1.0.0.0-ab.moved`, `${JSON.stringify(files.path)}\n`);
    mkdirSync(files.at('x/.git'), { recursive: true });
    expect(await (await begin(0))()).toEqual(['x/.git']);
    await close();
  });
});

test.runIf(hasBwrap)('hosts with directories of their own share what their commands planted', async () => {
  const files = makeWorkspace({});
  const open = (name: string) => openHost({ workspace: files.path, tempDir: `${files.tempDir}-${name}`, now: () => 0 });
  const [one, two] = [await open('one'), await open('two')];
  const run = (host: typeof one, script: string): Promise<HostOutcome> =>
    host.run('host.exec', { argv: ['sh', '-c', script] }, callContext());
  for (const name of ['one', 'two']) spawnSync('mkfifo', ['-m', '666', files.at(`${name}-end`)]);
  const planting = run(one, `${REPOSITORY('x/.git')}; touch planted; read -r end < one-end`);
  await until('it is planted', () => existsSync(files.at('planted')));
  const second = run(two, 'touch second; read -r end < two-end');
  await until('the second runs', () => existsSync(files.at('second')));
  writeFileSync(files.at('one-end'), 'end\n');
  expect((await planting).text).toContain('[x/.git was moved to ');
  await run(two, 'cd x && mv .git.quarantined-* .git && mv .git/HEAD.quarantined-* .git/HEAD');
  writeFileSync(files.at('two-end'), 'end\n');
  expect((await second).text).toContain('[x/.git was moved to ');
  expect(existsSync(files.at('x/.git'))).toBe(false);
  for (const host of [one, two]) await host.close();
  files.remove();
});

test('commands that overlap share one search, and a failed one fails each of them', async () => {
  const files = makeWorkspace({});
  const workspace = openWorkspace(files.path);
  mkdirSync(files.tempDir);
  const guard = openGitGuard(workspace, () => [files.tempDir]);
  const ends: (() => void)[] = [];
  const held = (): Promise<void> => new Promise((resolve) => ends.push(resolve));
  const both = [guard.around(held), guard.around(held)];
  await until('both run', () => ends.length === 2);
  mkdirSync(files.at('x/.git'), { recursive: true });
  ends[0]?.();
  expect((await both[0])?.[1].quarantined).toEqual([]);
  ends[1]?.();
  expect((await both[1])?.[1].quarantined.map(({ path }) => path)).toEqual(['x/.git']);
  await expect(guard.around(() => Promise.reject(new Error('not started')))).rejects.toThrow('not started');
  expect((await guard.around(() => Promise.resolve(1)))[0]).toBe(1);
  renameSync(files.tempDir, `${files.tempDir}-gone`);
  await expect(guard.around(held)).rejects.toThrow('ENOENT');
  await guard.idle();
  workspace.close();
  files.remove();
});

test('what could not be moved is not taken for the own of the user by the next search', async () => {
  const files = makeWorkspace({});
  mkdirSync(files.tempDir);
  const workspace = openWorkspace(files.path);
  const guard = openGitGuard(workspace, () => [files.tempDir]);
  const plant = (): Promise<void> => {
    mkdirSync(files.at('.git'));
    return Promise.resolve();
  };
  // As on a full disk: the rename of this process fails once.
  const rename = vi.spyOn(fs, 'renameSync').mockImplementationOnce(() => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  });
  syncBuiltinESMExports();
  const [, first] = await guard.around(plant);
  rename.mockRestore();
  syncBuiltinESMExports();
  expect(first.quarantined).toEqual([{ path: '.git', movedTo: null }]);
  const [readOnly, second] = await guard.around((shown) => Promise.resolve(shown));
  expect(readOnly).toEqual([]);
  expect(second.quarantined).toMatchObject([{ path: '.git', movedTo: expect.stringContaining('.git.quarantined-') }]);
  workspace.close();
  files.remove();
});

test('a workspace with more git directories than a sandbox can show read-only runs no command', async () => {
  const files = makeWorkspace({});
  for (let count = 0; count <= GIT_ENTRIES_MAX; count += 1) mkdirSync(files.at(`${count}/.git`), { recursive: true });
  mkdirSync(files.tempDir);
  const workspace = openWorkspace(files.path);
  const guard = openGitGuard(workspace, () => [files.tempDir]);
  const message = `the workspace has ${GIT_ENTRIES_MAX + 1} git directories`;
  await expect(guard.around(() => Promise.resolve())).rejects.toThrow(message);
  rmSync(files.at('0/.git'), { recursive: true });
  expect((await guard.around((readOnly) => Promise.resolve(readOnly.length)))[0]).toBe(GIT_ENTRIES_MAX);
  workspace.close();
  files.remove();
});

test('the notes of a result name a bounded number of moved directories, and say what was not done', () => {
  const quarantined = Array.from({ length: GIT_NOTES_MAX + 2 }, (_, index) => ({ path: `${index}`, movedTo: null }));
  const paths = quarantined.map(({ path }) => path);
  expect(gitNotes({ quarantined: [], isPartial: true, unsearched: paths, writable: paths })).toHaveLength(
    2 * GIT_NOTES_MAX + 1,
  );
  const notes = gitNotes({ quarantined, isPartial: true, unsearched: [], writable: [] });
  expect(notes).toHaveLength(GIT_NOTES_MAX + 3);
  expect(notes[0]).toContain('could not be moved: do not run git or npx there');
  expect(notes[GIT_NOTES_MAX]).toBe('[2 more were found]');
  expect(notes.at(-1)).toContain('not all of it was searched and protected');
});

test('a search does not follow links, and reports a workspace that is too deep', async () => {
  const files = makeWorkspace({ 'a/.git/HEAD': 'x' });
  symlinkSync('a', files.at('link'));
  const workspace = openWorkspace(files.path);
  expect([...(await findGitEntries(workspace.root)).found.keys()]).toEqual(['a/.git']);
  mkdirSync(files.at(Array.from({ length: 70 }, () => 'd').join('/')), { recursive: true });
  expect((await findGitEntries(workspace.root)).isPartial).toBe(true);
  workspace.close();
  files.remove();
});

test.each(['fd', 'lstat'] as const)(
  'a name that is not UTF-8 leads to its file, also from a record (%s)',
  async (walk) => {
    const files = makeWorkspace({ 'é/x': 'x' });
    const bytes = Buffer.concat([
      Buffer.from(files.at('é/name-é')),
      Buffer.from([0x80, 0xff, 0x2f]),
      Buffer.from('.git'),
    ]);
    mkdirSync(bytes, { recursive: true });
    const workspace = openWorkspace(files.path, { walk });
    const [entry] = [...(await findGitEntries(workspace.root)).found.values()];
    const recorded = JSON.parse(JSON.stringify(entry)) as GitEntry;
    expect(recorded).toEqual(entry);
    expect(quarantine(workspace.root, [recorded])[0]?.movedTo).toMatch(
      /^"é\/name-\\xc3\\xa9\\x80\\xff\/\.git\.quarantined-[0-9a-f]{8}"$/,
    );
    expect(existsSync(bytes)).toBe(false);
    workspace.close();
    files.remove();
  },
);

test('a search names the directories that it could not search', async () => {
  const files = makeWorkspace({ 'a/b/x': 'x', 'c/.git/HEAD': 'x' });
  const workspace = openWorkspace(files.path);
  const { ino } = statSync(files.at('a/b'));
  const failing = (opened: { readonly ino: number }): boolean => {
    if (opened.ino === ino) throw Object.assign(new Error('EIO'), { code: 'EIO' });
    return false;
  };
  const part = await findGitEntries({ ...workspace.root, places: { has: failing } });
  expect([[...part.found.keys()], part.isPartial, [...part.unsearched]]).toEqual([['c/.git'], true, ['a/b']]);
  const none = await findGitEntries({ ...workspace.root, location: files.at('gone') });
  expect([none.isPartial, [...none.unsearched]]).toEqual([true, ['.']]);
  workspace.close();
  files.remove();
});

describe('a file tool', () => {
  test.each([
    ['a file in `.git`', {}, 'sub/.git/config'],
    ['the HEAD that makes one', { 'b/objects/o': '', 'b/refs/r': '' }, 'b/HEAD'],
    ['the refs that make one', { 'b/HEAD': '', 'b/objects/o': '' }, 'b/refs/r'],
    ['the commondir that makes one', { 'b/HEAD': '' }, 'b/commondir'],
    ['a hook in one', { 'b/HEAD': '', 'b/objects/o': '', 'b/refs/r': '' }, 'b/hooks/post-checkout'],
  ])('does not write %s', (_, files, path) =>
    withHost(files, async (host) => {
      const outcome = await host.call('host.fs.write_file', { path, text: 'x', create_parents: true });
      expect(outcome).toMatchObject({ success: false, code: 'forbidden' });
      expect(existsSync(host.workspace.at(path))).toBe(false);
    }),
  );

  test('does not make one by a patch of several files', () =>
    withHost({}, async (host) => {
      const adds = ['HEAD', 'objects/o', 'refs/r', 'config'].map((name) => `*** Add File: b/${name}\n+x`);
      const patch = `*** Begin Patch\n${adds.join('\n')}\n*** End Patch`;
      expect(await host.call('host.fs.apply_patch', { patch })).toMatchObject({ code: 'path_forbidden' });
      expect(host.workspace.list()).toEqual([]);
    }));

  test('writes files with one of these names where they make no git directory', () =>
    withHost({}, async (host) => {
      expect(await host.call('host.fs.write_file', { path: 'HEAD', text: 'x' })).toMatchObject({ success: true });
      expect(readFileSync(host.workspace.at('HEAD'), 'utf8')).toBe('x');
    }));
});
