// Hunks in files with repeated lines, compared with a reference implementation that tries every place.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldText, foldedOnly } from '../../../bridge/host/edit/folded-text.ts';
import { ToolFault } from '../../../bridge/host/outcome.ts';
import { applyHunks } from '../../../bridge/host/patch/apply-hunks.ts';
import type { Hunk, HunkLine } from '../../../bridge/host/patch/parse-patch.ts';

const text = fc.constantFrom('a', 'b', '');
const hunkLine = fc.record<HunkLine>({
  kind: fc.constantFrom('context', 'context', 'delete', 'add'),
  text,
});
const hunk = fc
  .array(hunkLine, { minLength: 1, maxLength: 7 })
  .filter((lines) => lines.some(({ kind }) => kind !== 'add'))
  .map((lines): Hunk => ({ hints: [], lines, atEnd: false, patchLine: 1 }));

/** The lines after the hunks are applied; null when a hunk matches nowhere. */
function tryEveryPlace(lines: readonly string[], hunks: readonly Hunk[]): readonly string[] | null {
  const gone = new Set<number>();
  const added: string[][] = Array.from({ length: lines.length + 1 }, () => []);
  let matchEnd = 0;
  let changeEnd = 0;
  for (const { lines: wanted } of hunks) {
    const old = wanted.filter(({ kind }) => kind !== 'add');
    const fits = (start: number): boolean =>
      old.every((line, index) => lines[start + index] === line.text && !gone.has(start + index));
    const places = lines.map((_, start) => start).filter(fits);
    const from = [matchEnd, changeEnd, 0].find((floor) => places.some((start) => start >= floor));
    let at = places.find((start) => start >= (from ?? Infinity));
    if (at === undefined) return null;
    for (const line of wanted) {
      if (line.kind === 'add') added[at]?.push(line.text);
      if (line.kind === 'delete') gone.add(at);
      if (line.kind !== 'add') at += 1;
      if (line.kind !== 'context') changeEnd = at;
    }
    matchEnd = at;
  }
  return added.flatMap((more, at) => [...more, ...(at < lines.length && !gone.has(at) ? [lines[at] ?? ''] : [])]);
}

const applied = (lines: readonly string[], hunks: readonly Hunk[]): string | null => {
  try {
    return applyHunks(lines.map((line) => `${line}\n`).join(''), hunks, 'f');
  } catch (error) {
    if (error instanceof ToolFault) return null;
    throw error;
  }
};

test('hunks apply at the places that the reference finds', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 30 }), fc.array(hunk, { maxLength: 4 }), (lines, hunks) => {
      const expected = tryEveryPlace(lines, hunks);
      expect(applied(lines, hunks)).toBe(expected === null ? null : expected.map((line) => `${line}\n`).join(''));
    }),
    { numRuns: 3_000 },
  );
});

test('foldedOnly and foldText give the same text', () => {
  const unit = fc.oneof(
    fc.constantFrom(' ', '\t', '\r\n', '\u00a0', '\ufeff', '‘', '”', '–', '−', '🙂', '\ud800'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      expect(foldedOnly(units.join(''))).toBe(foldText(units.join('')).text);
    }),
  );
});
