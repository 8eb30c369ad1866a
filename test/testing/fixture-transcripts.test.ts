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
  const records = (await linesOf(folder)).map((line) => JSON.parse(line) as StreamRecord);
  const transcript = transcriptOf(records);
  if (WRITES) await writeFile(file, transcript);
  const stored = await readFile(file, 'utf8').catch(() => null);
  expect(stored, `${folder}/transcript.txt differs: run npm run fixtures:transcripts, then review`).toBe(transcript);
  // A line of headings, one for the genesis, then one line for each event.
  const shown = transcript.trimEnd().split('\n');
  const commits = records.flatMap((record) => (record.kind === 'commit' ? [record.events.length] : []));
  const events = commits.reduce((sum, length) => sum + length, 0);
  expect(shown).toHaveLength(2 + events);
  // A plus after each event that does not end its commit.
  expect(shown.filter((line) => /^ *\d+\+ /.test(line))).toHaveLength(events - commits.length);
  expect(Math.max(...shown.map(({ length }) => length))).toBeLessThanOrEqual(LINE_CHARS_MAX);
});

test('replay-fixtures/README.md has one row for each session', async () => {
  const text = await readFile(new URL('README.md', FIXTURES), 'utf8');
  const rows = [...text.matchAll(/^\| `([\w-]+)\/` \|/gm)].map(([, folder = '']) => folder);
  expect(rows.toSorted(), 'its rows').toEqual(folders.toSorted());
});
