// Patches in the V4A format: what each form is parsed into, and the refusals with their line numbers.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ToolFault } from '../../../bridge/host/outcome.ts';
import { type PatchOperation, parsePatch } from '../../../bridge/host/patch/parse-patch.ts';

const parse = (...lines: readonly string[]): readonly PatchOperation[] =>
  parsePatch(['*** Begin Patch', ...lines, '*** End Patch'].join('\n'));

describe('a patch', () => {
  test('adds a file: its path, and its lines without the plus', () => {
    expect(parse('*** Add File: a/b.txt', '+one', '+', '+ two')).toEqual([
      { kind: 'add', path: 'a/b.txt', lines: ['one', '', ' two'] },
    ]);
  });
  test('deletes a file', () => {
    expect(parse('*** Delete File: old.txt')).toEqual([{ kind: 'delete', path: 'old.txt' }]);
  });
  test('updates a file, with a hint and an end-of-file mark', () => {
    expect(parse('*** Update File: a', '@@ fn main', ' keep', '-old', '+new', '*** End of File')).toEqual([
      {
        kind: 'update',
        path: 'a',
        moveTo: null,
        hunks: [
          {
            hints: ['fn main'],
            atEnd: true,
            patchLine: 3,
            lines: [
              { kind: 'context', text: 'keep' },
              { kind: 'delete', text: 'old' },
              { kind: 'add', text: 'new' },
            ],
          },
        ],
      },
    ]);
  });
  test('moves a file, with several hunks or none', () => {
    expect(parse('*** Update File: a', '*** Move to: b', '@@', '-x', '@@', '+y')[0]).toMatchObject({
      moveTo: 'b',
      hunks: [{ hints: [] }, { hints: [] }],
    });
    expect(parse('*** Update File: a', '*** Move to: b')[0]).toMatchObject({ moveTo: 'b', hunks: [] });
  });
  test('reads several hints, and the section of a unified-diff header', () => {
    const hints = (...lines: string[]): unknown =>
      (parse('*** Update File: a', ...lines, '+x')[0] as Extract<PatchOperation, { kind: 'update' }>).hunks[0]?.hints;
    expect(hints('@@ class A', '@@ def b')).toEqual(['class A', 'def b']);
    expect(hints('@@ -1,2 +3,4 @@ def b')).toEqual(['def b']);
    expect(hints('@@ -1 +3 @@')).toEqual([]);
  });
  test('may have blank lines between operations and around them, and CRLF', () => {
    const text =
      '\n*** Begin Patch\n*** Add File: a\n+x\n\n*** Update File: b\n@@\n-x\n\n\n*** Delete File: c\n\n*** End Patch\n\n';
    const expected = parse('*** Add File: a', '+x', '*** Update File: b', '@@', '-x', '*** Delete File: c');
    const plain = (operations: readonly PatchOperation[]): string =>
      JSON.stringify(operations).replaceAll(/"patchLine":\d+/g, '');
    expect(plain(parsePatch(text))).toBe(plain(expected));
    expect(plain(parsePatch(text.replaceAll('\n', '\r\n')))).toBe(plain(expected));
  });
});

describe('a patch is refused, with the line and what to do next', () => {
  const refusal = (text: string): string => {
    try {
      parsePatch(text);
    } catch (error) {
      expect(error).toBeInstanceOf(ToolFault);
      expect((error as ToolFault).code).toBe('patch_parse_error');
      return (error as ToolFault).message;
    }
    return 'accepted';
  };
  const inside = (...lines: readonly string[]): string =>
    refusal(['*** Begin Patch', ...lines, '*** End Patch'].join('\n'));

  test.each([
    ['not-a-v4a-patch', 'must start'],
    ['', 'must start'],
    ['*** Begin Patch\n*** Delete File: a', 'must end'],
    ['*** Begin Patch', 'must end'],
    ['*** Begin Patch\n*** End Patch', 'at least one operation'],
  ])('%j', (text, part) => {
    expect(refusal(text)).toContain(part);
  });

  test.each([
    [['*** Rename File: a'], 'unknown operation'],
    [['*** Add File: a', 'no plus'], 'invalid add-file line'],
    [['*** Add File:  '], 'names no path'],
    [['*** Update File: a'], 'must include at least one hunk'],
    [['*** Update File: a', '@@'], 'empty hunk'],
    [['*** Update File: a', '@@', '@@', '+x'], 'empty hunk'],
    [['*** Update File: a', '@@', '-a', '', '+b'], 'empty hunk line'],
    [['*** Update File: a', '@@', 'bad'], 'invalid hunk line prefix'],
    [['*** Update File: a', '+x'], "begin a hunk with '@@'"],
    [['*** Update File: a', '@@', 'äöü starts with two bytes'], 'invalid hunk line prefix'],
    [['*** Update File: a', '@@', '🜁 starts with four bytes'], 'invalid hunk line prefix'],
  ])('%j', (lines, part) => {
    expect(inside(...lines)).toContain(part);
    expect(inside(...lines)).toMatch(/^line \d+ of the patch/);
  });

  test('with the number of the faulty line', () => {
    expect(inside('*** Add File: a', '+x', 'oops')).toMatch(/^line 4 /);
  });

  test('any lines are parsed or refused with a ToolFault', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string({ maxLength: 8 }),
            fc.constantFrom(
              '@@',
              '*** End of File',
              '+x',
              '-x',
              ' x',
              '*** Add File: a',
              '*** Update File: a',
              '*** Move to: b',
            ),
          ),
          { maxLength: 12 },
        ),
        (lines) => {
          expect(inside(...lines)).toEqual(expect.any(String));
        },
      ),
    );
  });
});
