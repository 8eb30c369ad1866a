// Each source folder opens with a README.md that says what may live there, what it may use, and what it guarantees.
import { expect, test } from 'vitest';
import { readDocument } from '../support/documents.ts';
import { repositoryPaths } from '../conventions/source-files.ts';

const paths = repositoryPaths();
const SOURCE = /^(schemas|reducers|src|bridge|embed|inspector)\/.*\.ts$/;
const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/');
const folders = ['bench', 'test', 'tools', ...new Set(paths.filter((path) => SOURCE.test(path)).map(folderOf))];

test.each(folders)('%s opens with its rule', async (folder) => {
  const path = `${folder}/README.md`;
  expect(paths, `add ${path}: what may live there, what it may use, what it guarantees`).toContain(path);
  const text = await readDocument(path);
  expect(text).toMatch(new RegExp(`^# ${folder}\\n`));
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
});
