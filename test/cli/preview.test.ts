// The preview of a call: it shows the change that the call makes, bounded, and no text of the call can deceive the reader.
import * as fc from 'fast-check';
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../schemas/json.ts';
import {
  PREVIEW_CHANGES_MAX,
  PREVIEW_CHARS_MAX,
  PREVIEW_COMPARE_MS_MAX,
  PREVIEW_FILE_CHARS_MAX,
  PREVIEW_LINES_MAX,
} from '../../schemas/limits.ts';
import { type Hunk, compareTexts, linesOf } from '../../src/shown/compare-texts.ts';
import { allArguments, previewCall } from '../../src/cli/preview/preview-call.ts';
import { printable } from '../../src/shown/paint.ts';
import { visible } from '../../src/shown/visible.ts';
import { workspaceFile } from '../../src/cli/preview/workspace-file.ts';

const files: Readonly<Record<string, string>> = {
  'a.txt': `${Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join('\n')}\n`,
  'twice.txt': 'same\nother\nsame\n',
  'open.txt': 'no feed',
};

function preview(tool: string, args: JsonObject, colors = false): readonly string[] {
  const readFile = (path: string): string | null => files[path] ?? null;
  return previewCall({
    tool: { tool_id: `host.fs.${tool}`, tool_name: tool },
    arguments: args,
    readFile,
    colors,
  } as never);
}

describe('previewCall', () => {
  test('in colours prints only sequences that a terminal turns off again, and none around plain lines', () => {
    const edit = { path: 'a.txt', old_string: 'line 10', new_string: 'ten\u001b[8m' };
    const lines = preview('edit_file', edit, true);
    expect(lines).toContain(' line 9');
    const sequences = lines
      .map(printable)
      .join('')
      .split('\u001b')
      .slice(1)
      .map((text) => text.slice(0, text.indexOf('m') + 1));
    expect(new Set(sequences)).toEqual(new Set(['[1m', '[22m', '[36m', '[39m', '[31m', '[32m']));
  });

  test('an edit is shown as a unified diff of its file', () => {
    const edit = { path: 'a.txt', old_string: 'line 10\nline 11\n', new_string: 'ten\n' };
    expect(preview('edit_file', edit)).toEqual([
      '» edit_file',
      '» a.txt (+1 -2)',
      '@@ -7,8 +7,7 @@',
      ' line 7',
      ' line 8',
      ' line 9',
      '-line 10',
      '-line 11',
      '+ten',
      ' line 12',
      ' line 13',
      ' line 14',
    ]);
  });

  test('an edit that would not apply is shown as its passages, with the reason', () => {
    const passages = ['-nowhere', '+x'];
    const edit = (path: string, old_string: string): readonly string[] =>
      preview('edit_file', { path, old_string, new_string: 'x' }).slice(1);
    expect(edit('a.txt', 'nowhere')).toEqual([expect.stringContaining('does not contain the passage'), ...passages]);
    expect(edit('gone.txt', 'nowhere')).toEqual([expect.stringContaining('no such file'), ...passages]);
    expect(edit('twice.txt', 'same')).toEqual([expect.stringContaining('2 times'), '-same', '+x']);
    const all = preview('edit_file', { path: 'twice.txt', old_string: 'same', new_string: 'x', replace_all: true });
    expect(all.slice(1)).toEqual(['» twice.txt (+2 -2)', '@@ -1,3 +1,3 @@', '-same', '+x', ' other', '-same', '+x']);
  });

  test('a write is shown as the difference from the current file, or as a new file', () => {
    expect(preview('write_file', { path: 'new.txt', text: 'a\nb' }).slice(1)).toEqual([
      '» new.txt: new file, 2 lines',
      '+a',
      '+b',
      '\\ no line feed at the end of the file',
    ]);
    expect(preview('write_file', { path: 'open.txt', text: 'no feed\n' }).slice(1)).toEqual([
      '» open.txt (+1 -1)',
      '@@ -1,1 +1,1 @@',
      '-no feed',
      '\\ no line feed at the end of the file',
      '+no feed',
    ]);
    expect(preview('write_file', { path: 'open.txt', text: 'no feed' }).slice(1)).toEqual(['» open.txt: no change']);
    const refused = preview('write_file', { path: 'open.txt', text: '', mode: 'create_new' });
    expect(refused[1]).toContain('would be refused');
  });

  test('a patch is shown as itself, after its changes to each file', () => {
    const patch =
      '*** Begin Patch\n*** Add File: n\n+one\n*** Update File: o\n*** Move to: p\n@@\n-x\n+y\n+z\n*** Delete File: q\n*** End Patch';
    expect(preview('apply_patch', { patch, dry_run: true })).toEqual([
      '» apply_patch',
      '» dry run: nothing is written',
      '» add n (+1 -0)',
      '» update o, moved to p (+2 -1)',
      '» delete q (+0 -0)',
      ...patch.split('\n').map((line) => `| ${line}`),
    ]);
  });

  test('any other call, and a call with wrong arguments, is shown as its arguments', () => {
    expect(preview('read_file', { path: 'a\nb', max_bytes: 7 })).toEqual([
      '» read_file',
      '| path: a',
      '|   b',
      '| max_bytes: 7',
    ]);
    for (const tool of ['write_file', 'edit_file', 'apply_patch']) {
      expect(preview(tool, { path: 7, patch: null })).toEqual([`» ${tool}`, '| path: 7', '| patch: null']);
    }
    expect(preview('toString', {})).toEqual(['» toString']);
  });

  test('a file that cannot be read or is too long is not compared', () => {
    const tool = { tool_id: 'host.fs.write_file', tool_name: 'write_file' } as never;
    const shown = (readFile: () => string): readonly string[] =>
      previewCall({ tool, arguments: { path: 'a', text: 'b\n' }, readFile });
    const throwing = (): string => {
      throw new Error('it is not a regular file');
    };
    expect(shown(throwing)).toEqual(['» write_file', expect.stringContaining('it is not a regular file'), '+b']);
    expect(shown(() => 'x'.repeat(PREVIEW_FILE_CHARS_MAX + 1))[1]).toContain('too long to compare');
  });

  test('is bounded in lines, in characters of a line, and in total characters', () => {
    const many = preview('write_file', { path: 'n', text: 'x\n'.repeat(1_000) });
    expect(many).toHaveLength(PREVIEW_LINES_MAX + 1);
    expect(many.at(-1)).toBe(`… ${1_002 - PREVIEW_LINES_MAX} more lines`);
    expect(preview('write_file', { path: 'n', text: `${'y'.repeat(399)}😀zz\n` }).at(-1)).toBe(
      `+${'y'.repeat(399)} … 4 more characters`,
    );
    const wide = preview('write_file', { path: 'n', text: `${'\u200b'.repeat(400)}\n`.repeat(100) });
    expect(wide.join('\n').length).toBeLessThan(PREVIEW_CHARS_MAX + 200);
    expect(wide.at(-1)).toMatch(/^… \d+ more lines$/);
  });

  test('colours only on request, and colours change no text', () => {
    const edit = { path: 'a.txt', old_string: 'line 10', new_string: 'ten' };
    const colored = preview('edit_file', edit, true);
    // eslint-disable-next-line no-control-regex
    expect(colored.map((line) => printable(line).replace(/\u001b\[\d+m/g, ''))).toEqual(preview('edit_file', edit));
    expect(colored.map(printable)).toContain('\u001b[32m+ten\u001b[39m');
  });
});

describe('hostile text', () => {
  test('control characters and invisible characters are shown as pictures or code points', () => {
    expect(visible('a\u001b[2J\rb\u0007\u007f\u009b1m')).toBe('a␛[2J␍b␇␡<U+009B>1m');
    expect(visible('\u202eevil\u2066\u200b\u2028\u{e0041}')).toBe('<U+202E>evil<U+2066><U+200B><U+2028><U+E0041>');
    expect(visible('\ufff9\u3164')).toBe('<U+FFF9><U+3164>');
    expect(visible('\ud800 tab\there ä😀')).toBe('<U+D800> tab\there ä😀');
  });

  const hostile = fc.array(
    fc.oneof(
      fc.string(),
      fc.constantFrom('\u001b[2K', '\n', '\r', '» ', '+', '@@ ', '… 3 more lines', '\u202e', '\u009b'),
    ),
  );
  test('no line of a call can imitate a line of refold', () => {
    const text = hostile.map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        fc.constantFrom('write_file', 'edit_file', 'apply_patch', 'other'),
        text,
        text,
        text,
        (tool, a, b, c) => {
          const args = { path: a, text: b, old_string: b, new_string: c, patch: c, [c]: a };
          const lines = preview(tool, args);
          for (const line of lines) {
            expect(line).toMatch(/^(?:» |[ +-]|\| |@@ -\d+,\d+ \+\d+,\d+ @@$|\\ no line feed|… \d+ more lines?$)/);
            // eslint-disable-next-line no-control-regex
            expect(line).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u202e]/);
          }
        },
      ),
    );
  });
});

/** The lines of one side of a hunk, without their marks. */
const side = ({ lines }: Hunk, leaving: '+' | '-'): readonly string[] =>
  lines.filter((line) => !line.startsWith(leaving) && !line.startsWith('\\')).map((line) => line.slice(1));

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const isChange = (line: string): boolean => /^[+-]/.test(line);

describe('compareTexts', () => {
  test('hunks hold every change, and are at the lines that they name', () => {
    const changed = fc.array(fc.nat(99), { maxLength: 8 });
    fc.assert(
      fc.property(changed, changed, (dropped, doubled) => {
        const before = Array.from({ length: 100 }, (_, index) => `${index}`);
        const after = before.flatMap((line, index) => [
          ...(dropped.includes(index) ? [] : [line]),
          ...(doubled.includes(index) ? [`new ${line}`] : []),
        ]);
        const hunks = compareTexts(textOf(before), textOf(after));
        for (const hunk of hunks) {
          const { oldStart, oldLines, newStart, newLines, lines } = hunk;
          expect(side(hunk, '+')).toEqual(before.slice(oldStart - 1, oldStart - 1 + oldLines));
          expect(side(hunk, '-')).toEqual(after.slice(newStart - 1, newStart - 1 + newLines));
          expect(lines.findIndex(isChange)).toBeLessThanOrEqual(3);
          expect(lines.map((line) => line[0]).join('')).not.toContain(' '.repeat(7));
          expect(lines.toReversed().findIndex(isChange)).toBeLessThanOrEqual(3);
        }
        const changes = hunks.flatMap(({ lines }) => lines.filter(isChange));
        expect(changes.filter((line) => line.startsWith('-'))).toHaveLength(new Set(dropped).size);
        expect(changes.filter((line) => line.startsWith('+'))).toHaveLength(new Set(doubled).size);
      }),
    );
  });

  const numbered = (name: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `${name} ${index}`);

  test('texts with as many changes as the limit are compared; with more, everything that differs is one hunk', () => {
    const before = numbered('old', PREVIEW_CHANGES_MAX);
    const after = before.map((line, index) => (index % 2 === 0 ? line : `new ${index}`));
    const [hunk] = compareTexts(textOf(before), textOf(after));
    expect(hunk?.lines.filter((line) => line.startsWith('-'))).toHaveLength(PREVIEW_CHANGES_MAX / 2);
    const [head, tail] = [numbered('head', 10), numbered('tail', 10)];
    const [more, other] = [
      [...head, ...numbered('x', PREVIEW_CHANGES_MAX), 'middle', ...tail],
      [...head, 'middle', ...numbered('y', PREVIEW_CHANGES_MAX), ...tail],
    ];
    const replaced = compareTexts(textOf(more), textOf(other));
    expect(replaced).toMatchObject([
      { oldStart: 8, oldLines: PREVIEW_CHANGES_MAX + 7, newStart: 8, newLines: PREVIEW_CHANGES_MAX + 7 },
    ]);
    expect(replaced[0]?.lines.filter((line) => line.startsWith(' '))).toEqual(
      [...head.slice(-3), ...tail.slice(0, 3)].map((line) => ` ${line}`),
    );
  });

  test('a last line without a line feed is marked, in a replacement too', () => {
    const [lines] = compareTexts('a\n', 'a').map((hunk) => hunk.lines);
    expect(lines).toEqual(['-a', '+a', '\\ No newline at end of file']);
    const [before, after] = ['x', 'y'].map((name) => numbered(name, PREVIEW_CHANGES_MAX).join('\n'));
    const [replaced] = compareTexts(before ?? '', after ?? '').map((hunk) => hunk.lines);
    expect(replaced?.filter((line) => line.startsWith('\\'))).toHaveLength(2);
  });

  test('long files that differ in every line are compared in bounded time', () => {
    const lines = (name: string): string => `${name}\n`.repeat(PREVIEW_FILE_CHARS_MAX / 16);
    const startedAt = performance.now();
    const [hunk] = compareTexts(lines('a'), lines('b'));
    expect(hunk?.lines).toHaveLength(PREVIEW_FILE_CHARS_MAX / 8);
    expect(performance.now() - startedAt).toBeLessThan(PREVIEW_COMPARE_MS_MAX + 10_000);
  });

  test('linesOf keeps every character', () => {
    expect(linesOf('')).toEqual([]);
    expect(linesOf('a\n\nb')).toEqual(['a\n', '\n', 'b']);
  });
});

describe('workspaceFile', () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'refold-preview-'));
    mkdirSync(join(base, 'workspace/sub'), { recursive: true });
    writeFileSync(join(base, 'workspace/a.txt'), 'inside');
    writeFileSync(join(base, 'secret'), 'outside');
    writeFileSync(join(base, 'workspace/binary'), new Uint8Array([0xff, 0xfe]));
    writeFileSync(join(base, 'workspace/long'), 'x'.repeat(PREVIEW_FILE_CHARS_MAX + 1));
    symlinkSync('../secret', join(base, 'workspace/link'));
    symlinkSync('loop', join(base, 'workspace/loop'));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  test('reads text files of the workspace and refuses everything else', () => {
    const read = workspaceFile(join(base, 'workspace'));
    expect(read('a.txt')).toBe('inside');
    expect(read('sub/../a.txt')).toBe('inside');
    expect(read('none')).toBeNull();
    for (const path of ['../secret', 'link', join(base, 'secret')]) expect(() => read(path)).toThrow('outside');
    expect(() => read('sub')).toThrow('not a regular file');
    expect(() => read('binary')).toThrow('not UTF-8');
    expect(() => read('long')).toThrow('bytes');
    expect(() => read('loop')).toThrow('cannot be resolved');
    expect(() => read('a\0b')).toThrow('cannot be resolved');
  });
});

describe('a line that is longer than the terminal is wide', () => {
  const columns = 78;
  const padded = (text: string): string => text.padEnd(columns + 2);
  const forged = [padded('"]'), padded('  allow? y/N n'), padded('call_0 still waits'), padded('? show_order')].join(
    '',
  );

  test.each([0, 1, 7, 40, 76])('has its mark on each row: %s spaces before', (before) => {
    const lines = allArguments({ argv: ['ls', ' '.repeat(before) + forged] }, { columns });
    expect(lines.length).toBeGreaterThan(4);
    expect(lines.filter((line) => !line.startsWith('| ') || line.length > columns)).toEqual([]);
  });

  test('counts what may be wide as wide, and loses nothing', () => {
    const text = `${'漢'.repeat(200)}\t${'x'.repeat(90)}`;
    const lines = allArguments({ text: [text] }, { columns });
    expect(lines.map((line) => line.slice(2)).join('')).toContain('漢'.repeat(200));
    expect(Math.max(...lines.map((line) => line.length + (line.match(/漢/g) ?? []).length))).toBeLessThanOrEqual(
      columns,
    );
  });

  test('is broken in previews of files too', () => {
    const readFile = (): null => null;
    const tool = { tool_id: 'host.fs.write_file', tool_name: 'write_file' } as never;
    const lines = previewCall({ tool, arguments: { path: 'a', text: forged }, readFile, columns }).slice(2);
    expect(lines.filter((line) => !/^\+|^\\ no line feed/.test(line) || line.length > columns)).toEqual([]);
  });
});
