// What a call of a file tool would change, found by the code that makes the change; and the comparison before such a call runs.
import { execFileSync } from 'node:child_process';
import { linkSync, symlinkSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { HOST_PREVIEWS } from '../../../bridge/host/preview/host-previews.ts';
import { refuseOther } from '../../../bridge/host/preview/previewed-files.ts';
import { pathOf } from '../../../bridge/host/workspace/path-name.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import {
  PREVIEW_CHARS_MAX,
  PREVIEW_FILE_BYTES_MAX,
  PREVIEW_FILES_MAX,
  PREVIEW_LINES_MAX,
  PREVIEW_PATHS_CHARS_MAX,
} from '../../../schemas/limits.ts';
import { digestText } from '../../../schemas/index.ts';
import { readDiff } from '../../../src/shown/diff-lines.ts';
import { defaultToolPackage } from '../../../src/toolsets/default-package.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';

const [WRITE, EDIT, PATCH] = ['host.fs.write_file', 'host.fs.edit_file', 'host.fs.apply_patch'];

let host: TestHost | undefined;
afterEach(async () => {
  await host?.end();
  host = undefined;
});

async function given(files: Readonly<Record<string, string | Uint8Array>> = {}, secrets: readonly string[] = []) {
  host = await makeHost(files, { sandbox: 'none', secrets });
  return host;
}

/** The preview; fails when there is none. */
function shown(of: TestHost, tool: string, args: JsonObject) {
  const preview = of.preview(tool, args);
  if ('code' in preview) throw new Error(`${preview.code}: ${preview.message}`);
  return preview;
}

const reason = (of: TestHost, tool: string, args: JsonObject): string => {
  const preview = of.preview(tool, args);
  return 'code' in preview ? preview.code : 'none';
};

const patch = (...lines: readonly string[]): JsonObject => ({
  patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n'),
});

test('the tools that say in their specs that they make previews are those that make them', () => {
  const specs = defaultToolPackage().registry.filter((spec) => spec.preview === true);
  expect(specs.map(({ tool_id }) => tool_id).sort()).toEqual([...HOST_PREVIEWS.keys()].sort());
});

describe('a preview', () => {
  test.each<[string, string, JsonObject, Readonly<Record<string, string>>]>([
    ['a new file', WRITE, { path: 'new.txt', text: 'x\n' }, {}],
    ['a file that is written anew', WRITE, { path: 'a.txt', text: 'one\nTWO\n' }, { 'a.txt': 'one\ntwo\n' }],
    ['an edit', EDIT, { path: 'a.txt', old_string: 'two', new_string: 'TWO' }, { 'a.txt': 'one\ntwo\n' }],
    [
      'an edit that ignores white space',
      EDIT,
      { path: 'a.txt', old_string: '“two”  x', new_string: 'TWO' },
      { 'a.txt': 'one\n"two" x\n' },
    ],
    [
      'a patch of several files',
      PATCH,
      patch('*** Add File: sub/n', '+n', '*** Update File: a.txt', '@@', '-two', '+2', '*** Delete File: b.txt'),
      { 'a.txt': 'one\ntwo\n', 'b.txt': 'b' },
    ],
    [
      'a patch that moves a file',
      PATCH,
      patch('*** Update File: a.txt', '*** Move to: c.txt', '@@', '-two', '+2'),
      { 'a.txt': 'one\ntwo\n' },
    ],
  ])(
    'of %s names what the call then changes, with the files as they were, and writes nothing',
    async (_, tool, args, files) => {
      const of = await given(files);
      const { files: named, diff } = shown(of, tool, args);
      expect(of.workspace.list()).toEqual(Object.keys(files).sort());
      const { changes = [], success } = await of.call(tool, args, { previewed: named });
      expect(success).toBe(true);
      const before = (value: unknown): string | null => (Buffer.isBuffer(value) ? digestText(value.toString()) : null);
      expect(named).toEqual(changes.map((change) => ({ path: change.path, before: before(change.before) })));
      for (const { path } of named) expect(diff).toContain(path);
      expect(readDiff(diff).map(({ mark }) => mark)).not.toContain('|');
    },
  );

  test('is a unified diff with the notes of the terminal', async () => {
    const of = await given({ 'a.txt': 'one\ntwo\nthree\n' });
    expect(shown(of, EDIT, { path: './a.txt', old_string: 'two', new_string: '2' }).diff.split('\n')).toEqual([
      '» a.txt (+1 -1)',
      '@@ -1,3 +1,3 @@',
      ' one',
      '-two',
      '+2',
      ' three',
    ]);
    expect(shown(of, PATCH, { ...patch('*** Delete File: a.txt'), dry_run: true })).toEqual({
      diff: '» no file would change',
      files: [],
    });
  });

  test('shows a file that is not text by its size', async () => {
    const of = await given({ bin: new Uint8Array([0xff, 0xfe, 0]) });
    const { diff, files } = shown(of, WRITE, { path: 'bin', text: 'x\n' });
    expect(diff.split('\n')).toEqual(['» bin: the present content is not UTF-8 text, 3 bytes', '+x']);
    expect(files).toHaveLength(1);
  });

  test('is cut at its bounds and says so', async () => {
    const of = await given();
    const many = shown(of, WRITE, { path: 'n', text: 'x\n'.repeat(PREVIEW_LINES_MAX + 41) });
    expect(many.diff.split('\n').at(-1)).toBe('» … 42 more lines');
    const wide = shown(of, WRITE, { path: 'n', text: `${'\u202e'.repeat(399)}\n`.repeat(190) });
    expect(wide.diff.length).toBeLessThanOrEqual(PREVIEW_CHARS_MAX);
    expect(wide.diff).toMatch(/» … \d+ more lines$/);
    const long = shown(of, WRITE, { path: 'n', text: 'x'.repeat(PREVIEW_FILE_BYTES_MAX) });
    expect(long.diff.length).toBeLessThan(1_000);
  });

  test('cannot be imitated by what a file or a name holds', async () => {
    const of = await given({ 'a.txt': '» b.txt (+0 -0)\n@@ -1,1 +1,1 @@\n' });
    const { diff } = shown(of, WRITE, { path: 'a.txt', text: '» done\n' });
    expect(readDiff(diff).map(({ mark }) => mark)).toEqual(['note', 'place', '-', '-', '+']);
    const named = shown(of, WRITE, { path: 'x\n» y', text: '' });
    expect(named.diff.split('\n')).toHaveLength(1);
  });

  test('holds no secret, and none that stands in several lines', async () => {
    const secret = 'BEGIN-KEY\nabcdef0123456789\nEND-KEY';
    const of = await given({ 'a.env': `x=1\n${secret}\n` }, [secret]);
    const { diff } = shown(of, WRITE, { path: 'a.env', text: `x=2\nnothing\n` });
    expect(diff).not.toContain('abcdef0123456789');
    expect(diff).toContain('-‹secret›');
  });
});

describe('there is no preview, and a reason', () => {
  test.each<[string, string, JsonObject, string]>([
    ['for a path outside', WRITE, { path: '../x', text: '' }, 'forbidden'],
    ['for a file that is not there', EDIT, { path: 'no', old_string: 'a', new_string: 'b' }, 'path_not_found'],
    [
      'for a passage that is not there',
      EDIT,
      { path: 'a.txt', old_string: 'z', new_string: 'b' },
      'edit_target_not_found',
    ],
    ['for a file that must be new', WRITE, { path: 'a.txt', text: '', mode: 'create_new' }, 'file_exists'],
    ['for a folder that is missing', WRITE, { path: 'no/x', text: '' }, 'parent_not_found'],
    ['for a repository', WRITE, { path: '.git/config', text: '' }, 'forbidden'],
    ['for a broken patch', PATCH, { patch: 'nothing' }, 'patch_parse_error'],
    ['for wrong arguments', WRITE, { path: 7, text: '' }, 'tool_invalid_args'],
    ['for a tool that makes none', 'host.exec', { argv: ['ls'] }, 'no_preview'],
    ['for a binary file', EDIT, { path: 'bin', old_string: 'a', new_string: 'b' }, 'invalid_utf8'],
    ['for a large file that is edited', EDIT, { path: 'large', old_string: 'a', new_string: 'b' }, 'file_too_large'],
    ['for a large file that is replaced', WRITE, { path: 'large', text: '' }, 'file_too_large'],
    ['for a symbolic link', WRITE, { path: 'link', text: '' }, 'forbidden'],
    ['for a hard link', WRITE, { path: 'hard', text: '' }, 'forbidden'],
    ['for a pipe', WRITE, { path: 'pipe', text: '' }, 'forbidden'],
    ['for a folder', WRITE, { path: 'dir', text: '' }, 'is_directory'],
  ])('%s', async (_, tool, args, code) => {
    const large = new Uint8Array(4 * PREVIEW_FILE_BYTES_MAX).fill(97);
    const of = await given({ 'a.txt': 'one\n', bin: new Uint8Array([0xff]), large, 'dir/x': '', other: '' });
    symlinkSync('a.txt', of.workspace.at('link'));
    linkSync(of.workspace.at('other'), of.workspace.at('hard'));
    execFileSync('mkfifo', [of.workspace.at('pipe')]);
    const before = performance.now();
    const found = reason(of, tool, args);
    expect(performance.now() - before).toBeLessThan(1_000);
    expect(found).toBe(code);
  });

  test('for more files, or longer paths, than a preview names', async () => {
    const of = await given();
    const adding = (names: readonly string[]): JsonObject =>
      patch(...names.flatMap((name) => [`*** Add File: ${name}`, '+x']));
    const names = Array.from({ length: PREVIEW_FILES_MAX + 1 }, (_, at) => `f${at}`);
    expect(shown(of, PATCH, adding(names.slice(1))).files).toHaveLength(PREVIEW_FILES_MAX);
    expect(reason(of, PATCH, adding(names))).toBe('too_many_files');
    const deep = Array.from(
      { length: 40 },
      (_, at) => `${at}${'/n'.repeat(2)}${'m'.repeat(PREVIEW_PATHS_CHARS_MAX / 40)}`,
    );
    expect(reason(of, PATCH, adding(deep))).toBe('too_many_files');
  });

  test('when the host is closed', async () => {
    const of = await given();
    await of.close();
    expect(reason(of, WRITE, { path: 'a', text: '' })).toBe('host_closed');
  });
});

describe('a call that was allowed with a preview', () => {
  const edit = { path: 'a.txt', old_string: 'two', new_string: '2' };
  const files = { 'a.txt': 'one\ntwo\n' };

  test.each<[string, (of: TestHost) => void]>([
    ['has other content', (of) => of.workspace.write('a.txt', 'one\ntwo\nthree\n')],
    ['is gone', (of) => execFileSync('rm', [of.workspace.at('a.txt')])],
    [
      'is a link now',
      (of) => {
        execFileSync('rm', [of.workspace.at('a.txt')]);
        symlinkSync('/etc/passwd', of.workspace.at('a.txt'));
      },
    ],
    [
      'is a pipe now',
      (of) => {
        execFileSync('rm', [of.workspace.at('a.txt')]);
        execFileSync('mkfifo', [of.workspace.at('a.txt')]);
      },
    ],
  ])('writes nothing when its file %s', async (_, change) => {
    const of = await given(files);
    const { files: previewed } = shown(of, EDIT, edit);
    change(of);
    const outcome = await of.call(EDIT, edit, { previewed });
    expect(outcome).toMatchObject({ success: false, code: 'changed_since_preview' });
    expect(outcome.nextAction).toContain('Read the file again');
    expect(outcome.changes).toBeUndefined();
  });

  test('writes nothing when a file has appeared that was to be new', async () => {
    const of = await given();
    const write = { path: 'n.txt', text: 'mine' };
    const { files: previewed } = shown(of, WRITE, write);
    of.workspace.write('n.txt', 'theirs');
    expect(await of.call(WRITE, write, { previewed })).toMatchObject({ code: 'changed_since_preview' });
    expect(of.workspace.read('n.txt')).toBe('theirs');
  });

  test('changes no file of a patch when one of them is different', async () => {
    const of = await given({ ...files, 'b.txt': 'b\n' });
    const args = patch('*** Update File: a.txt', '@@', '-two', '+2', '*** Update File: b.txt', '@@', '-b', '+B');
    const { files: previewed } = shown(of, PATCH, args);
    of.workspace.write('b.txt', 'b\nc\n');
    expect(await of.call(PATCH, args, { previewed })).toMatchObject({ code: 'changed_since_preview' });
    expect(of.workspace.read('a.txt')).toBe(files['a.txt']);
  });

  test('writes nothing over content that the preview did not name', async () => {
    const of = await given(files);
    const named = (path: string) => [{ path, before: digestText('other') }];
    for (const [tool, args] of [
      [EDIT, edit],
      [WRITE, { path: 'a.txt', text: 'x' }],
    ] as const) {
      expect(await of.call(tool, args, { previewed: named('a.txt') })).toMatchObject({
        code: 'changed_since_preview',
      });
    }
    expect(of.workspace.read('a.txt')).toBe(files['a.txt']);
  });

  test('the bytes that a tool has read are compared too: a file may change after the first comparison', () => {
    const previewed = [{ path: 'a.txt', before: digestText('one') }];
    expect(() => refuseOther(previewed, pathOf(['a.txt']), Buffer.from('other'))).toThrow('has changed');
    expect(() => refuseOther(previewed, pathOf(['a.txt']), null)).toThrow('has changed');
    expect(() => refuseOther([{ path: 'a.txt', before: null }], pathOf(['a.txt']), Buffer.from(''))).toThrow(
      'has changed',
    );
    refuseOther(previewed, pathOf(['a.txt']), Buffer.from('one'));
    refuseOther(previewed, pathOf(['b.txt']), null);
    refuseOther(undefined, pathOf(['a.txt']), null);
  });

  test('runs as allowed while its files are as they were', async () => {
    const of = await given(files);
    const { files: previewed } = shown(of, EDIT, edit);
    of.workspace.write('other.txt', 'changed');
    expect(await of.call(EDIT, edit, { previewed })).toMatchObject({ success: true });
    expect(of.workspace.read('a.txt')).toBe('one\n2\n');
  });
});
