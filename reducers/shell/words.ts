// Splits the simplest kind of shell line into words: one command, its arguments, quotes. A line that a shell would expand,
// redirect, chain or substitute is refused, so the words that are returned are exactly what every POSIX shell reads (XCU
// sections 2.2 and 2.6). One pass over the text.
import { SHELL_LINE_CHARS_MAX } from '../../schemas/limits.ts';

export interface ShellWord {
  readonly text: string;
  /** The word is from a shell line, where its special characters were quoted. Words of an argument list never are. */
  readonly quoted: boolean;
}

/** Characters special to a shell outside quotes: operators, expansions, patterns, comments, history. */
const SPECIAL = /[|&;<>()$`\\*?[\]{}~!#^\p{Cc}\u2028\u2029]/u;
/** Characters special between double quotes. */
const SPECIAL_IN_DOUBLE = /[$`\\!\p{Cc}\u2028\u2029]/u;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

/** The words of one simple command; null when the line is more than that, has an open quote or is too long. */
export function splitShellLine(line: string): readonly ShellWord[] | null {
  if (line.length > SHELL_LINE_CHARS_MAX || !line.isWellFormed()) return null;
  const words: ShellWord[] = [];
  let at = 0;
  while (at < line.length) {
    if (isBlank(line[at])) {
      at += 1;
      continue;
    }
    const word = readWord(line, at);
    if (word === null) return null;
    words.push({ text: word.text, quoted: true });
    at = word.end;
  }
  return words;
}

/** An argument list as words. No shell reads it, so special characters are kept here and left to {@link isPlain}. */
export function wordsOf(argv: readonly string[]): readonly ShellWord[] | null {
  const chars = argv.reduce((sum, text) => sum + text.length + 1, 0);
  if (chars > SHELL_LINE_CHARS_MAX) return null;
  return argv.some((text) => !text.isWellFormed()) ? null : argv.map((text) => ({ text, quoted: false }));
}

/** True when the word is certainly literal. */
export const isPlain = ({ text, quoted }: ShellWord): boolean =>
  text !== '' && !CONTROL.test(text) && (quoted || !(SPECIAL.test(text) || /['"]/.test(text)));

/** Reads one word: quoted and bare parts without a blank between them. */
function readWord(line: string, start: number): { readonly text: string; readonly end: number } | null {
  let text = '';
  let at = start;
  while (at < line.length && !isBlank(line[at])) {
    const unit = line[at] as string;
    if (unit === "'" || unit === '"') {
      const close = line.indexOf(unit, at + 1);
      const inside = close === -1 ? null : line.slice(at + 1, close);
      if (inside === null || (unit === '"' ? SPECIAL_IN_DOUBLE : CONTROL).test(inside)) return null;
      text += inside;
      at = close + 1;
    } else {
      const end = endOfBare(line, at);
      const bare = line.slice(at, end);
      if (SPECIAL.test(bare)) return null;
      text += bare;
      at = end;
    }
  }
  return { text, end: at };
}

function endOfBare(line: string, start: number): number {
  let at = start;
  while (at < line.length && !isBlank(line[at]) && line[at] !== "'" && line[at] !== '"') at += 1;
  return at;
}

// Only these separate words. Other white space either ends the line, which is refused, or is an ordinary character.
const isBlank = (unit: string | undefined): boolean => unit === ' ' || unit === '\t';
