// What a call would change, as lines that a person reads: a unified diff with notes between, bounded in number and length.
// Text of a call or a file cannot imitate refold's own lines: each line of it begins with a mark (" ", "+", "-" or "|"), each
// note with "»". As text, such lines are the diff of a recorded preview.
import {
  PREVIEW_CHARS_MAX,
  PREVIEW_COMPARE_MS_MAX,
  PREVIEW_FILE_CHARS_MAX,
  PREVIEW_LINES_MAX,
  PREVIEW_LINE_CHARS_MAX,
} from '../../schemas/limits.ts';
import { type Hunk, compareTexts, linesOf } from './compare-texts.ts';
import { visible } from './visible.ts';

/** A line before it is clipped and escaped. `note` and `place` are refold's own; the others are text of a call or file. */
export interface PreviewLine {
  readonly mark: 'note' | 'place' | ' ' | '+' | '-' | '|';
  readonly text: string;
}

/** What stands before the text of a line. */
export const LEADS = { note: '» ', place: '', ' ': ' ', '+': '+', '-': '-', '|': '| ' } as const;

export const note = (text: string): PreviewLine => ({ mark: 'note', text });

/** The change of a file; `msMax`: how long the comparison may take. */
export function changeLines(
  path: string,
  before: string,
  after: string,
  msMax = PREVIEW_COMPARE_MS_MAX,
): readonly PreviewLine[] {
  if (before === after) return [note(`${path}: no change`)];
  if (after.length > PREVIEW_FILE_CHARS_MAX) {
    return [note(`${path}: ${countLines(before)} become ${countLines(after)}, too long to compare`), ...added(after)];
  }
  const hunks = compareTexts(before, after, msMax);
  const count = (mark: '+' | '-'): number =>
    hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(mark)).length, 0);
  return [note(`${path} (+${count('+')} -${count('-')})`), ...hunks.flatMap(hunkLines)];
}

export const newFileLines = (path: string, text: string): readonly PreviewLine[] => [
  note(`${path}: new file, ${countLines(text)}`),
  ...added(text),
];

const hunkLines = ({ oldStart, oldLines, newStart, newLines, lines }: Hunk): readonly PreviewLine[] => [
  { mark: 'place', text: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@` },
  ...lines.map((line): PreviewLine => {
    const mark = line[0] as ' ' | '+' | '-' | '\\';
    return mark === '\\' ? NO_LINE_FEED : { mark, text: line.slice(1) };
  }),
];

const NO_LINE_FEED: PreviewLine = { mark: 'place', text: '\\ no line feed at the end of the file' };

export const added = (text: string): readonly PreviewLine[] =>
  linesOf(text).flatMap((line): readonly PreviewLine[] =>
    line.endsWith('\n') ? [{ mark: '+', text: line.slice(0, -1) }] : [{ mark: '+', text: line }, NO_LINE_FEED],
  );

function countLines(text: string): string {
  const count = linesOf(text).length;
  return `${count} line${count === 1 ? '' : 's'}`;
}

/** At most {@link PREVIEW_LINES_MAX} lines, each clipped, and the number of those left out. */
export function boundLines(lines: readonly PreviewLine[]): {
  readonly shown: readonly PreviewLine[];
  readonly more: number;
} {
  const shown: PreviewLine[] = [];
  let chars = MORE_CHARS;
  for (const { mark, text } of lines) {
    const line = { mark, text: clip(text) };
    // With its line feed.
    chars += LEADS[mark].length + visible(line.text).length + 1;
    if (shown.length >= PREVIEW_LINES_MAX || chars > PREVIEW_CHARS_MAX) break;
    shown.push(line);
  }
  return { shown, more: lines.length - shown.length };
}

/** Room for the line that counts the others. */
const MORE_CHARS = 64;

export const moreLines = (count: number): string => `… ${count} more line${count === 1 ? '' : 's'}`;

function clip(text: string): string {
  if (text.length <= PREVIEW_LINE_CHARS_MAX) return text;
  const kept = text.slice(0, PREVIEW_LINE_CHARS_MAX);
  const whole = kept.isWellFormed() ? kept : kept.slice(0, -1);
  return `${whole} … ${text.length - whole.length} more characters`;
}

/** The diff of a recorded preview: bounded, one line each, with its mark. At most {@link PREVIEW_CHARS_MAX} UTF-16 units. */
export function diffText(lines: readonly PreviewLine[]): string {
  const { shown, more } = boundLines(lines);
  const told = more === 0 ? shown : [...shown, note(moreLines(more))];
  // A line feed that is left is one of a path.
  return told.map(({ mark, text }) => `${LEADS[mark]}${text.replaceAll('\n', '␊')}`).join('\n');
}

/** The lines of a recorded diff. One without a known mark counts as text of a call. */
export const readDiff = (text: string): readonly PreviewLine[] => (text === '' ? [] : text.split('\n').map(readLine));

function readLine(line: string): PreviewLine {
  if (line.startsWith(LEADS.note)) return note(line.slice(LEADS.note.length));
  if (line.startsWith('@@ ') || line === NO_LINE_FEED.text) return { mark: 'place', text: line };
  const mark = line[0];
  if (mark === ' ' || mark === '+' || mark === '-') return { mark, text: line.slice(1) };
  return { mark: '|', text: line.startsWith(LEADS['|']) ? line.slice(LEADS['|'].length) : line };
}
