// docs/reliability.md names each of the thirty faults once, and only tests and soaks that exist.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { inRepository, readDocument } from '../support/documents.ts';

const text = await readDocument('docs/reliability.md');

test('every test that the page names exists, by path and by name', async () => {
  const named = [...text.matchAll(/\[`([^`]+)`\]\([^)]*\)(?:: ((?:"[^"]+"(?:, )?)+))?/g)];
  expect(named.length).toBeGreaterThan(30);
  const missing: string[] = [];
  for (const [, path = '', names = ''] of named) {
    const source = existsSync(inRepository(path)) ? await readDocument(path) : null;
    for (const [, name = ''] of names.matchAll(/"([^"]+)"/g))
      if (source?.includes(name) !== true) missing.push(`${path}: ${name}`);
    if (source === null) missing.push(path);
  }
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
