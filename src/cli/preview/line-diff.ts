// The difference of two texts, line by line (Myers, "An O(ND) Difference Algorithm", 1986, section 4): what both begin
// and end with is set aside, and between them the shortest script is looked for, up to a named number of changes. Texts
// that differ in more are shown as all old lines, then all new ones.
import { PREVIEW_CHANGES_MAX, PREVIEW_CONTEXT_LINES } from '../../../schemas/limits.ts';

export interface DiffLine {
  readonly kind: ' ' | '-' | '+';
  /** With its line feed, which the last line of a text may lack. */
  readonly text: string;
}

/** A stretch of changes with the lines around it. Lines are counted from 1, as unified diffs do. */
export interface Hunk {
  readonly oldStart: number;
  readonly oldCount: number;
  readonly newStart: number;
  readonly newCount: number;
  readonly lines: readonly DiffLine[];
}

/** The lines of a text, each with its line feed. An empty text has none. */
export const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const oldLines = before.slice(head, before.length - tail);
  const newLines = after.slice(head, after.length - tail);
  const same = (lines: readonly string[]): readonly DiffLine[] => lines.map((text) => ({ kind: ' ', text }));
  return [
    ...same(before.slice(0, head)),
    ...(shortestScript(oldLines, newLines) ?? replaceAll(oldLines, newLines)),
    ...same(before.slice(before.length - tail)),
  ];
}

const replaceAll = (before: readonly string[], after: readonly string[]): readonly DiffLine[] => [
  ...before.map((text): DiffLine => ({ kind: '-', text })),
  ...after.map((text): DiffLine => ({ kind: '+', text })),
];

/** Null when it takes more than {@link PREVIEW_CHANGES_MAX} changes. */
function shortestScript(before: readonly string[], after: readonly string[]): readonly DiffLine[] | null {
  /** For each number of changes: how far each diagonal was reached, the diagonal `k` at index `k + changes`. */
  const reached: Int32Array[] = [];
  for (let changes = 0; changes <= PREVIEW_CHANGES_MAX; changes += 1) {
    const last = reached.at(-1);
    const row = new Int32Array(2 * changes + 1);
    reached.push(row);
    for (let k = -changes; k <= changes; k += 2) {
      let x = last === undefined ? 0 : startOn(k, changes, last);
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      row[k + changes] = x;
      if (x >= before.length && x - k >= after.length) return walkBack(before, after, reached);
    }
  }
  return null;
}

/** Where the path on diagonal `k` begins after one more change: below the diagonal above, or right of the one below. */
const startOn = (k: number, changes: number, last: Int32Array): number =>
  takesInsertion(k, changes, last) ? at(last, k + 1, changes - 1) : at(last, k - 1, changes - 1) + 1;

const takesInsertion = (k: number, changes: number, last: Int32Array): boolean =>
  k === -changes || (k !== changes && at(last, k - 1, changes - 1) < at(last, k + 1, changes - 1));

const at = (row: Int32Array, k: number, changes: number): number => row[k + changes] ?? 0;

function walkBack(
  before: readonly string[],
  after: readonly string[],
  reached: readonly Int32Array[],
): readonly DiffLine[] {
  const script: DiffLine[] = [];
  let x = before.length;
  let y = after.length;
  for (let changes = reached.length - 1; changes >= 0; changes -= 1) {
    const last = reached[changes - 1];
    const k = x - y;
    const start = last === undefined ? 0 : startOn(k, changes, last);
    for (; x > start; x -= 1, y -= 1) script.push({ kind: ' ', text: before[x - 1] as string });
    if (last === undefined) break;
    if (takesInsertion(k, changes, last)) {
      y -= 1;
      script.push({ kind: '+', text: after[y] as string });
    } else {
      x -= 1;
      script.push({ kind: '-', text: before[x] as string });
    }
  }
  return script.reverse();
}

/** The changes with {@link PREVIEW_CONTEXT_LINES} lines around each; stretches that touch are one. */
export function hunksOf(lines: readonly DiffLine[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let [oldLine, newLine, index] = [1, 1, 0];
  const pass = (end: number): void => {
    for (; index < end; index += 1) {
      if (lines[index]?.kind !== '+') oldLine += 1;
      if (lines[index]?.kind !== '-') newLine += 1;
    }
  };
  for (let first = nextChange(lines, 0); first !== -1; first = nextChange(lines, index)) {
    pass(Math.max(index, first - PREVIEW_CONTEXT_LINES));
    const [start, oldStart, newStart] = [index, oldLine, newLine];
    let end = first;
    for (let next = first; next !== -1 && next - end <= 2 * PREVIEW_CONTEXT_LINES; next = nextChange(lines, end)) {
      end = next + 1;
    }
    pass(Math.min(lines.length, end + PREVIEW_CONTEXT_LINES));
    const [oldCount, newCount] = [oldLine - oldStart, newLine - newStart];
    hunks.push({ oldStart, oldCount, newStart, newCount, lines: lines.slice(start, index) });
  }
  return hunks;
}

const nextChange = (lines: readonly DiffLine[], from: number): number => {
  for (let index = from; index < lines.length; index += 1) if (lines[index]?.kind !== ' ') return index;
  return -1;
};
