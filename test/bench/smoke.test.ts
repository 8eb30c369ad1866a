// The bench works: a quick run of every figure gives rows of the promised shape. No test checks a speed.
import { expect, test } from 'vitest';
import { refoldProcess } from '../support/e2e/refold.ts';

interface Row {
  readonly figure: string;
  readonly what: string;
  readonly limit: unknown;
  readonly ratio: unknown;
  readonly reach: unknown;
  readonly ok: boolean | null;
}

const FIGURES = [
  'planner',
  'fold',
  'turn',
  'path',
  'http-turn',
  'position',
  'replay',
  'batches',
  'restart',
  'at-rest',
  'startup',
  'memory',
  'journals',
  'deltas',
  'readers',
  'mcp',
  'decode',
] as const;

const spread = {
  median: expect.any(Number),
  min: expect.any(Number),
  max: expect.any(Number),
  runs: expect.any(Number),
};

// A number that could not be measured is null in JSON, so it does not match `spread`.
test('a quick bench measures every figure', { timeout: 180_000 }, async () => {
  const { code, stdout, stderr } = await refoldProcess(['bench', '--quick', '--json']);
  expect(stderr).toContain('planner');
  expect(code).toBe(0);
  const result = JSON.parse(stdout) as { readonly rows: readonly Row[] };
  expect(result).toMatchObject({
    bench: 1,
    quick: true,
    node: process.version,
    failures: [],
    notes: expect.any(Array),
  });
  expect(new Set(result.rows.map(({ figure }) => figure))).toEqual(new Set(FIGURES));
  for (const row of result.rows) {
    expect(row).toMatchObject({ what: expect.any(String), unit: expect.any(String), measured: spread });
    if (row.limit === null) expect(row.ratio).toBeNull();
    else expect(row).toMatchObject({ limit: { what: expect.any(String), spread }, ratio: spread });
    expect(row.ok === null).toBe(row.reach === null);
  }
});

test('an unknown figure is refused with the names of all figures', async () => {
  const { code, stderr } = await refoldProcess(['bench', '--only', 'speed']);
  expect(code).toBe(2);
  for (const figure of FIGURES) expect(stderr).toContain(figure);
});
