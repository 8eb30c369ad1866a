// What a call would do, as lines that a person reads before allowing it. A file tool is shown as its change to the current
// file, a patch as itself, any other call as its arguments. The lines are bounded in number and length, and what is left
// out is counted, unless all arguments are asked for. Text of a call
// cannot imitate refold's own lines: each line of it begins with a mark (" ", "+", "-" or "|"), each note with "»".
import { createPaint } from '../../shown/paint.ts';
import type { Json, JsonObject } from '../../../schemas/json.ts';
import { PREVIEW_FILE_CHARS_MAX } from '../../../schemas/limits.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { reasonOf } from '../../files/file-failure.ts';
import { linesOf } from '../../shown/compare-texts.ts';
import {
  type PreviewLine,
  LEADS,
  added,
  boundLines,
  changeLines,
  moreLines,
  newFileLines,
  note,
  readDiff,
} from '../../shown/diff-lines.ts';
import { visible } from '../../shown/visible.ts';

export interface PreviewRequest {
  readonly tool: Pick<ToolSpec, 'tool_id' | 'tool_name'>;
  readonly arguments: JsonObject;
  /** The current text of a workspace file; null when the file does not exist. Throws when it cannot be read. */
  readonly readFile: (path: string) => string | null;
  readonly colors?: boolean;
  /** The width of the terminal, less what stands before each line: longer lines are broken, with their mark on each row. */
  readonly columns?: number | undefined;
}

type Files = PreviewRequest['readFile'];
type Paint = { readonly colors?: boolean | undefined; readonly columns?: number | undefined };

/** At most {@link PREVIEW_LINES_MAX} lines, then one that counts the omitted lines. Never throws. */
export function previewCall({ tool, arguments: args, readFile, ...paint }: PreviewRequest): readonly string[] {
  const show = Object.hasOwn(PREVIEWS, tool.tool_id) ? PREVIEWS[tool.tool_id] : undefined;
  const lines = show?.(args, readFile) ?? previewArguments(args);
  return printed([note(tool.tool_name), ...lines], paint);
}

/** The preview of each file tool; null when the tool does not take these arguments. */
const PREVIEWS: Readonly<Record<string, (args: JsonObject, files: Files) => readonly PreviewLine[] | null>> = {
  'host.fs.write_file': previewWrite,
  'host.fs.edit_file': previewEdit,
  'host.fs.apply_patch': previewPatch,
};

function previewWrite({ path, text, mode }: JsonObject, files: Files): readonly PreviewLine[] | null {
  if (typeof path !== 'string' || typeof text !== 'string') return null;
  const current = readCurrent(path, files);
  if (typeof current === 'object') return [current.fault, ...added(text)];
  if (current === undefined) return newFileLines(path, text);
  const refused = mode === 'create_new' ? [note(`${path} already exists: the call would be refused`)] : [];
  return [...refused, ...changeLines(path, current, text)];
}

function previewEdit(args: JsonObject, files: Files): readonly PreviewLine[] | null {
  const { path, old_string: before, new_string: after, replace_all } = args;
  if (typeof path !== 'string' || typeof before !== 'string' || typeof after !== 'string' || before === '') return null;
  const current = readCurrent(path, files);
  const alone = (why: string): readonly PreviewLine[] => [
    note(`${path}: ${why}`),
    ...passage('-', before),
    ...passage('+', after),
  ];
  if (typeof current === 'object') return [current.fault, ...alone('only the passage is shown')];
  if (current === undefined) return alone('no such file: the call would be refused');
  const parts = current.split(before);
  const count = parts.length - 1;
  if (count === 0)
    return alone('the file does not contain the passage exactly; it may differ in white space, quotes or dashes');
  if (count > 1 && replace_all !== true)
    return alone(`the file contains the passage ${count} times: the call would be refused`);
  return changeLines(path, current, parts.join(after));
}

function previewPatch({ patch, dry_run }: JsonObject): readonly PreviewLine[] | null {
  if (typeof patch !== 'string') return null;
  const files: { title: string; added: number; removed: number }[] = [];
  const lines = patch.split('\n');
  for (const line of lines) {
    const [, action, path] = /^\*\*\* (Add|Update|Delete) File: (.*)$/.exec(line) ?? [];
    const file = files.at(-1);
    if (action !== undefined) files.push({ title: `${action.toLowerCase()} ${path ?? ''}`, added: 0, removed: 0 });
    else if (file === undefined) continue;
    else if (line.startsWith('*** Move to: ')) file.title += `, moved to ${line.slice('*** Move to: '.length)}`;
    else if (line.startsWith('+')) file.added += 1;
    else if (line.startsWith('-')) file.removed += 1;
  }
  return [
    ...(dry_run === true ? [note('dry run: nothing is written')] : []),
    ...files.map(({ title, added, removed }) => note(`${title} (+${added} -${removed})`)),
    ...lines.map(quoted),
  ];
}

/** The further lines of a text are indented: at the margin, one could pass for another argument. */
function previewArguments(args: JsonObject): readonly PreviewLine[] {
  return Object.entries(args).flatMap(([key, value]) => {
    const [first = '', ...further] = spelt(value).split('\n');
    return [quoted(`${visible(key)}: ${first}`), ...further.map((line) => quoted(`  ${line}`))];
  });
}

const spelt = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * Every argument of a call, with nothing left out: JSON, but a text of several lines line by line. For a person who must
 * see all that a decision covers.
 */
export const allArguments = (args: JsonObject, paint: Paint = {}): readonly string[] =>
  paintLines(
    Object.entries(args).flatMap(([key, value]): readonly PreviewLine[] => {
      const lines = typeof value === 'string' ? value.split('\n') : [];
      if (lines.length < 2) return [quoted(`${JSON.stringify(key)}: ${JSON.stringify(value)}`)];
      return [
        quoted(`${JSON.stringify(key)}: text of ${lines.length} lines`),
        ...lines.map((line) => quoted(`  ${line}`)),
      ];
    }),
    paint,
  );

const quoted = (text: string): PreviewLine => ({ mark: '|', text });

/** The text of the file; undefined when it does not exist; a note when it cannot be compared. */
function readCurrent(path: string, files: Files): string | undefined | { readonly fault: PreviewLine } {
  try {
    const text = files(path);
    if (text === null) return undefined;
    if (text.length <= PREVIEW_FILE_CHARS_MAX) return text;
    return { fault: note(`${path} is too long to compare: it has ${text.length} characters`) };
  } catch (error) {
    return { fault: note(`${path} cannot be read here (${reasonOf(error)}); its current text is not shown`) };
  }
}

const passage = (mark: '+' | '-', text: string): readonly PreviewLine[] =>
  linesOf(text).map((line) => ({ mark, text: line.replace(/\n$/, '') }));

/** Clips, escapes, then colours, in this order: clipping must not cut one of refold's own escape sequences. */
function printed(lines: readonly PreviewLine[], { colors = false, columns }: Paint): readonly string[] {
  const { shown, more } = boundLines(lines);
  const painted = paintLines(shown, { colors, columns });
  return more === 0 ? painted : [...painted, createPaint(colors).bold(moreLines(more))];
}

/** A recorded diff as it is printed. */
export const printedDiff = (diff: string, paint: Paint = {}): readonly string[] => printed(readDiff(diff), paint);

function paintLines(lines: readonly PreviewLine[], { colors = false, columns = Infinity }: Paint): readonly string[] {
  const paint = createPaint(colors);
  const paints = {
    note: paint.bold,
    place: paint.cyan,
    ' ': String,
    '+': paint.green,
    '-': paint.red,
    '|': String,
  };
  return lines.flatMap(({ mark, text }) => {
    const lead = LEADS[mark];
    return rowsOf(visible(text), Math.max(columns - lead.length, ROW_COLUMNS_MIN)).map((row) =>
      paints[mark](`${lead}${row}`),
    );
  });
}

const ROW_COLUMNS_MIN = 16;

/**
 * The text in rows that fit: a terminal that broke the line itself would begin a row without its mark. How wide a character
 * is depends on the terminal, so that any that may be wide counts as such.
 */
function rowsOf(text: string, columns: number): readonly string[] {
  if (columns === Infinity) return [text];
  const rows: string[] = [];
  let row = '';
  let used = 0;
  for (const char of text) {
    const wide = char === '\t' ? 8 : char < '\u0080' ? 1 : 2;
    if (used + wide > columns) {
      rows.push(row);
      [row, used] = ['', 0];
    }
    row += char;
    used += wide;
  }
  return [...rows, row];
}
