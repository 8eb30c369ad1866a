// What a call would do, as lines a person reads before saying yes. File tools are shown as the change they make to the
// file as it is now; a patch is shown as it is; anything else as its arguments. Bounded in lines and characters, and
// nothing in a call can pass for a line of ours: text of the call always stands behind a mark (" ", "+", "-" or "|"),
// and so do our own notes ("»").
import pc from 'picocolors';
import type { Json, JsonObject } from '../../../schemas/json.ts';
import {
  PREVIEW_CHARS_MAX,
  PREVIEW_FILE_CHARS_MAX,
  PREVIEW_LINES_MAX,
  PREVIEW_LINE_CHARS_MAX,
} from '../../../schemas/limits.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { reasonOf } from '../../files/file-failure.ts';
import { type Hunk, diffLines, hunksOf, linesOf } from './line-diff.ts';
import { visible } from './visible.ts';

export interface PreviewRequest {
  readonly tool: Pick<ToolSpec, 'tool_id' | 'tool_name'>;
  readonly arguments: JsonObject;
  /** The text of a file of the workspace as it is now; null when there is none. May throw when it cannot be read. */
  readonly readFile: (path: string) => string | null;
  readonly colors?: boolean;
}

/** A line before it is cut and made visible. `note` is ours, the others are text of the call or of a file. */
interface Line {
  readonly mark: 'note' | 'place' | ' ' | '+' | '-' | '|';
  readonly text: string;
}

type Files = PreviewRequest['readFile'];

const note = (text: string): Line => ({ mark: 'note', text });

/** At most {@link PREVIEW_LINES_MAX} lines, and one that says how many are left out. Never throws. */
export function previewCall({ tool, arguments: args, readFile, colors = false }: PreviewRequest): readonly string[] {
  const show = Object.hasOwn(PREVIEWS, tool.tool_id) ? PREVIEWS[tool.tool_id] : undefined;
  const lines = show?.(args, readFile) ?? previewArguments(args);
  return printed([note(tool.tool_name), ...lines], colors);
}

/** What shows a call of each tool; null for arguments that are not what the tool takes. */
const PREVIEWS: Readonly<Record<string, (args: JsonObject, files: Files) => readonly Line[] | null>> = {
  'host.fs.write_file': previewWrite,
  'host.fs.edit_file': previewEdit,
  'host.fs.apply_patch': previewPatch,
};

function previewWrite({ path, text, mode }: JsonObject, files: Files): readonly Line[] | null {
  if (typeof path !== 'string' || typeof text !== 'string') return null;
  const current = readCurrent(path, files);
  if (typeof current === 'object') return [current.fault, ...added(text)];
  if (current === undefined) return [note(`${path}: new file, ${countLines(text)}`), ...added(text)];
  const refused = mode === 'create_new' ? [note(`${path} exists already: the call would be refused`)] : [];
  return [...refused, ...changeOf(path, current, text)];
}

function previewEdit(args: JsonObject, files: Files): readonly Line[] | null {
  const { path, old_string: before, new_string: after, replace_all } = args;
  if (typeof path !== 'string' || typeof before !== 'string' || typeof after !== 'string' || before === '') return null;
  const current = readCurrent(path, files);
  const alone = (why: string): readonly Line[] => [
    note(`${path}: ${why}`),
    ...passage('-', before),
    ...passage('+', after),
  ];
  if (typeof current === 'object') return [current.fault, ...alone('the passage alone')];
  if (current === undefined) return alone('there is no such file; the call would be refused');
  const parts = current.split(before);
  const count = parts.length - 1;
  if (count === 0)
    return alone(
      'the passage does not stand there as it is written here; only its white space, quotes or dashes may differ',
    );
  if (count > 1 && replace_all !== true)
    return alone(`the passage stands there ${count} times; it must be the only one`);
  return changeOf(path, current, parts.join(after));
}

function previewPatch({ patch, dry_run }: JsonObject): readonly Line[] | null {
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
    ...(dry_run === true ? [note('only checked, nothing is written')] : []),
    ...files.map(({ title, added, removed }) => note(`${title} (+${added} -${removed})`)),
    ...lines.map((text): Line => ({ mark: '|', text })),
  ];
}

function previewArguments(args: JsonObject): readonly Line[] {
  return Object.entries(args).flatMap(([key, value]) =>
    `${key}: ${spelt(value)}`.split('\n').map((text): Line => ({ mark: '|', text })),
  );
}

const spelt = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The file's text; undefined when there is none; a fault to show when it cannot be compared. */
function readCurrent(path: string, files: Files): string | undefined | { readonly fault: Line } {
  try {
    const text = files(path);
    if (text === null) return undefined;
    if (text.length <= PREVIEW_FILE_CHARS_MAX) return text;
    return { fault: note(`${path} is too long to be compared; it has ${text.length} characters now`) };
  } catch (error) {
    return { fault: note(`${path} cannot be read here (${reasonOf(error)}); what stands there now is not shown`) };
  }
}

function changeOf(path: string, before: string, after: string): readonly Line[] {
  if (before === after) return [note(`${path}: no change`)];
  if (after.length > PREVIEW_FILE_CHARS_MAX) {
    return [
      note(`${path}: ${countLines(before)} become ${countLines(after)}, too long to be compared`),
      ...added(after),
    ];
  }
  const script = diffLines(linesOf(before), linesOf(after));
  const [plus, minus] = ['+', '-'].map((kind) => script.filter((line) => line.kind === kind).length);
  return [note(`${path} (+${plus ?? 0} -${minus ?? 0})`), ...hunksOf(script).flatMap(hunkLines)];
}

const hunkLines = ({ oldStart, oldCount, newStart, newCount, lines }: Hunk): readonly Line[] => [
  { mark: 'place', text: `@@ -${oldStart},${oldCount} +${newStart},${newCount} @@` },
  ...lines.flatMap(({ kind, text }) => contentLine(kind, text)),
];

const contentLine = (mark: ' ' | '+' | '-', text: string): readonly Line[] =>
  text.endsWith('\n')
    ? [{ mark, text: text.slice(0, -1) }]
    : [
        { mark, text },
        { mark: 'place', text: '\\ no line feed at the end of the file' },
      ];

const added = (text: string): readonly Line[] => linesOf(text).flatMap((line) => contentLine('+', line));
const passage = (mark: '+' | '-', text: string): readonly Line[] =>
  linesOf(text).map((line) => ({ mark, text: line.replace(/\n$/, '') }));

function countLines(text: string): string {
  const count = linesOf(text).length;
  return `${count} line${count === 1 ? '' : 's'}`;
}

const LEADS = { note: '» ', place: '', ' ': ' ', '+': '+', '-': '-', '|': '| ' } as const;

/** Cuts, makes visible, and colours: in this order, so that no cut can fall into an escape sequence of ours. */
function printed(lines: readonly Line[], colors: boolean): readonly string[] {
  const paint = pc.createColors(colors);
  const paints = {
    note: paint.bold,
    place: paint.cyan,
    ' ': paint.reset,
    '+': paint.green,
    '-': paint.red,
    '|': paint.reset,
  };
  const shown: string[] = [];
  let chars = 0;
  for (const { mark, text } of lines) {
    const line = `${LEADS[mark]}${visible(clip(text))}`;
    chars += line.length;
    if (shown.length >= PREVIEW_LINES_MAX || chars > PREVIEW_CHARS_MAX) break;
    shown.push(paints[mark](line));
  }
  const more = lines.length - shown.length;
  return more === 0 ? shown : [...shown, paint.bold(`… ${more} more line${more === 1 ? '' : 's'}`)];
}

function clip(text: string): string {
  if (text.length <= PREVIEW_LINE_CHARS_MAX) return text;
  const kept = text.slice(0, PREVIEW_LINE_CHARS_MAX);
  const whole = kept.isWellFormed() ? kept : kept.slice(0, -1);
  return `${whole} … ${text.length - whole.length} more characters`;
}
