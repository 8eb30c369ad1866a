// Every recorded session folds to its recorded digests.
import { readFile, readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Replay, replay } from '../../src/core/index.ts';
import { canonicalText, parseJson } from '../../schemas/index.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);

const folders = (await readdir(FIXTURES, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

const linesOf = async (folder: string): Promise<readonly string[]> =>
  (await readFile(new URL(`${folder}/session.jsonl`, FIXTURES), 'utf8')).trimEnd().split('\n');

const replayLines = (lines: readonly string[]): Replay => replay(lines.map((line) => JSON.parse(line) as never));

describe.each(folders)('replay-fixtures/%s', (folder) => {
  test('replays byte-identical', async () => {
    const lines = await linesOf(folder);
    expect(replayLines(lines)).toMatchObject({ divergence: null, events: lines.length - 1 });
  });

  test('is canonical JSON, line by line', async () => {
    for (const line of await linesOf(folder)) {
      const parsed = parseJson(line);
      expect(parsed._tag === 'Right' && canonicalText(parsed.right)).toBe(line);
    }
  });

  test('diverges at the position of an event whose time was changed', async () => {
    const lines = [...(await linesOf(folder))];
    const last = lines.length - 1;
    lines[last] = String(lines[last]).replace(
      /"at_ms":(\d)/,
      (_, digit: string) => `"at_ms":${(Number(digit) % 9) + 1}`,
    );
    expect(replayLines(lines).divergence).toMatchObject({ position: last - 1, what: 'event_digest' });
  });
});

test('the table names every recorded session', async () => {
  const readme = await readFile(new URL('README.md', FIXTURES), 'utf8');
  expect(folders.length).toBeGreaterThan(0);
  for (const folder of folders) expect(readme).toContain(`\`${folder}/\``);
});
