// host.fs.edit_file: which passages match, exactly or in the fuzzy view, and what replaces them.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Edited, editText } from '../../../bridge/host/edit/edit-text.ts';
import { foldText } from '../../../bridge/host/edit/folded-text.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';

const edit = (text: string, oldText: string, newText: string, all = false): Edited =>
  editText(text, { oldText, newText, all });
const result = (text: string, oldText: string, newText: string, all = false): string => {
  const edited = edit(text, oldText, newText, all);
  return edited.kind === 'edited' ? edited.text : `(${edited.kind})`;
};

describe('an exact match', () => {
  test('is replaced when it is the only one', () => {
    expect(edit('one two three', 'two', '2')).toEqual({
      kind: 'edited',
      text: 'one 2 three',
      replacements: 1,
      fuzzy: false,
    });
  });
  test('is ambiguous when there are several; their lines are reported', () => {
    expect(edit('alpha\nalpha\n', 'alpha', 'beta')).toEqual({
      kind: 'ambiguous',
      matches: 2,
      lines: [1, 2],
      fuzzy: false,
    });
  });
  test('is replaced everywhere with `all`', () => {
    expect(edit('alpha\nalpha\n', 'alpha', 'beta', true)).toMatchObject({ text: 'beta\nbeta\n', replacements: 2 });
  });
  test('that overlaps itself is ambiguous; `all` replaces from the left', () => {
    expect(edit('aaa', 'aa', 'b')).toMatchObject({ kind: 'ambiguous', matches: 2 });
    expect(edit('aaa', 'aa', 'b', true)).toMatchObject({ text: 'ba', replacements: 1 });
  });
  test('wins over a fuzzy match elsewhere', () => {
    expect(result('a  b\na b\n', 'a b', 'x')).toBe('a  b\nx\n');
  });
  test('is replaced literally, also when the new text has `$` patterns', () => {
    expect(result('price', 'price', '$& $1 $$')).toBe('$& $1 $$');
  });
  test('may be white space, and may be replaced by white space', () => {
    expect(result('a\t\tb', '\t\t', ' ')).toBe('a b');
    expect(result('a,b', ',', '\n')).toBe('a\nb');
    expect(result('a b', 'zz ', 'x')).toBe('(not_found)');
  });
  test('is deleted when the new text is empty', () => {
    expect(result('keep\ndrop\nkeep\n', 'drop\n', '')).toBe('keep\nkeep\n');
  });
});

describe('line ends', () => {
  test('stay those of the file, whatever the arguments use', () => {
    expect(result('one\r\ntwo\r\n', 'one\ntwo', '1\n1.5\n2')).toBe('1\r\n1.5\r\n2\r\n');
    expect(result('one\r\ntwo\r\n', 'two', '2\n3')).toBe('one\r\n2\r\n3\r\n');
    expect(result('one\ntwo\n', 'one\r\ntwo', '1\r\n2')).toBe('1\n2\n');
  });
  test('in a mixed file follow those of the passage, else those of the file', () => {
    expect(result('a\r\nb\nc\nd\n', 'a\nb', 'x\ny')).toBe('x\r\ny\nc\nd\n');
    expect(result('a\r\nb\nc\nd\n', 'd', 'x\ny')).toBe('a\r\nb\nc\nx\ny\n');
  });
  test('do not include a carriage return within a line', () => {
    expect(result('a\rb', 'a\rb', 'x')).toBe('x');
  });
  test('are not added after the last line', () => {
    expect(result('a\nb', 'b', 'c')).toBe('a\nc');
    expect(result('a\r\nb', 'a', 'c')).toBe('c\r\nb');
  });
});

describe('a fuzzy match', () => {
  test('ignores differences in white space, quotes and dashes', () => {
    expect(edit('let s = "hello   world";', 'let s = “hello world”;', 'done')).toEqual({
      kind: 'edited',
      text: 'done',
      replacements: 1,
      fuzzy: true,
    });
    expect(result('a — b', 'a - b', 'x')).toBe('x');
    expect(result('it’s', "it's", 'x')).toBe('x');
  });
  test('may span lines with other indentation', () => {
    expect(result('if (x) {\n\t\treturn 1;\n}\n', 'if (x) {\n  return 1;\n}', 'done')).toBe('done\n');
  });
  test('is ambiguous when there are several, and replaced everywhere with `all`', () => {
    expect(edit('a  b\na   b\n', 'a b', 'x')).toEqual({ kind: 'ambiguous', matches: 2, lines: [1, 2], fuzzy: true });
    expect(edit('a  b\na   b\n', 'a b', 'x', true)).toMatchObject({ text: 'x\nx\n', replacements: 2 });
  });
  test('keeps the line breaks and the indentation around it', () => {
    expect(result('x\n\tfoo  bar\ny\n', '  foo bar\n', '  baz\n')).toBe('x\n\tbaz\ny\n');
    expect(result('x\r\n\tfoo  bar\r\ny\r\n', '  foo bar\n', '  baz\n')).toBe('x\r\n\tbaz\r\ny\r\n');
  });
  test('deletes the whole line when the old text is a whole line', () => {
    expect(result('x\n\tfoo  bar\ny\n', '  foo bar\n', '')).toBe('x\ny\n');
    expect(result('x\r\n\tfoo  bar\r\ny\r\n', '  foo bar\n', '')).toBe('x\r\ny\r\n');
  });
  test('requires white space in the file where the old text has it', () => {
    expect(result('foobar  x', 'foo x', 'y')).toBe('(not_found)');
    expect(result('afoo  b', ' foo b', 'y')).toBe('(not_found)');
  });
  test('is not possible for white space alone', () => {
    expect(result('a b', '  ', 'x')).toBe('(not_found)');
  });
});

// The reference implementations: they try every substring.
const referenceFold = (text: string): string =>
  text.replaceAll(/[“”]/g, '"').replaceAll(/[—–]/g, '-').replaceAll(/\s+/g, ' ');

function referenceExact(text: string, wanted: string): readonly number[] {
  return Array.from({ length: text.length + 1 }, (_, at) => at).filter((at) => text.slice(at).startsWith(wanted));
}

function referenceFuzzy(text: string, wanted: string): readonly (readonly [number, number])[] {
  const core = referenceFold(wanted.trim());
  const found: [number, number][] = [];
  if (core === '') return found;
  const space = (unit: string | undefined): boolean => unit === undefined || unit.trim() === '';
  for (let from = 0; from < text.length; from += 1) {
    for (let to = from + 1; to <= text.length; to += 1) {
      const part = text.slice(from, to);
      if (part.trim() !== part || referenceFold(part) !== core) continue;
      if (wanted.trimStart() !== wanted && !space(text[from - 1])) continue;
      if (wanted.trimEnd() !== wanted && !space(text[to])) continue;
      found.push([from, to]);
    }
  }
  return found;
}

function referenceVerdict(count: number, all: boolean, fuzzy: boolean): object {
  if (count === 0) return { kind: 'not_found' };
  return count > 1 && !all ? { kind: 'ambiguous', matches: count, fuzzy } : { kind: 'edited', fuzzy };
}

const ANY_TEXT: unknown = expect.any(String);

/** An old text with outer white space has several right results: the examples above check those. */
function referenceReplace(text: string, wanted: string, found: readonly (readonly [number, number])[]): unknown {
  if (wanted.trim() !== wanted) return ANY_TEXT;
  let out = '';
  let at = 0;
  for (const [from, to] of found) {
    if (from < at) continue;
    out += `${text.slice(at, from)}X`;
    at = to;
  }
  return out + text.slice(at);
}

const scraps = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\t', '"', '“', '-', '—'), maxLength: 14 });
const needle = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '"', '-'), minLength: 1, maxLength: 5 });

describe('properties', () => {
  test('the matches are those of the reference, which tries every place', () => {
    fc.assert(
      fc.property(scraps, needle, fc.boolean(), (text, wanted, all) => {
        const exact = referenceExact(text, wanted);
        const fuzzy = exact.length > 0 ? [] : referenceFuzzy(text, wanted);
        const count = exact.length + fuzzy.length;
        const edited = edit(text, wanted, 'X', all);
        expect(edited).toMatchObject(referenceVerdict(count, all, exact.length === 0));
        const expected = exact.length > 0 ? text.replaceAll(wanted, () => 'X') : referenceReplace(text, wanted, fuzzy);
        expect(edited.kind === 'edited' ? edited.text : expected).toEqual(expected);
      }),
    );
  });

  test('a CRLF file is edited like the same file with LF', () => {
    fc.assert(
      fc.property(scraps, needle, scraps, (text, wanted, newText) => {
        const toCrlf = (plain: string): string => plain.replaceAll('\n', '\r\n');
        fc.pre(text.includes('\n'));
        const plain = edit(text, wanted, newText);
        const carried = edit(toCrlf(text), wanted, newText);
        expect(carried.kind).toBe(plain.kind);
        const texts = [plain, carried].map((each) => (each.kind === 'edited' ? each.text : ''));
        expect(texts[1]).toBe(toCrlf(texts[0] ?? ''));
      }),
    );
  });

  test('the offsets of folded text cover the original without gaps', () => {
    fc.assert(
      fc.property(scraps, (text) => {
        const folded = foldText(text);
        expect(folded.text).toBe(referenceFold(text));
        let at = 0;
        for (const [index, start] of folded.starts.entries()) {
          expect(start).toBe(at);
          at = folded.ends[index] ?? 0;
        }
        expect(at).toBe(text.length);
      }),
    );
  });
});

describe('host.fs.edit_file', () => {
  let host: TestHost;
  beforeAll(async () => {
    host = await makeHost({}, { sandbox: 'none' });
  });
  afterAll(() => host.end());
  const call = (path: string, old_string: string, new_string: string, more = {}): Promise<HostOutcome> =>
    host.call('host.fs.edit_file', { path, old_string, new_string, ...more });

  test('edits, deletes and inserts white space', async () => {
    host.workspace.write('plan.txt', 'state: draft\nremove me\n');
    expect(await call('plan.txt', 'draft', 'final')).toMatchObject({
      success: true,
      text: 'Updated plan.txt (1 replacement).',
      data: { replacements: 1 },
    });
    expect(await call('plan.txt', 'remove me\n', '')).toMatchObject({ success: true });
    expect(await call('plan.txt', ':', ' \t')).toMatchObject({ success: true });
    expect(host.workspace.read('plan.txt')).toBe('state \t final\n');
  });

  test('a failed edit changes nothing and states what to do next', async () => {
    host.workspace.write('same.txt', 'alpha\nalpha\n');
    const failures = [
      [await call('same.txt', 'alpha', 'beta'), 'ambiguous_matches', 'replace_all'],
      [await call('same.txt', 'gamma', 'beta'), 'edit_target_not_found', 'read the file'],
      [await call('same.txt', '', 'beta'), 'invalid_input_empty_old_string', 'write_file'],
      [await call('same.txt', 'alpha', 'alpha'), 'edit_no_change', 'nothing to change'],
      [await call('none.txt', 'a', 'b'), 'path_not_found', 'none.txt'],
      [await call('.', 'a', 'b'), 'is_directory', '.'],
    ] as const;
    for (const [outcome, code, advice] of failures) {
      expect(outcome).toMatchObject({ success: false, code });
      expect(outcome.text).toContain(advice);
    }
    expect(failures[0][0].data).toMatchObject({ matches: 2 });
    expect(host.workspace.read('same.txt')).toBe('alpha\nalpha\n');
  });

  test('a file that is not UTF-8 is refused', async () => {
    host.workspace.write('raw.bin', new Uint8Array([97, 255]));
    expect(await call('raw.bin', 'a', 'b')).toMatchObject({ success: false, code: 'invalid_utf8' });
  });

  test('a file with a million matches is refused at once', async () => {
    host.workspace.write('many.txt', 'a'.repeat(1_000_000));
    expect(await call('many.txt', 'a', 'b', { replace_all: true })).toMatchObject({ code: 'too_many_matches' });
  });
});
