// Parses a patch in the V4A format into operations. Pure. Every refusal is `patch_parse_error` with the line number.
//
//   *** Begin Patch
//   *** Add File: <path>       then lines that all start with '+'
//   *** Delete File: <path>
//   *** Update File: <path>    then optionally '*** Move to: <path>', then hunks: '@@ [hint]' (of several hints in a
//                              row, each is searched after the previous one) and lines that start with ' ', '-' or
//                              '+'; the last hunk line may be '*** End of File'
//   *** End Patch
//
// A carriage return at the end of a patch line is part of the patch's line ends, never of the text: each file keeps its
// own line ends.
import { PATCH_CHARS_MAX, PATCH_HUNKS_MAX, PATCH_OPERATIONS_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';

export type HunkLineKind = 'context' | 'delete' | 'add';

export interface HunkLine {
  readonly kind: HunkLineKind;
  readonly text: string;
}

export interface Hunk {
  /** Lines that occur before the hunk in the file, outermost first. */
  readonly hints: readonly string[];
  readonly lines: readonly HunkLine[];
  /** The hunk ends at the end of the file. */
  readonly atEnd: boolean;
  /** The line of the patch on which the hunk begins, from 1. */
  readonly patchLine: number;
}

export type PatchOperation =
  | { readonly kind: 'add'; readonly path: string; readonly lines: readonly string[] }
  | { readonly kind: 'delete'; readonly path: string }
  | { readonly kind: 'update'; readonly path: string; readonly moveTo: string | null; readonly hunks: readonly Hunk[] };

export function parsePatch(text: string): readonly PatchOperation[] {
  if (text.length > PATCH_CHARS_MAX) {
    const sizes = `the patch has ${text.length} characters; the maximum is ${PATCH_CHARS_MAX}`;
    throw new ToolFault('patch_parse_error', `${sizes}. Nothing was written; send several smaller patches`);
  }
  const reader = openReader(text);
  const operations: PatchOperation[] = [];
  while (!reader.done()) {
    const line = reader.next();
    if (line.trim() === '') continue;
    operations.push(readOperation(line, reader));
    if (operations.length > PATCH_OPERATIONS_MAX) {
      throw reader.fault(`more than ${PATCH_OPERATIONS_MAX} operations; send several smaller patches`);
    }
  }
  if (operations.length === 0) throw reader.fault('a patch must contain at least one operation');
  return operations;
}

/** The lines between the two markers, one at a time. */
interface Reader {
  done(): boolean;
  peek(): string | undefined;
  next(): string;
  /** The number of the line that was read last, from 1. */
  line(): number;
  fault(message: string): ToolFault;
}

const MARKER = '*** ';
const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';
const MOVE_TO = '*** Move to: ';

function openReader(text: string): Reader {
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  let first = lines.findIndex((line) => line.trim() !== '');
  const last = lines.findLastIndex((line) => line.trim() !== '');
  const faultAt = (line: number, message: string): ToolFault =>
    new ToolFault('patch_parse_error', `line ${line} of the patch: ${message}. Nothing was written`);
  if (lines[first]?.trim() !== BEGIN) throw faultAt(Math.max(1, first + 1), `a patch must start with '${BEGIN}'`);
  if (lines[last]?.trim() !== END) throw faultAt(last + 1, `a patch must end with '${END}'`);
  return {
    done: () => first + 1 >= last,
    peek: () => (first + 1 < last ? lines[first + 1] : undefined),
    next: () => lines[(first += 1)] as string,
    line: () => first + 1,
    fault: (message) => faultAt(first + 1, message),
  };
}

function readOperation(line: string, reader: Reader): PatchOperation {
  const match = /^\*\*\* (Add|Delete|Update) File: (.*)$/s.exec(line);
  if (match === null) {
    throw reader.fault(
      `unknown operation ${quote(line)}; use '*** Add File: ', '*** Delete File: ' or '*** Update File: '`,
    );
  }
  const path = pathIn(match[2], reader);
  if (match[1] === 'Add') return { kind: 'add', path, lines: readAdded(reader) };
  return match[1] === 'Delete' ? { kind: 'delete', path } : readUpdate(path, reader);
}

function pathIn(text: string | undefined, reader: Reader): string {
  const path = text?.trim() ?? '';
  if (path === '') throw reader.fault('the operation names no path; write the path after the colon');
  return path;
}

function readAdded(reader: Reader): readonly string[] {
  const lines: string[] = [];
  while (!atOperation(reader)) {
    const line = reader.next();
    if (line.trim() === '' && atOperation(reader)) break;
    if (!line.startsWith('+')) throw reader.fault(`invalid add-file line ${quote(line)}; start every line with '+'`);
    lines.push(line.slice(1));
  }
  return lines;
}

function readUpdate(path: string, reader: Reader): PatchOperation {
  let moveTo: string | null = null;
  if (reader.peek()?.startsWith(MOVE_TO) === true) moveTo = pathIn(reader.next().slice(MOVE_TO.length), reader);
  const hunks: Hunk[] = [];
  while (!atOperation(reader)) {
    if (reader.peek()?.trim() === '') reader.next();
    else hunks.push(readHunk(reader));
    if (hunks.length > PATCH_HUNKS_MAX)
      throw reader.fault(`more than ${PATCH_HUNKS_MAX} hunks; send several smaller patches`);
  }
  // A move without hunks is a rename; an update with neither would do nothing.
  if (hunks.length === 0 && moveTo === null)
    throw reader.fault("an update must include at least one hunk, or '*** Move to: '");
  return { kind: 'update', path, moveTo, hunks };
}

function readHunk(reader: Reader): Hunk {
  const hints: string[] = [];
  const header = reader.next();
  const patchLine = reader.line();
  if (!header.startsWith('@@')) throw reader.fault(`${quote(header)} is outside a hunk; begin a hunk with '@@'`);
  pushHint(hints, header);
  while (hints.length > 0 && reader.peek()?.startsWith('@@') === true) pushHint(hints, reader.next());
  const { lines, atEnd } = readHunkLines(reader);
  if (lines.length === 0) throw reader.fault("empty hunk; after '@@' give lines that start with ' ', '-' or '+'");
  return { hints, lines, atEnd, patchLine };
}

// Models also write unified-diff headers, `@@ -1,2 +1,3 @@ section`. Their line numbers are seldom right and are ignored;
// the section is used as a hint.
function pushHint(hints: string[], header: string): void {
  const hint = header
    .slice(2)
    .replace(/^ ?-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/, '')
    .trim();
  if (hint !== '') hints.push(hint);
}

const hunkLineKinds: Readonly<Record<string, HunkLineKind>> = { ' ': 'context', '-': 'delete', '+': 'add' };

function readHunkLines(reader: Reader): { readonly lines: readonly HunkLine[]; readonly atEnd: boolean } {
  const lines: HunkLine[] = [];
  while (!atOperation(reader) && reader.peek()?.startsWith('@@') === false) {
    const line = reader.next();
    if (line.trim() === END_OF_FILE) return { lines, atEnd: true };
    if (line === '') {
      if (blankUntilOperation(reader)) break;
      throw reader.fault("empty hunk line; write an empty line of the file as a single ' ', '-' or '+'");
    }
    const kind = hunkLineKinds[line.charAt(0)];
    if (kind === undefined) {
      throw reader.fault(`invalid hunk line prefix in ${quote(line)}; start the line with ' ', '-' or '+'`);
    }
    lines.push({ kind, text: line.slice(1) });
  }
  return { lines, atEnd: false };
}

/** Skips blank lines; true when an operation, a hunk or the end of the patch follows them. */
function blankUntilOperation(reader: Reader): boolean {
  while (reader.peek()?.trim() === '') reader.next();
  return atOperation(reader) || reader.peek()?.startsWith('@@') === true;
}

const atOperation = (reader: Reader): boolean =>
  reader.done() || (reader.peek()?.startsWith(MARKER) === true && reader.peek()?.trim() !== END_OF_FILE);

const quote = (line: string): string =>
  JSON.stringify(line.length > 80 ? `${line.slice(0, 80)}…`.toWellFormed() : line);
