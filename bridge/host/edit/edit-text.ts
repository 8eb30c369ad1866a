// Replaces a passage of a text. An exact match wins; without one, the passage is searched in the fuzzy view. Without
// `all`, more than one match is an ambiguity. Line ends stay the file's, whatever line ends the arguments use. Pure.
import { EDIT_MATCHES_MAX, FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { foldText, foldedOnly, isSpace } from './folded-text.ts';
import { prevailingEnd, withLineEnds } from './lines.ts';

export interface Edit {
  /** Not empty. */
  readonly oldText: string;
  readonly newText: string;
  readonly all: boolean;
}

export type Edited =
  | { readonly kind: 'edited'; readonly text: string; readonly replacements: number; readonly fuzzy: boolean }
  | { readonly kind: 'ambiguous'; readonly matches: number; readonly lines: readonly number[]; readonly fuzzy: boolean }
  | { readonly kind: 'not_found' };

/** How many line numbers an ambiguous match reports. */
const LINES_NAMED = 10;

/** A passage of the original, as UTF-16 offsets, and its replacement. */
interface Passage {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

export function editText(text: string, edit: Edit): Edited {
  const exact = findExact(text, edit);
  if (exact.length > 0) return apply(text, exact, edit.all, false);
  const fuzzy = findFuzzy(text, edit);
  return fuzzy.length > 0 ? apply(text, fuzzy, edit.all, true) : { kind: 'not_found' };
}

/** Passages may overlap: overlapping matches are ambiguous too. */
function apply(text: string, passages: readonly Passage[], all: boolean, fuzzy: boolean): Edited {
  if (passages.length > 1 && !all) {
    const lines = passages.slice(0, LINES_NAMED).map(({ start }) => lineAt(text, start));
    return { kind: 'ambiguous', matches: passages.length, lines, fuzzy };
  }
  refuseGrowth(text, passages);
  const ownEnd = prevailingEnd(text);
  const parts: string[] = [];
  let at = 0;
  let replacements = 0;
  for (const { start, end, replacement } of passages) {
    if (start < at) continue;
    parts.push(text.slice(at, start), withLineEnds(replacement, prevailingEnd(text.slice(start, end)) ?? ownEnd));
    at = end;
    replacements += 1;
  }
  parts.push(text.slice(at));
  return { kind: 'edited', text: parts.join(''), replacements, fuzzy };
}

function findExact(text: string, { oldText, newText }: Edit): readonly Passage[] {
  const view = viewOf(text);
  const wanted = oldText.replaceAll('\r\n', '\n');
  return occurrences(view.text, wanted).map((at) => ({
    start: view.offset(at),
    end: view.offset(at + wanted.length),
    replacement: newText,
  }));
}

// White space around the wanted passage means only that the file has some there, or that the text begins or ends there.
// A fuzzy match that included it would also replace the line break before the line. So only the core is matched, and the
// file's white space around it stays where the new text repeats that of the old one.
function findFuzzy(text: string, { oldText, newText }: Edit): readonly Passage[] {
  const core = foldedOnly(oldText.trim());
  if (core === '') return [];
  const lead = oldText.slice(0, oldText.length - oldText.trimStart().length);
  const trail = oldText.slice(oldText.trimEnd().length);
  const keepsLead = newText.startsWith(lead);
  const keepsTrail = newText.length >= lead.length + trail.length && newText.endsWith(trail);
  const replacement = newText.slice(keepsLead ? lead.length : 0, newText.length - (keepsTrail ? trail.length : 0));
  if (positions(foldedOnly(text), core).next().done === true) return [];
  const view = foldText(text);
  const isOuter = (at: number): boolean => at < 0 || at >= view.text.length || view.text[at] === ' ';
  const passages: Passage[] = [];
  for (const at of occurrences(view.text, core)) {
    const last = at + core.length - 1;
    if ((lead !== '' && !isOuter(at - 1)) || (trail !== '' && !isOuter(last + 1))) continue;
    const start = numberAt(view.starts, at);
    const end = numberAt(view.ends, last);
    passages.push({
      start: keepsLead ? start : backOver(text, start, lead.includes('\n')),
      end: keepsTrail ? end : forwardOver(text, end, trail.includes('\n')),
      replacement,
    });
  }
  return passages;
}

/** The start of the blanks before `at`; with `lineBreak`, that of the one line break before them. */
function backOver(text: string, at: number, lineBreak: boolean): number {
  let start = at;
  while (start > 0 && isBlank(text[start - 1])) start -= 1;
  if (!lineBreak || text[start - 1] !== '\n') return start;
  return text[start - 2] === '\r' ? start - 2 : start - 1;
}

function forwardOver(text: string, at: number, lineBreak: boolean): number {
  let end = at;
  while (end < text.length && isBlank(text[end])) end += 1;
  if (!lineBreak) return end;
  if (text.startsWith('\r\n', end)) return end + 2;
  return text[end] === '\n' ? end + 1 : end;
}

const isBlank = (unit: string | undefined): boolean =>
  unit !== undefined && unit !== '\n' && unit !== '\r' && isSpace(unit);

/** The text with LF line ends only, and the offset in the original of each of its offsets. */
function viewOf(text: string): { readonly text: string; offset(at: number): number } {
  if (!text.includes('\r\n')) return { text, offset: (at) => at };
  const offsets = new Uint32Array(text.length + 1);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    offsets[length] = at;
    length += 1;
    if (text.startsWith('\r\n', at)) at += 1;
  }
  offsets[length] = text.length;
  return { text: text.replaceAll('\r\n', '\n'), offset: (at) => numberAt(offsets, at) };
}

function occurrences(text: string, wanted: string): readonly number[] {
  const found: number[] = [];
  for (const at of positions(text, wanted)) {
    if (found.length === EDIT_MATCHES_MAX) {
      throw new ToolFault(
        'too_many_matches',
        `old_string occurs more than ${EDIT_MATCHES_MAX} times; give a longer passage`,
      );
    }
    found.push(at);
  }
  return found;
}

/**
 * `indexOf` compares a long passage again at every offset where the text repeats itself: 16 MB of one letter would take
 * hours. A long passage is therefore searched in one pass (Knuth-Morris-Pratt).
 */
function* positions(text: string, wanted: string): Generator<number> {
  if (wanted.length <= SHORT_CHARS) {
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) yield at;
    return;
  }
  // shorter[at]: the length of the longest proper prefix of wanted[0..at] that is also its suffix.
  const shorter = new Uint32Array(wanted.length);
  const extended = (before: number, unit: number): number => {
    let matched = before;
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = numberAt(shorter, matched - 1);
    return wanted.charCodeAt(matched) === unit ? matched + 1 : 0;
  };
  for (let at = 1; at < wanted.length; at += 1)
    shorter[at] = extended(numberAt(shorter, at - 1), wanted.charCodeAt(at));
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    matched = extended(matched, text.charCodeAt(at));
    if (matched < wanted.length) continue;
    yield at + 1 - matched;
    matched = numberAt(shorter, matched - 1);
  }
}

const SHORT_CHARS = 32;

function refuseGrowth(text: string, passages: readonly Passage[]): void {
  const length = passages.reduce((sum, { replacement }) => sum + replacement.length, text.length);
  if (length > 2 * FILE_BYTES_MAX) {
    throw new ToolFault('file_too_large', `the edit would write more than ${FILE_BYTES_MAX} bytes; make smaller edits`);
  }
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

const numberAt = (values: Uint32Array, index: number): number => values[index] ?? 0;
