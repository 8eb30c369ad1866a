// Splits the simplest kind of shell line into words: one command, its arguments, quotes. Whatever a shell would expand,
// redirect, chain or substitute is refused rather than understood, so a line that comes out as words means exactly
// those words to every POSIX shell (XCU section 2.2 and 2.6). One pass over the text.
import { SHELL_LINE_CHARS_MAX } from '../schemas/limits.ts';

export interface ShellWord {
  readonly text: string;
  /** It came from a shell line, where everything special in it was quoted. Words of an argument list never were. */
  readonly quoted: boolean;
}

/** What means something to a shell outside of quotes: operators, expansions, patterns, comments, history. */
const SPECIAL = /[|&;<>()$`\\*?[\]{}~!#^\p{Cc}\u2028\u2029]/u;
/** What still means something between double quotes. */
const SPECIAL_IN_DOUBLE = /[$`\\!\p{Cc}\u2028\u2029]/u;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

/** The words of one simple command; null when the line is anything more, or is not closed, or is too long. */
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

/** An argument list as words: no shell reads it, so what would be special in a line is only suspicious here. */
export function wordsOf(argv: readonly string[]): readonly ShellWord[] | null {
  const chars = argv.reduce((sum, text) => sum + text.length + 1, 0);
  if (chars > SHELL_LINE_CHARS_MAX) return null;
  return argv.some((text) => !text.isWellFormed()) ? null : argv.map((text) => ({ text, quoted: false }));
}

/** True when the word can only be meant as it stands. */
export const isPlain = ({ text, quoted }: ShellWord): boolean =>
  text !== '' && !CONTROL.test(text) && (quoted || !(SPECIAL.test(text) || /['"]/.test(text)));

/** Quoted and bare parts that touch are one word. */
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

// Only these part words; other white space either ends the line (and is refused) or is a character like any other.
const isBlank = (unit: string | undefined): boolean => unit === ' ' || unit === '\t';
