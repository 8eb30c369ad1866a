// The table of laws: one numbering for the judge, the tests and the documentation.
import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { LAWS } from '../../src/testing/index.ts';
import { lawLabel } from '../../src/testing/laws/laws.ts';
import { inRepository, readDocument } from '../support/documents.ts';

test('the laws are numbered from 1 without gaps, and no two have the same name', () => {
  expect(LAWS.map(({ number }) => number)).toEqual(LAWS.map((_, index) => index + 1));
  expect(new Set(LAWS.map(({ name }) => name)).size).toBe(LAWS.length);
});

test('a violation names a law of the table by number, and any other law by its quoted name', () => {
  expect(lawLabel('settle once')).toBe('law 4, settle once');
  expect(lawLabel('no writes')).toBe('law "no writes"');
});

const SECTION = (await readDocument('docs/design.md')).split('\n## Laws\n')[1]?.split('\n## ')[0] ?? '';

test('docs/design.md, "Laws" says each law, under its number and its name, and where it is checked', () => {
  const said = [...SECTION.matchAll(/^(\d+)\. \*\*([^*]+?)\.?\*\*([^]*?)(?=\n\d+\. |\n*$(?![^]))/gm)];
  expect(said.map(([, number, name]) => ({ number: Number(number), name: name?.toLowerCase() }))).toEqual(LAWS);
  expect(
    said.filter(([, , , text]) => !text?.replaceAll(/\s+/g, ' ').includes('Checked ')).map(([, number]) => number),
  ).toEqual([]);
});

test('docs/design.md, "Laws" says which laws the simulator checks: those that a checker names', async () => {
  const folder = 'src/testing/laws/';
  const files = (await readdir(inRepository(folder))).filter((file) => file.endsWith('.ts') && file !== 'laws.ts');
  const code = (await Promise.all(files.map((file) => readDocument(folder + file)))).join('');
  const [, ranges = ''] = /Laws ([\d,\sand to]+?)\s+are\s+also\s+checked\s+by\s+the\s+simulator/.exec(SECTION) ?? [];
  const said = ranges.split(/,|and/).flatMap((range) => {
    const [first = 0, last = first] = range.split('to').map(Number);
    return LAWS.filter(({ number }) => number >= first && number <= last);
  });
  expect(said).toEqual(LAWS.filter(({ name }) => code.includes(`'${name}'`)));
});
