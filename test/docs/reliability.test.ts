// docs/reliability.md names each of the thirty faults once, and only tests and soaks that exist.
import { expect, test } from 'vitest';
import { readDocument } from '../support/documents.ts';
import { namedTests } from '../support/named-tests.ts';

const text = await readDocument('docs/reliability.md');

test('every test that the page names exists, by path and by name', async () => {
  const { files, missing } = await namedTests(text);
  expect(files).toBeGreaterThan(30);
  expect(missing).toEqual([]);
});

test('every soak that the page names exists', async () => {
  const soaks = Object.keys(JSON.parse(await readDocument('tools/soak.json')) as object);
  const cells = text
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .map((line) => line.split(' | ').at(-1) ?? '');
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !soaks.includes(name ?? ''))).toEqual([]);
});

test('each of the thirty faults is tested, or the page says why not', () => {
  const rows = [...text.matchAll(/^\| (\d+) /gm)].map(([, number]) => Number(number));
  const [, less = ''] = text.split('## What is tested less');
  const lines = [...less.matchAll(/^- \*\*(\d+(?:(?:, | and )\d+)*)[,.]/gm)];
  const explained = lines.flatMap(([, numbers = '']) => numbers.split(/, | and /).map(Number));
  const all = [...new Set([...rows, ...explained])].sort((a, b) => a - b);
  expect(new Set(rows).size).toBe(rows.length);
  expect(all).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
});
