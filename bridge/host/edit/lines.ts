// Text as lines, each with the line end it had.

export type LineEnd = '' | '\n' | '\r\n';

export interface Line {
  readonly text: string;
  /** Empty only for a last line without a line end. */
  readonly end: LineEnd;
}

export function splitLines(text: string): readonly Line[] {
  const lines: Line[] = [];
  let at = 0;
  while (at < text.length) {
    const feed = text.indexOf('\n', at);
    if (feed === -1) {
      lines.push({ text: text.slice(at), end: '' });
      break;
    }
    const end = feed > at && text[feed - 1] === '\r' ? '\r\n' : '\n';
    lines.push({ text: text.slice(at, feed + 1 - end.length), end });
    at = feed + 1;
  }
  return lines;
}

export const joinLines = (lines: readonly Line[]): string => lines.map((line) => line.text + line.end).join('');

/** The line end that most lines have (LF on a tie); null when no line has one. */
export function prevailingEnd(text: string): '\n' | '\r\n' | null {
  let feeds = 0;
  let pairs = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    feeds += 1;
    if (at > 0 && text[at - 1] === '\r') pairs += 1;
  }
  if (feeds === 0) return null;
  return pairs * 2 > feeds ? '\r\n' : '\n';
}

/** The text with every line end written as `end`; unchanged when `end` is null. */
export function withLineEnds(text: string, end: '\n' | '\r\n' | null): string {
  if (end === null) return text;
  const plain = text.replaceAll('\r\n', '\n');
  return end === '\n' ? plain : plain.replaceAll('\n', end);
}
