// Each recorded session has a transcript beside it that a person can review. `npm run fixtures:transcripts` writes them.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { StreamRecord } from '../../schemas/record.ts';
import { LINE_CHARS_MAX, transcriptOf } from '../support/transcript/transcript.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);
const WRITES = process.env['REFOLD_WRITE_TRANSCRIPTS'] === '1';

const folders = (await readdir(FIXTURES, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

const linesOf = async (folder: string): Promise<readonly string[]> =>
  (await readFile(new URL(`${folder}/session.jsonl`, FIXTURES), 'utf8')).trimEnd().split('\n');

test.each(folders)('replay-fixtures/%s/transcript.txt matches session.jsonl', async (folder) => {
  const file = new URL(`${folder}/transcript.txt`, FIXTURES);
  const lines = await linesOf(folder);
  const transcript = transcriptOf(lines.map((line) => JSON.parse(line) as StreamRecord));
  if (WRITES) await writeFile(file, transcript);
  const stored = await readFile(file, 'utf8').catch(() => null);
  expect(stored, `${folder}/transcript.txt differs: run npm run fixtures:transcripts, then review`).toBe(transcript);
  // A line of headings, then one line for each record.
  const shown = transcript.trimEnd().split('\n');
  expect(shown).toHaveLength(1 + lines.length);
  expect(Math.max(...shown.map(({ length }) => length))).toBeLessThanOrEqual(LINE_CHARS_MAX);
});

test('replay-fixtures/README.md has one row for each session', async () => {
  const text = await readFile(new URL('README.md', FIXTURES), 'utf8');
  const rows = [...text.matchAll(/^\| `([\w-]+)\/` \|/gm)].map(([, folder = '']) => folder);
  expect(rows.toSorted(), 'its rows').toEqual(folders.toSorted());
});
