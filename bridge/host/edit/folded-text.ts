// The fuzzy view of a text: each run of white space is one space, and typographic quotes and dashes are the plain ones.
// Models make these changes when they quote a file from memory.

export interface FoldedText {
  readonly text: string;
  /** For each folded UTF-16 unit, the offsets in the original where it begins and ends. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

export function foldText(original: string): FoldedText {
  const starts = new Uint32Array(original.length);
  const ends = new Uint32Array(original.length);
  const units: string[] = [];
  for (let at = 0; at < original.length; at += 1) {
    const unit = original[at] as string;
    const space = isSpace(unit);
    if (space && units.at(-1) === ' ') {
      ends[units.length - 1] = at + 1;
      continue;
    }
    starts[units.length] = at;
    ends[units.length] = at + 1;
    units.push(space ? ' ' : foldUnit(unit));
  }
  return { text: units.join(''), starts: starts.subarray(0, units.length), ends: ends.subarray(0, units.length) };
}

/** The folded text alone, without the offsets: many times faster, for a caller that only searches. */
export const foldedOnly = (original: string): string => original.replace(/\s+/g, ' ').replace(TYPOGRAPHIC, foldUnit);

/** One line in the fuzzy view, without outer white space. */
export const foldLine = (line: string): string => foldedOnly(line).trim();

/** Most units are plain ASCII, for which a comparison is many times faster than the expression. */
export const isSpace = (unit: string): boolean => (unit > ' ' && unit < '\u007f' ? false : /\s/.test(unit));

const plainUnits: Readonly<Record<string, string>> = {
  '\u2018': "'",
  '\u2019': "'",
  '\u201a': "'",
  '\u201b': "'",
  '\u201c': '"',
  '\u201d': '"',
  '\u201e': '"',
  '\u201f': '"',
  '\u2010': '-',
  '\u2011': '-',
  '\u2012': '-',
  '\u2013': '-',
  '\u2014': '-',
  '\u2015': '-',
  '\u2212': '-',
};

const TYPOGRAPHIC = new RegExp(`[${Object.keys(plainUnits).join('')}]`, 'g');

const foldUnit = (unit: string): string => plainUnits[unit] ?? unit;
