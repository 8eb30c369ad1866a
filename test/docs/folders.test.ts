// Each source folder opens with a README.md that says what may live there.
import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { inRepository, readDocument } from '../support/documents.ts';

const below = (folder: string): readonly string[] =>
  readdirSync(inRepository(folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [`${folder}/${entry.name}`] : [],
  );

const FOLDERS = [
  'schemas',
  'reducers',
  'src',
  'bridge',
  'bench',
  'tools',
  'test',
  ...['src', 'src/journal', 'bridge', 'bridge/host'].flatMap(below),
];

test.each(FOLDERS)('%s opens with its rule', async (folder) => {
  const path = `${folder}/README.md`;
  expect(existsSync(inRepository(path)), `add ${path}: what may live there, what it may use, what it guarantees`).toBe(
    true,
  );
  const text = await readDocument(path);
  expect(text).toMatch(new RegExp(`^# ${folder}\\n`));
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(16);
});
