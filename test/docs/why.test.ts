// docs/why.md compares by facts: each row links a public report, and names tests that exist.
import { expect, test } from 'vitest';
import { readDocument } from '../support/documents.ts';
import { namedTests } from '../support/named-tests.ts';

const text = await readDocument('docs/why.md');
const rows = text.split('\n').filter((line) => line.startsWith('| [') && line.includes('](https://'));

test('every test that the page names exists, by path and by name', async () => {
  const { files, missing } = await namedTests(text);
  expect(files).toBeGreaterThanOrEqual(rows.length);
  expect(missing).toEqual([]);
});

test('each row links a report and names a test by its name', () => {
  expect(rows.length).toBeGreaterThanOrEqual(7);
  for (const row of rows) {
    expect(row).toMatch(
      /^\| \[[\w-]+(?:\/[\w-]+)? #\d+\]\(https:\/\/github\.com\/[\w-]+\/[\w-]+\/(?:issues|pull)\/\d+\)/,
    );
    expect(row).toMatch(/\[`test\/[^`]+\.test\.ts`\]\(\.\.\/test\/[^)]+\): "[^"]+"/);
    expect(row.split(' | ')).toHaveLength(4);
  }
});
