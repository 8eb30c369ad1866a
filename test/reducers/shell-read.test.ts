// Which shell commands have a read-only alternative; every other command has none.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readAlternative } from '../../reducers/shell-read.ts';
import { COMMAND_TOOLS, READ_TOOLS } from '../../reducers/shell-read-table.ts';
import { SHELL_LINE_CHARS_MAX } from '../../schemas/limits.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { hostTools } from '../../src/toolsets/host-tools.ts';

type Row = readonly [command: string | readonly string[], tool: string, args: object];

const positives: readonly Row[] = [
  ['cat guide.md', 'read_file', { path: 'guide.md' }],
  ["cat 'my notes (old).md'", 'read_file', { path: 'my notes (old).md' }],
  ['cat "my notes".md', 'read_file', { path: 'my notes.md' }],
  ['cat ./src//a.ts', 'read_file', { path: 'src/a.ts' }],
  [['cat', 'a b.md'], 'read_file', { path: 'a b.md' }],
  [['bash', '-c', 'cat guide.md'], 'read_file', { path: 'guide.md' }],
  [['/bin/sh', '-c', 'cat guide.md'], 'read_file', { path: 'guide.md' }],
  [['bash', '-lc', 'cat guide.md'], 'read_file', { path: 'guide.md' }],
  ['head guide.md', 'read_file', { path: 'guide.md' }],
  ['head -n 3 guide.md', 'read_file', { path: 'guide.md' }],
  ['head -n3 guide.md', 'read_file', { path: 'guide.md' }],
  ['head -20 guide.md', 'read_file', { path: 'guide.md' }],
  ['head -c 10 guide.md', 'read_file', { path: 'guide.md', max_bytes: 10 }],
  ["sed -n '10,20p' guide.md", 'read_file', { path: 'guide.md' }],
  [['sed', '-n', '10,20p', 'guide.md'], 'read_file', { path: 'guide.md' }],
  ['wc -c guide.md', 'stat', { path: 'guide.md' }],
  ['ls', 'list_dir', { max_results: 10_000 }],
  ['ls src', 'list_dir', { path: 'src', max_results: 10_000 }],
  ['ls -a1 src/', 'list_dir', { path: 'src', max_results: 10_000 }],
  ["find src -type f -name '*.ts'", 'glob', { pattern: '**/*.ts', path: 'src', max_results: 10_000 }],
  ["find -name '*.t[sx]' -type f", 'glob', { pattern: '**/*.t[sx]', max_results: 10_000 }],
  [['find', '.', '-type', 'f', '-name', '*.ts'], 'glob', { pattern: '**/*.ts', max_results: 10_000 }],
  ['grep permissions_check a.ts', 'grep', { pattern: 'permissions_check', path: 'a.ts', max_results: 10_000 }],
  ['grep -in check a.ts', 'grep', { pattern: 'check', path: 'a.ts', case_insensitive: true, max_results: 10_000 }],
  ['grep -Rn check src', 'grep', { pattern: 'check', path: 'src', max_results: 10_000 }],
  ['grep -rn check', 'grep', { pattern: 'check', max_results: 10_000 }],
  [
    "grep -rn --include='*.ts' check src",
    'grep',
    { pattern: 'check', path: 'src', glob_filter: '*.ts', max_results: 10_000 },
  ],
  ["grep '^export' a.ts", 'grep', { pattern: '^export', path: 'a.ts', max_results: 10_000 }],
  ["grep 'f(x)+' a.ts", 'grep', { pattern: 'f\\(x\\)\\+', path: 'a.ts', max_results: 10_000 }],
  ["grep -F 'a.b' a.ts", 'grep', { pattern: 'a\\.b', path: 'a.ts', max_results: 10_000 }],
  ["grep -E 'a|^b' a.ts", 'grep', { pattern: 'a|^b', path: 'a.ts', max_results: 10_000 }],
  ['rg -n check a.ts', 'grep', { pattern: 'check', path: 'a.ts', max_results: 10_000 }],
  ['rg check', 'grep', { pattern: 'check', max_results: 10_000 }],
  ['rg -i check src', 'grep', { pattern: 'check', path: 'src', case_insensitive: true, max_results: 10_000 }],
];

describe('the table of tools', () => {
  const propertiesOf = (tool: ToolSpec | undefined): readonly string[] =>
    Object.keys(tool?.input_schema['properties'] ?? {});

  test.each(Object.entries(READ_TOOLS))('%s names a read-only host tool and its arguments', (_operation, entry) => {
    const tool = hostTools().find(({ tool_id }) => tool_id === entry.tool_id);
    expect(tool).toMatchObject({ read_only: true });
    expect(propertiesOf(tool)).toEqual(
      expect.arrayContaining([...Object.values(entry.names), ...Object.keys(entry.fixed)]),
    );
  });

  test('each row is recommended for a command of `positives`', () => {
    const recommended = new Set(positives.map(([command]) => readAlternative(command)?.tool_id));
    const unused = Object.entries(READ_TOOLS).filter(([, { tool_id }]) => !recommended.has(tool_id));
    expect(
      unused.map(
        ([operation]) => `${operation}: add a rule to RULES in reducers/shell-read.ts, and its command to positives`,
      ),
    ).toEqual([]);
  });

  test('the tool that runs commands takes the arguments the table names', () => {
    const { effect_kind, argumentList, folder } = COMMAND_TOOLS;
    const tool = hostTools().find(({ executor }) => executor.kind === 'effect' && executor.effect_kind === effect_kind);
    expect(propertiesOf(tool)).toEqual(expect.arrayContaining([argumentList, folder]));
  });
});

describe('commands with an alternative', () => {
  test.each(positives)('%j', (command, tool, args) => {
    const found = readAlternative(command);
    expect(found).toMatchObject({ tool_id: `host.fs.${tool}`, arguments: args });
    expect(Object.keys(found?.arguments ?? {}).sort()).toEqual(Object.keys(args).sort());
  });

  test('paths are relative to the workspace, also when the command runs in another folder', () => {
    const args = (command: string, cwd: string, workspace?: string): unknown =>
      readAlternative(command, cwd, workspace)?.arguments;
    expect(args('cat a.ts', 'src')).toEqual({ path: 'src/a.ts' });
    expect(args('cat ../a.ts', 'src')).toEqual({ path: 'a.ts' });
    expect(args("find -type f -name '*.ts'", 'src')).toMatchObject({ path: 'src' });
    expect(args('rg -n Q', 'src')).toMatchObject({ path: 'src' });
    expect(args('cat ../../a.ts', 'src')).toBeUndefined();
    expect(args('cat /etc/passwd', '.')).toBeUndefined();
    expect(args('cat /ws/a.ts', 'src', '/ws')).toEqual({ path: 'a.ts' });
    expect(args('cat b.ts', '/ws/src', '/ws/')).toEqual({ path: 'src/b.ts' });
    expect(args('cat /wsx/a.ts', 'src', '/ws')).toBeUndefined();
    expect(args('cat /ws/../etc/passwd', 'src', '/ws')).toBeUndefined();
    expect(args('cat b.ts', '/elsewhere', '/ws')).toBeUndefined();
  });
});

const negatives: readonly (string | readonly string[])[] = [
  // More than one simple command, or less than plain words.
  'ls && rm -rf notes',
  'cat a > b',
  'cat a | sh',
  'head -n 3 a; rm a',
  'cat $(rm -rf x)',
  'cat `rm -rf x`',
  'cat foo>out.txt',
  'cat <foo',
  'ls *.md',
  'ls ?.md',
  'ls [ab].md',
  'ls {a,b}',
  "cat ''",
  'cat ""',
  'cat "$HOME"',
  'cat "`x`"',
  'cat "a\\b"',
  'cat "a!b"',
  'cat $HOME/x',
  'cat ~/x',
  'cat a\\ b',
  'cat a\nrm b',
  'cat a\rb',
  "cat 'a\nb'",
  'cat a & rm b',
  'cat a # b',
  'cat !x',
  "cat 'a",
  'cat "a',
  'cat a"',
  'FOO=1 ls',
  'env X=1 ls',
  '=ls a',
  '',
  '   ',
  '\u{d800}',
  [],
  [''],
  // Lists of arguments with words that only a shell would expand.
  ['cat', 'a', '>', 'b'],
  ['ls', '*.md'],
  ['cat', '$HOME/x'],
  ['cat', '"a"'],
  ['cat', 'a\0b'],
  ['bash', '-c', 'ls && rm -rf notes'],
  ['bash', '-c', 'cat "$0"', 'a'],
  ['bash', '-x', 'cat a'],
  ['bash', 'cat'],
  ['bash', '-c'],
  ['bash', 'wc', '--files0-from=a'],
  'bash wc --files0-from=a',
  // Programs that no read-only tool replaces.
  'pwd',
  'env',
  'echo a',
  'git status',
  'basename a',
  'realpath .',
  'constructor a',
  'toString a',
  '__proto__ a',
  'stat a',
  // Output that no read-only tool returns.
  'cat',
  'cat a b',
  'cat -n a',
  'cat -',
  'cat --help',
  'cat a/',
  'cat .',
  'cat a/../b',
  'ls -l',
  'ls -la src',
  'ls -R',
  'ls -lh',
  'ls a b',
  'ls --recursive',
  'ls src -l',
  'head -n 0 a',
  'head -n -3 a',
  'head -n 100000 a',
  'head -n 3',
  'head -n 3 a b',
  'head -3 4 a',
  'head -c3 4 a',
  ['head', '-c 10', 'a'],
  'head a b',
  'tail a',
  'tail -n 3 a',
  'tail -f a',
  "sed -n '5,3p' a",
  'sed -n 5p a',
  'sed -i s/a/b/ a',
  "sed '1,2p' a",
  "sed -n '1,2p' a b",
  "sed -n '1,2p'",
  "sed -n '1,2w' a",
  "sed -n '1,100000p' a",
  'wc a',
  'wc -l a',
  'wc -c a b',
  'wc --files0-from=a',
  'find src',
  "find src -name '*.ts'",
  'find src -type d -name agents',
  'find . -type l -name a',
  'find . -type f -name x -delete',
  'find . -delete -type f -name x',
  'find . -type f -name x -exec rm x',
  "find . -type f -name 'a/b'",
  "find . -type f -name '**'",
  "find . -type f -name '[a-z]'",
  "find . -type f -name '{a,b}'",
  "find '!' -type f -name x",
  'find a b -type f -name x',
  'find . -name x -name y',
  'grep foo',
  'grep foo src/',
  'grep foo .',
  'grep -e foo a',
  'grep -c foo a',
  'grep -l foo a',
  'grep -v foo a',
  'grep -w foo a',
  'grep -n foo a b',
  'grep foo a -v',
  "grep 'a.b' a",
  "grep 'a*' a",
  "grep 'a$' a",
  "grep '[ab]' a",
  "grep '^' a",
  "grep '' a",
  "grep -E 'a+' a",
  "grep -E 'a||b' a",
  "grep -E '(a)' a",
  "grep -i 'ä' a",
  "grep --include='*.ts' foo a",
  "grep -r --include='a/b' foo",
  "grep -r --include='*.a' --include='*.b' foo",
  "grep -f 'a' b",
  "rg -g '*.ts' foo",
  'rg x a b',
  'rg -l foo',
  "rg 'a.b'",
  'rg -z foo',
];

describe('commands without an alternative', () => {
  test.each(negatives.map((command) => [command]))('%j', (command) => {
    expect(readAlternative(command)).toBeNull();
  });

  test('a folder that is not plain or lies outside the workspace has none', () => {
    for (const cwd of ['', '..', 'a/../..', 'a\nb', '-a', '/etc', 'a/..']) {
      expect(readAlternative('ls', cwd)).toBeNull();
    }
  });
});

const bare = fc.stringMatching(/^[a-z0-9_./@%+,:=-]{0,8}$/);
const meta = fc.constantFrom(...Array.from('|&;<>()$`\\*?[]{}~!#\n\r\0'));
const quoted = fc.stringMatching(/^[a-z |;&*<>]{0,6}$/).map((text) => `'${text}'`);
const piece = fc.oneof(bare, quoted, fc.constant(' '));
/** Each command of `positives` without its last word, where any name may follow. */
const heads = positives.flatMap(([command]) =>
  typeof command === 'string' ? [command.slice(0, command.lastIndexOf(' ') + 1)] : [],
);
const program = fc.constantFrom(...new Set(heads.filter((head) => readAlternative(`${head}x`) !== null)));

describe('laws', () => {
  test('a special character outside quotes leaves no alternative', () => {
    const part = fc.oneof(fc.stringMatching(/^[a-z0-9_@%+,:=-]{0,8}$/), quoted);
    const line = fc.tuple(fc.constantFrom('cat ', 'head -3 ', 'ls ', 'grep x '), fc.array(part), fc.array(part));
    fc.assert(
      fc.property(line, meta, ([head, before, after], special) => {
        const around = (middle: string): string => `${head}x${before.join('')}${middle}${after.join('')}`;
        expect(readAlternative(around('x'))).not.toBeNull();
        expect(readAlternative(around(special))).toBeNull();
        expect(readAlternative(['bash', '-c', around(special)])).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  test('it never throws and never names a path outside the workspace', () => {
    const word = fc.oneof(bare, fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('cat', '-n', 'ls', '..'));
    const command = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(word),
      fc.tuple(program, fc.array(piece)).map(([head, rest]) => head + rest.join('')),
    );
    fc.assert(
      fc.property(command, fc.option(word, { nil: undefined }), (given, cwd) => {
        const path = readAlternative(given, cwd)?.arguments['path'] ?? 'none';
        expect(path).toEqual(expect.stringMatching(/^[^/]/));
        expect((path as string).split('/')).not.toContain('..');
      }),
      { numRuns: 3_000 },
    );
  });

  test('a command longer than the limit has no alternative', () => {
    const fitting = 'a'.repeat(SHELL_LINE_CHARS_MAX - 'cat '.length);
    expect(readAlternative(`cat ${fitting}`)).not.toBeNull();
    expect(readAlternative(`cat ${fitting}a`)).toBeNull();
    expect(readAlternative(['cat', `${fitting}a`])).toBeNull();
    expect(readAlternative(['bash', '-c', `cat ${fitting}a`])).toBeNull();
  });

  test('quoted parts without space between them are one word', () => {
    expect(readAlternative(`cat ${"'a'".repeat(2_000)}`)?.arguments).toEqual({ path: 'a'.repeat(2_000) });
  });
});
