// Glob patterns over `/`-separated paths: `*` and `?` within a name, `**` as a whole name for any depth, `[a-z]`,
// `[!a-z]`, `{a,b}` and `\` for a literal. Hidden names match like any other. Matching takes time proportional to
// pattern times path: on a mismatch it backtracks to the last wildcard only, and it uses no regular expression.
import { GLOB_ALTERNATIVES_MAX, PATTERN_CHARS_MAX } from '../../../schemas/limits.ts';

export interface GlobPattern {
  /** True when the pattern contains a `/`: it is then matched against the whole path. */
  readonly anchored: boolean;
  matches(path: string): boolean;
}

type Part = { readonly kind: 'unit'; readonly unit: string } | CharacterSet | { readonly kind: 'any' | 'star' };

interface CharacterSet {
  readonly kind: 'set';
  readonly negated: boolean;
  readonly ranges: readonly (readonly [from: string, to: string])[];
}

/** `**`, or the parts of one name's pattern. */
type Segment = '**' | readonly Part[];

/** Throws a RangeError that says what is wrong with the pattern. */
export function compileGlob(pattern: string): GlobPattern {
  if (pattern === '' || pattern.length > PATTERN_CHARS_MAX) {
    throw new RangeError(`a glob pattern must have 1 to ${PATTERN_CHARS_MAX} characters`);
  }
  const alternatives = expandBraces(pattern).map(compileSegments);
  return {
    anchored: pattern.includes('/'),
    matches: (path) => {
      const names = path.split('/');
      return alternatives.some((segments) => matchSegments(segments, names));
    },
  };
}

function compileSegments(pattern: string): readonly Segment[] {
  const names = pattern.split('/').filter((name, index) => name !== '.' && !(name === '' && index > 0));
  if (pattern.startsWith('/') || names.includes('..')) {
    throw new RangeError(
      "a glob pattern is relative to the searched directory: it must not start with '/' or contain '..'",
    );
  }
  return names.map((name) => (name === '**' ? '**' : compileName(name)));
}

function compileName(name: string): readonly Part[] {
  if (name.includes('**')) throw new RangeError("'**' must be a whole path component");
  const parts: Part[] = [];
  // By code point, so that `?` also matches one character outside the basic plane.
  const units = Array.from(name);
  for (let at = 0; at < units.length; at += 1) {
    const unit = units[at] as string;
    if (unit === '*') parts.push({ kind: 'star' });
    else if (unit === '?') parts.push({ kind: 'any' });
    else if (unit === '[') {
      const { set, end } = readSet(units, at + 1);
      parts.push(set);
      at = end;
    } else if (unit === '\\') {
      at += 1;
      if (at === units.length) throw new RangeError("the pattern ends in an unfinished escape, '\\'");
      parts.push({ kind: 'unit', unit: units[at] as string });
    } else parts.push({ kind: 'unit', unit });
  }
  return parts;
}

function readSet(units: readonly string[], start: number): { readonly set: CharacterSet; readonly end: number } {
  const negated = units[start] === '!' || units[start] === '^';
  const first = negated ? start + 1 : start;
  const end = units.indexOf(']', first + 1);
  if (end === -1) throw new RangeError("'[' has no closing ']'");
  const ranges: [string, string][] = [];
  for (let at = first; at < end; at += 1) {
    const from = units[at] as string;
    if (units[at + 1] !== '-' || at + 2 >= end) {
      ranges.push([from, from]);
      continue;
    }
    const to = units[at + 2] as string;
    if (order(from) > order(to)) throw new RangeError(`the range ${from}-${to} is reversed`);
    ranges.push([from, to]);
    at += 2;
  }
  return { set: { kind: 'set', negated, ranges }, end };
}

function matchSegments(segments: readonly Segment[], names: readonly string[]): boolean {
  return matchWildcards(segments.length, names.length, {
    isStar: (index) => segments[index] === '**',
    fits: (index, at) => {
      const segment = segments[index];
      return segment !== '**' && segment !== undefined && matchName(segment, names[at] as string);
    },
  });
}

function matchName(parts: readonly Part[], name: string): boolean {
  const units = Array.from(name);
  return matchWildcards(parts.length, units.length, {
    isStar: (index) => parts[index]?.kind === 'star',
    fits: (index, at) => fitsPart(parts[index] as Part, units[at] as string),
  });
}

function fitsPart(part: Part, unit: string): boolean {
  if (part.kind === 'unit') return part.unit === unit;
  if (part.kind !== 'set') return part.kind === 'any';
  const code = order(unit);
  return part.ranges.some(([from, to]) => order(from) <= code && code <= order(to)) !== part.negated;
}

interface Wildcards {
  readonly isStar: (index: number) => boolean;
  readonly fits: (index: number, at: number) => boolean;
}

// A star first matches as little as possible; on a mismatch the last star matches one unit more. Backtracking to an
// earlier star is not needed: everything it could match, the last star can match too.
function matchWildcards(patternLength: number, length: number, { isStar, fits }: Wildcards): boolean {
  let index = 0;
  let at = 0;
  let star = -1;
  let starAt = 0;
  while (at < length) {
    if (index < patternLength && isStar(index)) {
      star = index;
      starAt = at;
      index += 1;
    } else if (index < patternLength && fits(index, at)) {
      index += 1;
      at += 1;
    } else if (star >= 0) {
      starAt += 1;
      at = starAt;
      index = star + 1;
    } else return false;
  }
  while (index < patternLength && isStar(index)) index += 1;
  return index === patternLength;
}

function expandBraces(pattern: string): readonly string[] {
  const open = findUnescaped(pattern, '{', 0);
  if (open === -1) return [pattern];
  const { options, end } = readOptions(pattern, open);
  const before = pattern.slice(0, open);
  const expanded: string[] = [];
  for (const rest of expandBraces(pattern.slice(end + 1))) {
    for (const option of options.flatMap((text) => expandBraces(text))) expanded.push(before + option + rest);
    if (expanded.length > GLOB_ALTERNATIVES_MAX) {
      throw new RangeError(`the braces expand to more than ${GLOB_ALTERNATIVES_MAX} patterns`);
    }
  }
  return expanded;
}

function readOptions(pattern: string, open: number): { readonly options: readonly string[]; readonly end: number } {
  const options: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = open; at < pattern.length; at += 1) {
    const unit = pattern[at];
    if (unit === '\\') at += 1;
    else if (unit === '{') depth += 1;
    else if (unit === ',' && depth === 1) {
      options.push(pattern.slice(start, at));
      start = at + 1;
    } else if (unit === '}') {
      depth -= 1;
      if (depth === 0) return { options: [...options, pattern.slice(start, at)], end: at };
    }
  }
  throw new RangeError("'{' has no closing '}'");
}

function findUnescaped(text: string, wanted: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === wanted) return at;
  }
  return -1;
}

const order = (unit: string): number => unit.codePointAt(0) ?? 0;
