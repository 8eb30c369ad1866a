// host.fs.apply_patch: where hunks match, what they change, and that a refused patch writes nothing.
import * as fc from 'fast-check';
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { prevailingEnd, splitLines } from '../../../bridge/host/edit/lines.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import type { ToolFault } from '../../../bridge/host/outcome.ts';
import { applyHunks } from '../../../bridge/host/patch/apply-hunks.ts';
import { type Hunk, parsePatch } from '../../../bridge/host/patch/parse-patch.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';

const wrap = (...lines: readonly string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');

const hunksOf = (...lines: readonly string[]): readonly Hunk[] => {
  const [operation] = parsePatch(wrap('*** Update File: f', ...lines));
  return operation?.kind === 'update' ? operation.hunks : [];
};
const apply = (text: string, ...lines: readonly string[]): string => applyHunks(text, hunksOf(...lines), 'f');
const refusal = (text: string, ...lines: readonly string[]): string => {
  try {
    return `accepted: ${apply(text, ...lines)}`;
  } catch (error) {
    expect((error as ToolFault).code).toBe('hunk_rejected');
    return (error as ToolFault).message;
  }
};

describe('hunks', () => {
  test('replace lines between their context; the end of the file keeps or lacks its line end', () => {
    expect(apply('one\ntwo\nthree\n', '@@', ' one', '-two', '+2', ' three')).toBe('one\n2\nthree\n');
    expect(apply('one\ntwo', '@@', '-two', '+2')).toBe('one\n2');
    expect(apply('one\ntwo', '@@', ' two', '+three')).toBe('one\ntwo\nthree');
  });
  test('keep the byte order mark of the file, whether or not the patch has one', () => {
    const marked = '\ufeffone\r\ntwo\r\n';
    expect(apply(marked, '@@', '-one', '+1')).toBe('\ufeff1\r\ntwo\r\n');
    expect(apply(marked, '@@', '-\ufeffone', '+\ufeff1')).toBe('\ufeff1\r\ntwo\r\n');
    expect(apply(marked, '@@', '-one', '-two')).toBe('\ufeff');
    expect(apply('one\n', '@@', '-one', '+1')).toBe('1\n');
  });
  test('apply in order, each after the previous one', () => {
    expect(apply('a\nx\nb\nx\n', '@@', '-x', '+1', '@@', '-x', '+2')).toBe('a\n1\nb\n2\n');
  });
  test('may share context lines', () => {
    expect(apply('a\nb\nc\n', '@@', '-a', '+1', ' b', '@@', ' b', '-c', '+3')).toBe('1\nb\n3\n');
  });
  test('may be in another order than in the file', () => {
    expect(apply('a\nb\nc\n', '@@', '-c', '+3', '@@', '-a', '+1')).toBe('1\nb\n3\n');
  });
  test('that only add lines insert them at the start, or where the previous hunk ended', () => {
    expect(apply('one\n', '@@', '+zero')).toBe('zero\none\n');
    expect(apply('a\nb\nc\n', '@@', ' a', '-b', '@@', '+x')).toBe('a\nx\nc\n');
  });
  test('marked with end of file match at the end first', () => {
    expect(apply('x\na\nx\n', '@@', '-x', '+y', '*** End of File')).toBe('x\na\ny\n');
    expect(apply('a\n', '@@', '+z', '*** End of File')).toBe('a\nz\n');
  });
  test('do not match lines that an earlier hunk added or deleted', () => {
    expect(refusal('a\n', '@@', '-a', '+b', '@@', '-b', '+c')).toContain('failed to match hunk');
    expect(refusal('a\n', '@@', '-a', '@@', '-a')).toContain('failed to match hunk');
  });
});

describe('a hint', () => {
  const text = 'class A:\n  def f():\n    pass\n\nclass B:\n  def f():\n    pass\n';
  test('locates the hunk', () => {
    expect(apply(text, '@@ class B:', '-    pass', '+    return 2')).toBe(
      'class A:\n  def f():\n    pass\n\nclass B:\n  def f():\n    return 2\n',
    );
  });
  test('locates the hunk when it is part of the line or has other white space', () => {
    for (const hint of ['class B', 'class   B:', 'B']) {
      expect(apply(text, `@@ ${hint}`, '-    pass', '+    x')).toMatch(/class B:\n {2}def f\(\):\n {4}x\n$/);
    }
  });
  test('may be followed by a second hint, searched after it', () => {
    expect(apply(`${text}  def g():\n    pass\n`, '@@ class B', '@@ def g', '-    pass', '+    x')).toMatch(
      /def g\(\):\n {4}x\n$/,
    );
  });
  test('locates an insertion after its own line', () => {
    expect(apply(text, '@@ class B:', '+  # note')).toBe(text.replace('class B:\n', 'class B:\n  # note\n'));
  });
  test('chooses between several fuzzy matches', () => {
    expect(apply('A\n  x  y\nB\n\tx y \n', '@@ B', '-x y', '+z')).toBe('A\n  x  y\nB\nz\n');
  });
  test('that matches no line is ignored when the match is unique, and refused when it is not', () => {
    expect(apply('a\nb\n', '@@ nowhere', '-b', '+c')).toBe('a\nc\n');
    expect(refusal(text, '@@ nowhere', '-    pass', '+    x')).toContain('ambiguous');
    expect(refusal(text, '@@ nowhere', '+x')).toContain('no line matches the hint "nowhere"');
  });
});

describe('a fuzzy match', () => {
  test('keeps the context lines of the file', () => {
    expect(apply('\tprintln!("hello");\n  old  line\n', '@@', ' println!(“hello”);', '-old line', '+new line')).toBe(
      '\tprintln!("hello");\nnew line\n',
    );
  });
  test('at two places is refused as ambiguous; no match is refused', () => {
    expect(refusal('a  b\na   b\n', '@@', '-a b', '+x')).toMatch(/ambiguous.*lines 1, 2/);
    expect(refusal('a\n', '@@', '-zzz', '+x')).toContain('failed to match hunk');
  });
  test('is used only when there is no exact match', () => {
    expect(apply('a  b\na b\n', '@@', '-a b', '+x')).toBe('a  b\nx\n');
  });
});

describe('line ends', () => {
  test('of added lines are the file’s; other lines keep theirs', () => {
    expect(apply('a\r\nb\r\nc\r\n', '@@', ' a', '-b', '+1', '+2', ' c')).toBe('a\r\n1\r\n2\r\nc\r\n');
    expect(apply('a\r\nb\nc\r\n', '@@', '-a', '+x')).toBe('x\r\nb\nc\r\n');
  });
  test('of a CRLF patch are not written into the file', () => {
    const [operation] = parsePatch(wrap('*** Update File: f', '@@', '-a', '+b').replaceAll('\n', '\r\n'));
    expect(applyHunks('a\n', operation?.kind === 'update' ? operation.hunks : [], 'f')).toBe('b\n');
  });
});

const line = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '-', '+', '@', 'é'), maxLength: 4 });
const eol = fc.constantFrom('\n', '\r\n');
/** A file, and for each of its lines whether it stays and what is added before it. */
const editing = fc.record({
  steps: fc.array(
    fc.record({ text: line, fate: fc.constantFrom('keep', 'drop'), before: fc.array(line, { maxLength: 2 }) }),
    { minLength: 1, maxLength: 12 },
  ),
  eol,
  closed: fc.boolean(),
});

describe('properties', () => {
  test('a patch that lists every line gives exactly the new file', () => {
    fc.assert(
      fc.property(editing, ({ steps, eol, closed }) => {
        const join = (lines: readonly string[]): string => lines.join(eol) + (closed && lines.length > 0 ? eol : '');
        const before = join(steps.map(({ text }) => text));
        // An empty last line without a line end cannot be distinguished from a line end at the end.
        fc.pre(splitLines(before).length === steps.length && (steps.length > 1 || closed || eol === '\n'));
        const after = join(
          steps.flatMap(({ text, fate, before: added }) => [...added, ...(fate === 'keep' ? [text] : [])]),
        );
        const patch = steps.flatMap(({ text, fate, before: added }) => [
          ...added.map((inserted) => `+${inserted}`),
          `${fate === 'keep' ? ' ' : '-'}${text}`,
        ]);
        fc.pre(closed || splitLines(after).every(({ end }, index, all) => end !== '' || index === all.length - 1));
        expect(apply(before, '@@', ...patch)).toBe(after);
      }),
    );
  });

  test('a patch in several hunks gives the new file, when all lines are distinct', () => {
    fc.assert(
      fc.property(editing, fc.nat({ max: 3 }), ({ steps, eol }, context) => {
        const own = steps.map((step, index) => ({ ...step, text: `${step.text}#${index}` }));
        const changed = own.map(({ fate, before }) => fate === 'drop' || before.length > 0);
        const shown = own.map((_, index) => changed.some((is, at) => is && Math.abs(at - index) <= context));
        const patch: string[] = [];
        for (const [index, { text, fate, before }] of own.entries()) {
          if (!shown[index]) continue;
          if (!shown[index - 1]) patch.push('@@');
          patch.push(...before.map((inserted) => `+${inserted}`), `${fate === 'keep' ? ' ' : '-'}${text}`);
        }
        fc.pre(patch.length > 0);
        const join = (lines: readonly string[]): string => lines.map((text) => text + eol).join('');
        const after = own.flatMap(({ text, fate, before }) => [...before, ...(fate === 'keep' ? [text] : [])]);
        expect(apply(join(own.map(({ text }) => text)), ...patch)).toBe(join(after));
      }),
    );
  });

  test('splitting a text into lines and joining them gives the same text', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 6 }), (pairs) => {
        const text = pairs.map(([content, end]) => content + end).join('');
        expect(
          splitLines(text)
            .map((each) => each.text + each.end)
            .join(''),
        ).toBe(text);
        expect(prevailingEnd(text) === null).toBe(pairs.length === 0);
      }),
    );
  });
});

describe('host.fs.apply_patch', () => {
  let host: TestHost;
  beforeEach(async () => {
    host = await makeHost({ 'a.txt': 'one\n', 'b/c.txt': 'two\r\n', 'gone.txt': 'bye' }, { sandbox: 'none' });
  });
  afterEach(() => host.end());
  const call = (patch: string, dry_run = false): Promise<HostOutcome> =>
    host.call('host.fs.apply_patch', { patch, dry_run });
  const snapshot = (): string =>
    JSON.stringify(
      host.workspace.list().map((name) => (name.endsWith('/') ? name : [name, host.workspace.read(name)])),
    );

  test('adds, updates, deletes and moves files in one call', async () => {
    chmodSync(host.workspace.at('b/c.txt'), 0o700);
    const patch = wrap(
      '*** Add File: new/deep/x.txt',
      '+hello',
      '+',
      '*** Update File: a.txt',
      '@@',
      '-one',
      '+1',
      '*** Update File: b/c.txt',
      '*** Move to: moved/c.txt',
      '@@',
      '-two',
      '+2',
      '@@',
      '+3',
      '*** Delete File: gone.txt',
    );
    expect(await call(patch)).toMatchObject({
      success: true,
      text: 'Applied patch: 5 files changed (add=1 update=2 delete=1 move=1)',
      data: {
        files_changed: 5,
        changed_paths: ['a.txt', 'b/c.txt', 'gone.txt', 'moved/c.txt', 'new/deep/x.txt'],
        ops: { add: 1, update: 2, delete: 1, move: 1 },
      },
    });
    expect(host.workspace.list()).toEqual([
      'a.txt',
      'b/',
      'moved/',
      'moved/c.txt',
      'new/',
      'new/deep/',
      'new/deep/x.txt',
    ]);
    expect(['a.txt', 'moved/c.txt', 'new/deep/x.txt'].map((name) => host.workspace.read(name))).toEqual([
      '1\n',
      '2\r\n3\r\n',
      'hello\n',
    ]);
    expect(statSync(host.workspace.at('moved/c.txt')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(host.workspace.tempDir, 'patches'))).toEqual([]);
  });

  test('an added file has exactly the given lines, without a line end after the last', async () => {
    await call(wrap('*** Add File: x', '+a', '+b'));
    expect(host.workspace.read('x')).toBe('a\nb');
  });

  test('a dry run reports and writes nothing', async () => {
    const before = snapshot();
    expect(await call(wrap('*** Update File: a.txt', '@@', '-one', '+two'), true)).toMatchObject({
      success: true,
      data: { files_changed: 1, dry_run: true },
    });
    expect(snapshot()).toBe(before);
  });

  test('operations see the results of earlier ones', async () => {
    const patch = wrap(
      '*** Add File: n.txt',
      '+x',
      '*** Update File: n.txt',
      '@@',
      '-x',
      '+y',
      '*** Delete File: a.txt',
      '*** Add File: a.txt',
      '+again',
      '*** Update File: gone.txt',
      '*** Move to: n2.txt',
    );
    expect(await call(patch)).toMatchObject({ success: true });
    expect(['n.txt', 'a.txt', 'n2.txt'].map((name) => host.workspace.read(name))).toEqual(['y', 'again', 'bye']);
  });

  test.each([
    ['patch_parse_error', 'not-a-v4a-patch'],
    ['update_target_not_found', wrap('*** Add File: created.txt', '+x', '*** Update File: missing.txt', '@@', '+x')],
    ['update_target_not_found', wrap('*** Add File: created.txt', '+x', '*** Update File: no/where.txt', '@@', '+x')],
    ['delete_target_not_found', wrap('*** Add File: created.txt', '+x', '*** Delete File: missing.txt')],
    ['add_target_exists', wrap('*** Delete File: gone.txt', '*** Add File: a.txt', '+x')],
    ['move_target_exists', wrap('*** Add File: created.txt', '+x', '*** Update File: a.txt', '*** Move to: gone.txt')],
    ['hunk_rejected', wrap('*** Add File: created.txt', '+x', '*** Update File: a.txt', '@@', '-nope', '+x')],
    ['path_forbidden', wrap('*** Add File: created.txt', '+x', '*** Add File: ../out.txt', '+x')],
    ['path_forbidden', wrap('*** Add File: created.txt', '+x', '*** Add File: .git/hooks/pre-commit', '+x')],
    ['path_forbidden', wrap('*** Update File: a.txt', '*** Move to: .git/config')],
    ['invalid_path', wrap('*** Add File: created.txt', '+x', '*** Add File: a.txt/below', '+x')],
    ['invalid_path', wrap('*** Delete File: b')],
    ['invalid_path', wrap('*** Add File: .', '+x')],
  ])('%s: the patch is refused and nothing is written', async (code, patch) => {
    const before = snapshot();
    const outcome = await call(patch);
    expect(outcome).toMatchObject({ success: false, code });
    expect(outcome.text.length).toBeGreaterThan(code.length + 15);
    expect(snapshot()).toBe(before);
  });

  test('a file that is not UTF-8, a link and a directory are refused as targets', async () => {
    host.workspace.write('raw', new Uint8Array([255]));
    expect(await call(wrap('*** Update File: raw', '@@', '+x'))).toMatchObject({ code: 'update_target_non_utf8' });
    symlinkSync('a.txt', host.workspace.at('link'));
    expect(await call(wrap('*** Update File: link', '@@', '+x'))).toMatchObject({ code: 'path_forbidden' });
    mkdirSync(host.workspace.at('empty'));
    expect(await call(wrap('*** Add File: empty', '+x'))).toMatchObject({ code: 'invalid_path' });
  });
});
