// Which shell commands have a read-only alternative; every other command has none.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newestRules } from '../../reducers/rules/known-rules.ts';
import { readAlternative as readAlternativeBy } from '../../reducers/shell/read.ts';
import { SHELL_READS_1 } from '../../reducers/shell/read-table.ts';
import { SHELL_LINE_CHARS_MAX } from '../../schemas/limits.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { hostTools } from '../../src/toolsets/host-tools.ts';
import { negatives, positives } from '../support/rules/commands.ts';

const readAlternative = (command: string | readonly string[], cwd?: string, workspace?: string) =>
  readAlternativeBy(newestRules(), command, cwd, workspace);

describe('the table of tools', () => {
  const propertiesOf = (tool: ToolSpec | undefined): readonly string[] =>
    Object.keys(tool?.input_schema['properties'] ?? {});

  test.each(Object.entries(SHELL_READS_1.reads))(
    '%s names a read-only host tool and its arguments',
    (_operation, entry) => {
      const tool = hostTools().find(({ tool_id }) => tool_id === entry.tool_id);
      expect(tool).toMatchObject({ read_only: true });
      expect(propertiesOf(tool)).toEqual(
        expect.arrayContaining([...Object.values(entry.names), ...Object.keys(entry.fixed)]),
      );
    },
  );

  test('each row is recommended for a command of `positives`', () => {
    const recommended = new Set(positives.map(([command]) => readAlternative(command)?.tool_id));
    const unused = Object.entries(SHELL_READS_1.reads).filter(([, { tool_id }]) => !recommended.has(tool_id));
    expect(
      unused.map(
        ([operation]) => `${operation}: add a row to READERS in reducers/shell/read.ts, and its command to positives`,
      ),
    ).toEqual([]);
  });

  test('the tool that runs commands takes the arguments the table names', () => {
    const { effect_kind, argumentList, folder } = SHELL_READS_1.commands;
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
