// The difference of two texts as the hunks of a unified diff. The comparison is bounded in changes and in time; texts
// that exceed the bound become one hunk: all differing old lines, then all differing new lines.
import type { StructuredPatchHunk } from 'diff';
import { structuredPatch } from 'diff/lib/patch/create.js';
import { PREVIEW_CHANGES_MAX, PREVIEW_COMPARE_MS_MAX, PREVIEW_CONTEXT_LINES } from '../../schemas/limits.ts';

/** A stretch of changes with unchanged lines around it. Each line begins with " ", "-", "+" or, after a line without a
 * line feed, "\"; lines are counted from 1. */
export type Hunk = StructuredPatchHunk;

/** `msMax`: how long the comparison may take, in milliseconds. */
export function compareTexts(before: string, after: string, msMax = PREVIEW_COMPARE_MS_MAX): readonly Hunk[] {
  const patch = structuredPatch('', '', before, after, '', '', {
    context: PREVIEW_CONTEXT_LINES,
    maxEditLength: PREVIEW_CHANGES_MAX,
    timeout: msMax,
  });
  return patch === undefined ? [replacement(linesOf(before), linesOf(after))] : patch.hunks;
}

/** The lines of a text, each with its line feed. An empty text has none. */
export const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** One hunk that replaces everything between the first and the last difference. */
function replacement(before: readonly string[], after: readonly string[]): Hunk {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const from = Math.max(0, head - PREVIEW_CONTEXT_LINES);
  const context = Math.min(tail, PREVIEW_CONTEXT_LINES);
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail];
  return {
    oldStart: from + 1,
    oldLines: oldEnd + context - from,
    newStart: from + 1,
    newLines: newEnd + context - from,
    lines: [
      ...marked(' ', before.slice(from, head)),
      ...marked('-', before.slice(head, oldEnd)),
      ...marked('+', after.slice(head, newEnd)),
      ...marked(' ', before.slice(oldEnd, oldEnd + context)),
    ],
  };
}

const marked = (mark: ' ' | '-' | '+', lines: readonly string[]): readonly string[] =>
  lines.flatMap((line) => (line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, NO_LINE_FEED]));

/** As the library marks it. */
const NO_LINE_FEED = '\\ No newline at end of file';
