// Applies the hunks of one file to its text. Pure. Hunks are located in the original text, never in lines that an earlier
// hunk added, and must not overlap. Context lines keep the file's text, even when they matched only in the fuzzy view: a
// patch changes only its '-' and '+' lines.
import { foldLine } from '../edit/folded-text.ts';
import { type Line, joinLines, prevailingEnd, splitLines } from '../edit/lines.ts';
import { ToolFault } from '../outcome.ts';
import { type PatchWork, newPatchWork } from './patch-work.ts';
import { adviceOnMark } from '../secret-mark.ts';
import type { Hunk } from './parse-patch.ts';

/** The changes of the hunks placed so far. Lines count from 0; the key of `added` is the line that follows the gap. */
interface Changes {
  readonly deleted: Set<number>;
  readonly added: Map<number, Line[]>;
  /** Where the last hunk's match ended, and where its last change ended: the next hunk may share the context between. */
  matchEnd: number;
  changeEnd: number;
}

/** The lines of the file, exact and folded, indexed for the search. */
interface Original {
  readonly work: PatchWork;
  readonly exact: LineIndex;
  readonly folded: () => LineIndex;
}

interface LineIndex {
  readonly lines: readonly string[];
  readonly places: ReadonlyMap<string, readonly number[]>;
}

/** Throws a `ToolFault` when a hunk does not fit, or when `work` is used up. */
export function applyHunks(whole: string, hunks: readonly Hunk[], shown: string, work = newPatchWork()): string {
  // A byte order mark belongs to the file, not to its first line: patches show the line without it.
  const mark = whole.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const text = whole.slice(mark.length);
  work.read(text, shown);
  const lines = splitLines(text);
  const original = readOriginal(lines, work);
  const end = prevailingEnd(text) ?? '\n';
  const changes: Changes = { deleted: new Set(), added: new Map(), matchEnd: 0, changeEnd: 0 };
  for (const hunk of hunks) place(hunk, locate(original, hunk, changes, shown), changes, end);
  const patched = joinLines(closeLines(assemble(lines, changes), text, end));
  return patched.startsWith(mark) ? patched : mark + patched;
}

const BYTE_ORDER_MARK = '\ufeff';

function readOriginal(lines: readonly Line[], work: PatchWork): Original {
  let folded: LineIndex | undefined;
  return {
    work,
    exact: indexLines(lines.map((line) => line.text)),
    folded: () => (folded ??= indexLines(lines.map((line) => foldLine(line.text)))),
  };
}

function indexLines(lines: readonly string[]): LineIndex {
  const places = new Map<string, number[]>();
  for (const [index, line] of lines.entries()) {
    const known = places.get(line);
    if (known === undefined) places.set(line, [index]);
    else known.push(index);
  }
  return { lines, places };
}

/**
 * The line at which a hunk applies. In this order: the first exact match after the hint (without a hint: after the previous
 * hunk); the first exact match elsewhere; the first fuzzy match after the hint; the only fuzzy match.
 */
function locate(original: Original, hunk: Hunk, changes: Changes, shown: string): number {
  const old = hunk.lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
  const anchor = anchorOf(original, hunk, changes.changeEnd);
  if (old.length === 0) return locateInsertion(original, hunk, { anchor, matchEnd: changes.matchEnd }, shown);
  const exact = findLines(original.exact, old, changes.deleted, original.work);
  const last = original.exact.lines.length - old.length;
  if (hunk.atEnd && exact.includes(last)) return last;
  const from = anchor === null ? [changes.matchEnd, changes.changeEnd, 0] : [anchor, 0];
  const found = firstFrom(exact, from);
  if (found !== undefined) {
    // A hint that matches no line cannot choose between several matches.
    if (hunk.hints.length === 0 || anchor !== null || exact.length === 1) return found;
    throw ambiguous(hunk, exact, shown);
  }
  const fuzzy = findLines(original.folded(), old.map(foldLine), changes.deleted, original.work);
  const hinted = anchor === null ? undefined : firstFrom(fuzzy, [anchor]);
  if (hinted !== undefined) return hinted;
  if (fuzzy.length === 1 && fuzzy[0] !== undefined) return fuzzy[0];
  if (fuzzy.length > 1) throw ambiguous(hunk, fuzzy, shown);
  throw rejected(
    hunk,
    `failed to match hunk: the file does not contain its context and '-' lines, which start with ${quote(old[0])}${adviceOnMark(old.join('\n'))}`,
    shown,
  );
}

/** A hunk without old lines goes after its hint, or to where the previous hunk ended. */
function locateInsertion(
  original: Original,
  hunk: Hunk,
  at: { readonly anchor: number | null; readonly matchEnd: number },
  shown: string,
): number {
  if (hunk.atEnd) return original.exact.lines.length;
  if (hunk.hints.length === 0) return at.matchEnd;
  if (at.anchor !== null) return at.anchor + 1;
  throw rejected(hunk, `failed to match hunk: no line matches the hint ${quote(hunk.hints.at(-1))}`, shown);
}

/** Every line at which the `wanted` lines occur and no hunk has deleted one of them. */
function findLines(
  index: LineIndex,
  wanted: readonly string[],
  deleted: Set<number>,
  work: PatchWork,
): readonly number[] {
  const { lines, places } = index;
  const starts = places.get(wanted[0] as string) ?? [];
  work.compare(Math.min(starts.length * wanted.length, lines.length) + wanted.length);
  if (starts.length * wanted.length > lines.length) return findRepeated(index, wanted, deleted);
  return starts.filter((start) =>
    wanted.every((line, offset) => lines[start + offset] === line && !deleted.has(start + offset)),
  );
}

/**
 * The same, in one pass over the lines (Knuth-Morris-Pratt). Where lines repeat, such as blank ones, trying every place
 * would take time proportional to lines times wanted lines, for every hunk.
 */
function findRepeated({ lines }: LineIndex, wanted: readonly string[], deleted: Set<number>): readonly number[] {
  // shorter[at]: the length of the longest proper prefix of wanted[0..at] that is also its suffix.
  const shorter = [0];
  for (let at = 1; at < wanted.length; at += 1) {
    shorter.push(extended(shorter[at - 1] as number, wanted[at] as string, { wanted, shorter }));
  }
  const found: number[] = [];
  let matched = 0;
  for (const [at, line] of lines.entries()) {
    matched = deleted.has(at) ? 0 : extended(matched, line, { wanted, shorter });
    if (matched < wanted.length) continue;
    found.push(at + 1 - matched);
    matched = shorter[matched - 1] as number;
  }
  return found;
}

interface Repeats {
  readonly wanted: readonly string[];
  readonly shorter: readonly number[];
}

/** How many wanted lines match up to this line, when `before` of them matched up to the previous line. */
function extended(before: number, line: string, { wanted, shorter }: Repeats): number {
  let matched = before;
  while (matched > 0 && wanted[matched] !== line) matched = shorter[matched - 1] as number;
  return wanted[matched] === line ? matched + 1 : 0;
}

function firstFrom(found: readonly number[], floors: readonly number[]): number | undefined {
  for (const floor of floors) {
    const first = found.find((start) => start >= floor);
    if (first !== undefined) return first;
  }
  return undefined;
}

function place(hunk: Hunk, start: number, changes: Changes, end: '\n' | '\r\n'): void {
  let at = start;
  for (const { kind, text } of hunk.lines) {
    if (kind === 'add') addedAt(changes, at).push({ text, end });
    if (kind === 'delete') changes.deleted.add(at);
    if (kind !== 'add') at += 1;
    if (kind !== 'context') changes.changeEnd = at;
  }
  changes.matchEnd = at;
}

function addedAt({ added }: Changes, gap: number): Line[] {
  const known = added.get(gap) ?? [];
  added.set(gap, known);
  return known;
}

function assemble(lines: readonly Line[], { added, deleted }: Changes): readonly Line[] {
  const out: Line[] = [];
  for (let at = 0; at <= lines.length; at += 1) {
    for (const line of added.get(at) ?? []) out.push(line);
    const own = lines[at];
    if (own !== undefined && !deleted.has(at)) out.push(own);
  }
  return out;
}

/** The line of the last hint; each hint is searched from the previous one on. Null when one is not found. */
function anchorOf(original: Original, hunk: Hunk, cursor: number): number | null {
  let at: number | null = null;
  for (const hint of hunk.hints) {
    const from: number = at ?? cursor;
    at = findHint(original, hint, from) ?? (at === null ? findHint(original, hint, 0) : null);
    if (at === null) return null;
  }
  return at;
}

function findHint({ exact, folded, work }: Original, hint: string, from: number): number | null {
  const fuzzy = foldLine(hint);
  const tests: readonly ((index: number) => boolean)[] = [
    (index) => exact.lines[index]?.trim() === hint,
    (index) => folded().lines[index] === fuzzy,
    (index) => folded().lines[index]?.includes(fuzzy) === true,
  ];
  for (const test of tests) {
    work.compare(exact.lines.length - from);
    for (let index = from; index < exact.lines.length; index += 1) if (test(index)) return index;
  }
  return null;
}

// The last line has a line end exactly when the file's last line had one; every other line has one.
function closeLines(lines: readonly Line[], text: string, end: '\n' | '\r\n'): readonly Line[] {
  const endsWithFeed = text.endsWith('\n');
  return lines.map((line, index) => {
    if (index === lines.length - 1 && !endsWithFeed) return { text: line.text, end: '' };
    return line.end === '' ? { text: line.text, end } : line;
  });
}

function ambiguous(hunk: Hunk, starts: readonly number[], shown: string): ToolFault {
  const lines = starts.slice(0, 10).map((start) => start + 1);
  return rejected(
    hunk,
    `ambiguous: the hunk matches at lines ${lines.join(', ')}${starts.length > lines.length ? ', …' : ''}; add context lines`,
    shown,
  );
}

const rejected = (hunk: Hunk, message: string, shown: string): ToolFault =>
  new ToolFault(
    'hunk_rejected',
    `${shown}, hunk at line ${hunk.patchLine} of the patch: ${message}. Nothing was written; read the file, then send a corrected patch`,
  );

const quote = (line: string | undefined): string => JSON.stringify((line ?? '').slice(0, 120).toWellFormed());
