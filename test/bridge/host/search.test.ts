// host.fs.grep and host.fs.glob: what they find, in which order, and that ripgrep finds the same.
import * as fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync, utimesSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openHost } from '../../../bridge/host/open-host.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { literalOf } from '../../../bridge/host/search/line-matcher.ts';
import { walkKindHere } from '../../../bridge/host/workspace/directory.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { type TestHost, callContext, makeHost, makeWorkspace } from '../../support/host/workspace.ts';

let host: TestHost;
beforeAll(async () => {
  host = await makeHost(
    {
      'src/a.rs': 'hit one\nmiss\nhit two\n',
      'src/b.rs': 'a hit\r\nmiss\r\n',
      'src/c.txt': 'hit in text\n',
      'src-old.rs': 'hit old\n',
      '.hidden/.rc': 'hit hidden\n',
      '.gitignore': 'src\n',
      '.git/config': 'hit git\n',
      'node_modules/x/index.js': 'hit module\n',
      'src/node_modules/y.js': 'hit nested\n',
      'binary.bin': new Uint8Array([104, 105, 116, 0, 10]),
      'latin.txt': new Uint8Array([104, 105, 116, 32, 228, 10]),
      'last.txt': 'no newline hit',
    },
    { sandbox: 'none' },
  );
  symlinkSync('/etc', host.workspace.at('linked'));
});
afterAll(() => host.end());
const grep = (args: JsonObject, context = {}): Promise<HostOutcome> => host.call('host.fs.grep', args, context);
const glob = (args: JsonObject): Promise<HostOutcome> => host.call('host.fs.glob', args);

const ALL_HITS = [
  '.hidden/.rc:1:hit hidden',
  'last.txt:1:no newline hit',
  'latin.txt:1:hit \ufffd',
  'src-old.rs:1:hit old',
  'src/a.rs:1:hit one',
  'src/a.rs:3:hit two',
  'src/b.rs:1:a hit',
  'src/c.txt:1:hit in text',
];

describe('host.fs.grep', () => {
  test('finds lines sorted by path and line, in hidden and ignored files, but not in .git or node_modules', async () => {
    for (const pattern of ['hit', 'h[i]t']) {
      expect(await grep({ pattern })).toMatchObject({
        success: true,
        text: ALL_HITS.join('\n'),
        data: { match_count: 8, truncated: false },
      });
    }
  });

  test('counts all matches and shows at most max_results', async () => {
    const outcome = await grep({ pattern: 'hit', path: 'src', glob_filter: '*.rs', max_results: 2 });
    expect(outcome).toMatchObject({ data: { match_count: 3, shown: 2, truncated: true } });
    expect(outcome.text).toContain('[2 of 3 matches');
  });

  test('a filter without a slash matches names, one with a slash matches paths', async () => {
    const count = async (glob_filter: string): Promise<unknown> =>
      (await grep({ pattern: 'hit', glob_filter })).data?.['match_count'];
    expect([await count('*.rs'), await count('src/*.rs'), await count('**/*.rs'), await count('*.{rs,txt}')]).toEqual([
      4, 3, 4, 7,
    ]);
    expect(await grep({ pattern: 'hit', glob_filter: '[' })).toMatchObject({
      success: false,
      code: 'invalid_glob_filter',
    });
  });

  test('searches one file, or node_modules when it is the searched directory', async () => {
    expect((await grep({ pattern: 'hit', path: 'src/a.rs' })).text).toBe('src/a.rs:1:hit one\nsrc/a.rs:3:hit two');
    expect((await grep({ pattern: 'hit', path: 'node_modules' })).text).toBe('node_modules/x/index.js:1:hit module');
  });

  test('no match is a successful call', async () => {
    expect(await grep({ pattern: 'needle-7711' })).toMatchObject({
      success: true,
      text: 'No matches found',
      data: { match_count: 0 },
    });
  });

  test.runIf(walkKindHere() === 'fd')('a file deeper than the longest path of the kernel is left out', async () => {
    const [name, file] = ['n'.repeat(250), 'f'.repeat(70)];
    // As deep as a path argument may be; with the workspace before it, that is longer than the kernel reports.
    const names = ['deep', ...Array.from({ length: 16 }, () => name)];
    const dig = `for name in ${names.join(' ')}; do mkdir $name && cd $name || exit 1; done; echo lost > ${file}`;
    expect(spawnSync('bash', ['-c', dig], { cwd: host.workspace.path }).status).toBe(0);
    host.workspace.write('deep/near.txt', 'lost\n');
    try {
      expect((await grep({ pattern: 'lost', path: 'deep' })).text).toBe('deep/near.txt:1:lost');
      const { text } = await grep({ pattern: 'lost', path: [...names, file].join('/') });
      expect(text).toMatch(/^invalid_path: .* lies too deep to be read; move it to a shorter path$/);
    } finally {
      // Deeper than rmSync reaches.
      spawnSync('rm', ['-rf', 'deep'], { cwd: host.workspace.path });
    }
  });

  test('ignores case with case_insensitive and with (?i)', async () => {
    expect(await grep({ pattern: 'HIT', path: 'src/c.txt' })).toMatchObject({ data: { match_count: 0 } });
    expect(await grep({ pattern: 'HIT', path: 'src/c.txt', case_insensitive: true })).toMatchObject({
      data: { match_count: 1 },
    });
    expect(await grep({ pattern: '(?i)HIT', path: 'src/c.txt' })).toMatchObject({ data: { match_count: 1 } });
  });

  test('anchors match at the ends of a line, also with CRLF', async () => {
    expect((await grep({ pattern: '^miss$', path: 'src' })).text).toBe('src/a.rs:2:miss\nsrc/b.rs:2:miss');
    expect(await grep({ pattern: '^$', path: 'src' })).toMatchObject({ data: { match_count: 0 } });
  });

  test('clips long lines', async () => {
    host.workspace.write('long/long.txt', `${'x'.repeat(5_000)}needle`);
    const outcome = await grep({ pattern: 'needle', path: 'long' });
    expect(outcome.text.length).toBeLessThan(600);
    expect(outcome.text.endsWith('…')).toBe(true);
  });

  test.each([
    [{ pattern: '(' }, 'invalid_regex'],
    [{ pattern: '' }, 'invalid_regex'],
    [{ pattern: 'x', path: 'none' }, 'not_found'],
    [{ pattern: 'x', path: '../..' }, 'forbidden'],
    [{ pattern: 'x', path: 'linked' }, 'forbidden'],
    [{ pattern: 'x', path: 'src/a.rs/b' }, 'not_directory'],
  ])('%j is refused: %s', async (args, code) => {
    expect(await grep(args)).toMatchObject({ success: false, code });
  });

  describe('a pattern that backtracks without end', () => {
    beforeEach(() => host.workspace.write('evil/evil.txt', `${'a'.repeat(40)}!\n`));
    const evil = { pattern: '(a+)+$', path: 'evil' };

    test('ends at the call’s timeout; other calls run in the meantime', async () => {
      const slow = grep(evil, { timeoutMs: 200 });
      expect(await host.call('host.fs.exists', { path: 'src' })).toMatchObject({ success: true });
      const outcome = await slow;
      expect(outcome).toMatchObject({ success: false, code: 'timeout' });
      expect(outcome.text).toContain('simpler pattern');
    });

    test('ends when the call is cancelled', async () => {
      const controller = new AbortController();
      const slow = grep(evil, { signal: controller.signal });
      await host.call('host.fs.exists', { path: 'src' });
      controller.abort();
      expect(await slow).toMatchObject({ success: false, code: 'cancelled' });
    });
  });
});

describe('host.fs.glob', () => {
  test('lists files sorted by path, regardless of their modification times', async () => {
    for (const name of ['z.order', 'a.order', 'm/m.order', 'm.order']) host.workspace.write(`ord/${name}`, '');
    const first = await glob({ pattern: '**/*.order', path: 'ord' });
    utimesSync(host.workspace.at('ord/z.order'), 1, 1);
    utimesSync(host.workspace.at('ord/a.order'), 2_000_000_000, 2_000_000_000);
    const second = await glob({ pattern: '**/*.order', path: 'ord' });
    expect(first.text).toBe('ord/a.order\nord/m.order\nord/m/m.order\nord/z.order');
    expect(second.text).toBe(first.text);
  });

  test('lists only files, and visits the same directories as grep', async () => {
    expect(
      (await glob({ pattern: '**' })).text.split('\n').filter((name) => /git|node_modules|linked|hidden/.test(name)),
    ).toEqual(['.gitignore', '.hidden/.rc']);
    expect((await glob({ pattern: 'src' })).text).toBe('No files matched');
  });

  test('reports how many files matched in all', async () => {
    const outcome = await glob({ pattern: 'src/*', max_results: 2 });
    expect(outcome).toMatchObject({ data: { count: 2, total: 3, truncated: true } });
    expect(outcome.text).toContain('[2 of 3 files');
  });

  test.each([
    [{ pattern: '[' }, 'invalid_pattern'],
    [{ pattern: '../*' }, 'invalid_pattern'],
    [{ pattern: '*', path: 'none' }, 'not_found'],
    [{ pattern: '*', path: 'src/a.rs' }, 'not_directory'],
    [{ pattern: '*', path: 'linked' }, 'forbidden'],
  ])('%j is refused: %s', async (args, code) => {
    expect(await glob(args)).toMatchObject({ success: false, code });
  });

  test('a directory that cannot be read is left out', async () => {
    mkdirSync(host.workspace.at('perm/closed'), { recursive: true });
    host.workspace.write('perm/open.txt', '');
    chmodSync(host.workspace.at('perm/closed'), 0o000);
    expect((await glob({ pattern: '**', path: 'perm' })).text).toBe('perm/open.txt');
    chmodSync(host.workspace.at('perm/closed'), 0o700);
  });
});

test('grep asks no other program, which would open files by path', async () => {
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`many/${index}.txt`, 'hit\n']));
  const programs = makeWorkspace({ rg: '#!/bin/sh\ntouch "$0.ran"\nexit 2\n' });
  chmodSync(programs.at('rg'), 0o755);
  chmodSync(programs.path, 0o777);
  vi.stubEnv('PATH', programs.path);
  const many = await makeHost(files, { sandbox: 'none' });
  expect(await many.call('host.fs.grep', { pattern: 'hit' })).toMatchObject({ data: { match_count: 300 } });
  await many.end();
  vi.unstubAllEnvs();
  expect(existsSync(programs.at('rg.ran'))).toBe(false);
  programs.remove();
});

// rg compared with the search, as a search of its own with the same rules.
const hasRipgrep = spawnSync('rg', ['--version']).status === 0;
if (!hasRipgrep) process.stderr.write('rg is not installed: its agreement with the search is NOT checked\n');

const word = fc.constantFrom('hit', 'Hit', 'h', 'it', 'x', 'é', '\ufffd', '', ' ', '--', '-e', "'", '"', '$HOME', '\t');
const content = fc
  .array(
    fc.array(word, { maxLength: 4 }).map((words) => words.join('')),
    { maxLength: 4 },
  )
  .chain((lines) =>
    fc.tuple(fc.constantFrom('\n', '\r\n'), fc.boolean()).map(([end, closed]) => lines.join(end) + (closed ? end : '')),
  );
const fileName = fc.constantFrom('a', 'b.ts', '.c', 'd e', 'é', 'node_modules', '-f', "q'", 'node_modules.ts');
const tree = fc.dictionary(
  fc.array(fileName, { minLength: 1, maxLength: 3 }).map((names) => names.join('/')),
  content,
  { maxKeys: 8 },
);

describe.runIf(hasRipgrep)('ripgrep', () => {
  const plant = (files: Readonly<Record<string, string>>): ReturnType<typeof makeWorkspace> => {
    const workspace = makeWorkspace();
    // A name cannot be a file and a directory.
    const names = Object.keys(files)
      .sort()
      .filter((name, at, all) => !all.slice(at + 1).some((other) => other.startsWith(`${name}/`)));
    for (const name of names) workspace.write(`top/${name}`, files[name] ?? '');
    workspace.write('top/anchor', 'none\n');
    return workspace;
  };

  test('finds the same lines', async () => {
    await fc.assert(
      fc.asyncProperty(
        tree,
        word.filter((literal) => literal !== ''),
        async (files, literal) => {
          const planted = plant(files);
          const searching = await openHost({
            workspace: planted.path,
            tempDir: planted.tempDir,
            sandbox: 'none',
            now: () => 0,
          });
          const args = { pattern: literal.replace('$', '\\$'), path: 'top', max_results: 50 };
          const native = await searching.run('host.fs.grep', args, callContext());
          // It prints other bytes than ours where text is not UTF-8.
          const own = spawnSync(
            'rg',
            [
              '--no-config',
              '--no-ignore',
              '--hidden',
              '--text',
              '--encoding',
              'none',
              '-g',
              '!.git/',
              '-g',
              '!node_modules/',
              '-n',
              '-F',
              '-e',
              literal,
              '--',
              'top',
            ],
            { cwd: planted.path, encoding: 'utf8' },
          );
          const lines = own.stdout
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => line.replace(/\r$/, ''));
          expect(lines.toSorted()).toEqual(
            native.text === 'No matches found' ? [] : native.text.split('\n').toSorted(),
          );
          await searching.close();
          planted.remove();
        },
      ),
      { numRuns: 40 },
    );
  });
});

test('a literal is a pattern without special characters, compared with case', () => {
  expect(
    ['plain text', 'a-b', 'a.b', 'a\\b', '(a)', 'a\nb', ''].map((pattern) => literalOf(pattern, false) !== null),
  ).toEqual([true, true, false, false, false, false, false]);
  expect(literalOf('plain', true)).toBeNull();
});
