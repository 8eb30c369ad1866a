// Each recommended file tool call returns the same as the shell command it replaces: both run in one workspace.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newestRules } from '../../../reducers/rules/known-rules.ts';
import { readAlternative as readAlternativeBy } from '../../../reducers/shell/read.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';

const readAlternative = (command: string | readonly string[], cwd?: string, workspace?: string) =>
  readAlternativeBy(newestRules(), command, cwd, workspace);

const NUMBERED = `${Array.from({ length: 40 }, (_, index) => `line ${index + 1} of check`).join('\n')}\n`;

let host: TestHost;
beforeAll(async () => {
  host = await makeHost(
    {
      'guide.md': NUMBERED,
      'my notes (old).md': 'kept\nä ö ü\n',
      'unended.txt': 'Check one\ncheck two',
      'empty.txt': '',
      'src/a.ts': 'export const check = f(x)+1;\nimport a.b;\nimport axb;\n',
      'src/b.tsx': '// CHECK\n  export\n',
      'src/deep/c.ts': 'check\r\nother\r\n',
      'src/deep/.hidden.ts': 'hidden check\n',
      'src/.rc': 'check\n',
      'src/notes.txt': 'no match here\n',
    },
    { sandbox: 'none' },
  );
  mkdirSync(host.workspace.at('src/folder.ts'));
});
afterAll(() => host.end());

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
const sorted = (items: readonly string[]): readonly string[] => [...items].sort();

function shell(command: string, cwd: string): string {
  // Standard error is not compared: every command here succeeds.
  const { status, stdout } = spawnSync('sh', ['-c', command], {
    cwd: host.workspace.at(cwd),
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  expect(status).toBe(0);
  return stdout;
}

async function both(command: string, cwd = '.'): Promise<{ printed: string; read: string; data: object }> {
  const found = readAlternative(command, cwd);
  if (found === null) throw new Error(`no alternative for ${command}`);
  const outcome = await host.call(found.tool_id, found.arguments);
  expect(outcome).toMatchObject({ success: true });
  return { printed: shell(command, cwd), read: outcome.text, data: outcome.data ?? {} };
}

describe('the recommended call returns what the command prints', () => {
  test.each(['cat guide.md', "cat 'my notes (old).md'", 'cat unended.txt', "cat './src'/a.ts"])(
    '%s',
    async (command) => {
      const { printed, read } = await both(command);
      expect(read).toBe(printed);
    },
  );

  test('cat ../guide.md, in src', async () => {
    const { printed, read } = await both('cat ../guide.md', 'src');
    expect(read).toBe(printed);
  });

  test('cat of an empty file', async () => {
    expect(await both('cat empty.txt')).toMatchObject({ printed: '', data: { size_bytes: 0 } });
  });

  test.each(['head guide.md', 'head -n 3 guide.md', 'head -n5 guide.md', 'head -7 guide.md', 'head -n 9 unended.txt'])(
    '%s: the text begins with what it prints',
    async (command) => {
      const { printed, read } = await both(command);
      expect(printed).not.toBe('');
      expect(read.startsWith(printed)).toBe(true);
    },
  );

  test.each(['head -c 10 guide.md', 'head -c3 guide.md'])('%s', async (command) => {
    const { printed, read } = await both(command);
    expect(read.slice(0, read.indexOf('\n['))).toBe(printed);
  });

  test("sed -n '10,20p' guide.md: the same lines of the text", async () => {
    const { printed, read } = await both("sed -n '10,20p' guide.md");
    expect(read.split('\n').slice(9, 20)).toEqual(lines(printed));
  });

  test.each(['wc -c guide.md', "wc -c 'my notes (old).md'"])('%s', async (command) => {
    const { printed, data } = await both(command);
    expect(data).toMatchObject({ size_bytes: Number.parseInt(printed, 10) });
  });

  test.each(['ls', 'ls src', 'ls -a src', 'ls -A1 src/deep', 'ls ./src/'])('%s', async (command) => {
    const { printed, read } = await both(command);
    const names = lines(read).map((name) => name.replace(/\/$/, ''));
    const listed = lines(printed).filter((name) => name !== '.' && name !== '..');
    const hiddenToo = / -\w*[aA]/.test(command);
    expect(sorted(names.filter((name) => hiddenToo || !name.startsWith('.')))).toEqual(sorted(listed));
  });

  test.each([
    ["find src -type f -name '*.ts'", '.'],
    ["find . -type f -name '*.t[sx]*'", '.'],
    ["find -name '?.ts' -type f", 'src'],
    ['find src/deep -type f -name c.ts', '.'],
    ["find src -type f -name '*[!s]'", '.'],
  ])('%s, in %s', async (command, cwd) => {
    const { printed, read } = await both(command, cwd);
    const found = lines(printed).map((path) => path.replace(/^\.\//, ''));
    expect(found).not.toEqual([]);
    expect(sorted(lines(read))).toEqual(sorted(found.map((path) => (cwd === '.' ? path : `${cwd}/${path}`))));
  });

  test.each([
    'grep check guide.md',
    'grep -n check unended.txt',
    'grep -in check unended.txt',
    "grep '^export' src/a.ts",
    "grep 'f(x)+1' src/a.ts",
    "grep -F 'a.b' src/a.ts",
    "grep -E 'const|^import' src/a.ts",
  ])('%s', async (command) => {
    const { printed, read } = await both(command);
    const text = lines(read).map((line) => line.replace(/^[^:]*:/, ''));
    const numbered = / -\w*n/.test(command);
    expect(text.map((line) => (numbered ? line : line.replace(/^\d+:/, '')))).toEqual(lines(printed));
  });

  test('a command without output corresponds to a search without matches', async () => {
    const found = readAlternative("grep '^export' src/b.tsx");
    const outcome = await host.call(found?.tool_id ?? '', found?.arguments ?? {});
    expect(outcome).toMatchObject({ success: true, data: { match_count: 0 } });
    expect(shell("grep '^export' src/b.tsx || true", '.')).toBe('');
  });

  test.each([
    ['grep -rn check src', '.'],
    ['grep -Rn CHECK src', '.'],
    ['grep -rin check', 'src'],
    ["grep -rn --include='*.ts' check src", '.'],
  ])('%s, in %s', async (command, cwd) => {
    const { printed, read } = await both(command, cwd);
    // grep prints the carriage return at the end of a line; the tool does not.
    const expected = lines(printed).map((line) => (cwd === '.' ? line : `${cwd}/${line}`).replace(/\r$/, ''));
    expect(expected).not.toEqual([]);
    expect(sorted(lines(read))).toEqual(sorted(expected));
  });

  test.runIf(spawnSync('rg', ['--version']).status === 0)(
    'rg: the tool returns its lines, and those of hidden files',
    async () => {
      for (const command of ['rg -n check src', 'rg -in check src']) {
        const { printed, read } = await both(command);
        const seen = lines(read).filter((line) => !line.includes('/.'));
        expect(sorted(seen)).toEqual(sorted(lines(printed).map((line) => line.replace(/\r$/, ''))));
      }
      const { printed, read } = await both('rg -n check src/a.ts');
      expect(lines(read).map((line) => line.replace(/^[^:]*:/, ''))).toEqual(lines(printed));
    },
  );
});
