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
    const lengths = lines.map((line) => (JSON.parse(line) as { events?: unknown[] }).events?.length ?? 0);
    const events = lengths.reduce((sum, length) => sum + length, 0);
    expect(replayLines(lines)).toMatchObject({ divergence: null, events });
  });

  test('is canonical JSON, line by line', async () => {
    for (const line of await linesOf(folder)) {
      const parsed = parseJson(line);
      expect(parsed._tag === 'Right' && canonicalText(parsed.right)).toBe(line);
    }
  });

  test('diverges at the commit of an event whose time was changed', async () => {
    const lines = [...(await linesOf(folder))];
    const last = lines.length - 1;
    const { position, events } = JSON.parse(String(lines[last])) as { position: number; events: unknown[] };
    lines[last] = String(lines[last]).replace(
      /"at_ms":(\d)/,
      (_, digit: string) => `"at_ms":${(Number(digit) % 9) + 1}`,
    );
    // A time of the last event changes the state as well.
    const { divergence } = replayLines(lines);
    expect(divergence).toMatchObject({ commit: position });
    expect(divergence?.position).toBeLessThan(position + events.length);
    expect(divergence?.what).toMatch(/^(event|state_digest|chain)$/);
  });
});

test('the table names every recorded session', async () => {
  const readme = await readFile(new URL('README.md', FIXTURES), 'utf8');
  expect(folders.length).toBeGreaterThan(0);
  for (const folder of folders) expect(readme).toContain(`\`${folder}/\``);
});
