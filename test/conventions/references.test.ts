// Code and documents cite only what this repository holds (CONTRIBUTING.md, "Citations").
import { describe, expect, test } from 'vitest';
import { LAWS } from '../../src/testing/laws/laws.ts';
import { type SourceFile, placeOf, repositoryPaths, sourceFiles } from './source-files.ts';

const CITING =
  /^(?!replay-fixtures\/.*\.jsonl$|test\/golden\/|package-lock\.json$|LICENSE$).*\.(ts|mjs|cjs|py|md|json|yml)$/;
const files = sourceFiles(CITING);
const paths = new Set(repositoryPaths());
const folders = new Set([...paths].flatMap((path) => parentsOf(path)));

function parentsOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

// In code only comments cite: strings may hold paths that are examples.
const blank = (text: string): string => text.replace(/[^\n]/g, ' ');
const CODE = /\.(ts|mjs|cjs)$/;
const TOKEN = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|(\/\/[^\n]*|\/\*[\s\S]*?\*\/)/g;
const citing = files.map(({ path, text }) => (CODE.test(path) ? { path, text: commentsOf(text) } : { path, text }));

/** The text with everything but comments blanked out; line breaks stay. */
function commentsOf(text: string): string {
  const comments = [...text.matchAll(TOKEN)].filter(([, comment]) => comment !== undefined);
  let at = 0;
  const parts: string[] = [];
  for (const comment of comments) {
    parts.push(blank(text.slice(at, comment.index)), comment[0]);
    at = comment.index + comment[0].length;
  }
  return [...parts, blank(text.slice(at))].join('');
}

interface Citation {
  readonly at: string;
  readonly cited: string;
}

/** All matches of a pattern in all files, by its first group. */
function citations(pattern: RegExp, within: readonly SourceFile[] = citing): readonly Citation[] {
  return within.flatMap((file) =>
    [...joinComments(file).text.matchAll(pattern)].map((match) => ({
      at: placeOf(file, match.index),
      cited: match[1] ?? match[0],
    })),
  );
}

/** A citation may run over the end of a comment line: the line break and the marks after it become spaces. */
const joinComments = ({ path, text }: SourceFile): SourceFile => ({
  path,
  text: text.replace(/\n(\s*(?:\/\/|\*|#)? ?)/g, (all) => `${' '.repeat(all.length - 1)} `),
});

const headings = new Map(
  sourceFiles(/\.md$/).map(({ path, text }) => [
    path,
    new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) => title)),
  ]),
);

describe('what code and documents cite', () => {
  test('a law cited by its number exists', () => {
    const cited = citations(/\blaws? (\d+(?:(?:, | and | to )\d+)*)/gi);
    const dangling = cited.filter(({ cited: numbers }) =>
      numbers.split(/, | and | to /).some((number) => LAWS[Number(number) - 1] === undefined),
    );
    expect(cited.length).toBeGreaterThan(10);
    expect(dangling).toEqual([]);
  });

  test('a cited heading exists in its document', () => {
    const cited = citing.flatMap((file) =>
      [...joinComments(file).text.matchAll(/\b((?:docs\/)?[\w-]+\.md), "([^"]+)"/g)].map(
        ([, document, heading], index) => ({
          at: `${file.path} (citation ${index + 1})`,
          document: document ?? '',
          heading: (heading ?? '').replace(/ +/g, ' '),
        }),
      ),
    );
    const dangling = cited.filter(({ document, heading }) => headings.get(document)?.has(heading) !== true);
    expect(cited.length).toBeGreaterThan(10);
    expect(dangling).toEqual([]);
  });

  test('a cited path of this repository exists', () => {
    const named = citations(
      /(?<![\w./-])((?:schemas|reducers|src|bridge|embed|bench|test|tools|docs|replay-fixtures)\/[\w./-]*[\w-]\.(?:ts|mjs|cjs|md|json|py|jsonl|txt))\b/g,
    );
    const dangling = named.filter(({ cited }) => !paths.has(cited));
    expect(named.length).toBeGreaterThan(50);
    expect(dangling).toEqual([]);
  });

  test('a cited folder of this repository exists', () => {
    const named = citations(
      /`((?:schemas|reducers|src|bridge|embed|bench|test|tools|docs|replay-fixtures)(?:\/[\w-]+)*)\/`/g,
    );
    expect(named.filter(({ cited }) => !folders.has(cited))).toEqual([]);
  });

  test('no document outside this repository is cited', () => {
    const outside = /\bDESIGN(?:\.md)?\b(?=[, ]|\))|\bSTYLE(?:\.md)?\b(?=[, )])|(?<![\w/])seeds\/[a-z]+-/g;
    expect(citations(outside, citing)).toEqual([]);
  });
});
