// The part of `npm run determinism` that needs only this Node: both implementations of SHA-256, three time zones and
// locales, and a poisoned realm give the recorded digests and the same bytes. Changed recordings show that the check can fail.
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { roundsOf } from '../support/random.ts';
import { at, runNode } from './run-tool.ts';

interface Row {
  readonly variant: string;
  readonly poisoned: boolean;
  readonly seen: { readonly timeZone: string; readonly locale: string };
  readonly rolling: string | null;
  readonly difference: string | null;
}
interface Report {
  readonly same: boolean;
  readonly sessions: number;
  readonly rows: readonly Row[];
}

const HERE = [at('tools/determinism.mjs'), '--offline', '--json', '--only', 'current'];

/**
 * In `npm test` each environment uses one of the two implementations, and the sessions that take longest are left out; in a
 * soak, which CI runs too, it uses both for all.
 */
const IS_SAMPLE = roundsOf(1) === 1;
const LONGEST: ReadonlySet<string> = new Set(['large-batch', 'sealed-pages']);
const ALL = [false, false, false, true];

async function report(args: readonly string[] = []): Promise<Report & { readonly code: number }> {
  const { code, stdout } = await runNode([...HERE, ...args]);
  return { code, ...(JSON.parse(stdout) as Report) };
}

test('every recorded session folds to the same bytes in every environment of this Node', async () => {
  const folder = IS_SAMPLE ? await withoutLongest() : null;
  const { code, same, sessions, rows } = await report(folder === null ? [] : ['--spread', '--fixtures', folder]);
  if (folder !== null) await rm(folder, { recursive: true });
  expect(rows.map((row) => row.difference)).toEqual(rows.map(() => null));
  expect({ code, same }).toEqual({ code: 0, same: true });
  expect(sessions).toBeGreaterThanOrEqual(12);
  const ofEach = IS_SAMPLE ? { node: [false, false], noble: [false, true] } : { node: ALL, noble: ALL };
  expect(rows.map(({ variant, poisoned }) => [variant, poisoned])).toEqual(
    Object.entries(ofEach).flatMap(([variant, realms]) => realms.map((poisoned) => [variant, poisoned])),
  );
  expect(new Set(rows.map((row) => row.rolling)).size).toBe(1);
  // The environments do differ.
  expect(new Set(rows.map(({ seen }) => seen.timeZone)).size).toBe(3);
  expect(new Set(rows.map(({ seen }) => seen.locale)).size).toBe(3);
});

async function withoutLongest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'refold-determinism-test-'));
  const entries = await readdir(at('replay-fixtures'), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...LONGEST]));
  for (const name of names.filter((one) => !LONGEST.has(one))) {
    await cp(at(`replay-fixtures/${name}`), join(folder, name), { recursive: true });
  }
  return folder;
}

describe('a changed recording', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'refold-determinism-test-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const withLine = async (index: number, change: (line: string) => string): Promise<readonly (string | null)[]> => {
    const text = await readFile(at('replay-fixtures/run-limits/session.jsonl'), 'utf8');
    const lines = text.trimEnd().split('\n');
    lines[index] = change(lines[index] as string);
    await mkdir(join(folder, 'changed'));
    await writeFile(join(folder, 'changed/session.jsonl'), lines.join('\n'));
    const { code, same, rows } = await report(['--spread', '--fixtures', folder]);
    expect({ code, same }).toEqual({ code: 1, same: false });
    return [...new Set(rows.map((row) => row.difference))];
  };

  test('is found by session and position', async () => {
    const changed = await withLine(5, (line) => line.replace(/"state_digest":"sha256:./, '"state_digest":"sha256:g'));
    expect(changed).toEqual(['changed, position 3: state_digest is not the recorded one']);
  });

  test('is found when an event no longer applies', async () => {
    const changed = await withLine(3, (line) => line.replace('"turn":1', '"turn":7'));
    expect(changed).toEqual(['changed, position 1: refused as wrong_turn']);
  });
});

test('a disagreement of two runtimes is reported at the first position that differs', async () => {
  const code = `
    import { findDifference } from ${JSON.stringify(at('tools/determinism/compare.mjs'))};
    const answer = (...bytes) => ({ state: 's', chain: 'c', rolling: bytes.join(), sessions: [{ name: 'x', bytes, differs: null }] });
    console.log(findDifference(answer('a', 'b', 'c'), answer('a', 'b', 'c')));
    console.log(findDifference(answer('a', 'b', 'c'), answer('a', 'z', 'z')));`;
  const { stdout } = await runNode(['--input-type=module', '--eval', code]);
  expect(stdout).toBe('null\nx, position 0: the bytes of the state differ\n');
});

test('a poisoned realm refuses clocks, random sources and locales, and can be restored', async () => {
  const code = `
    import { poison } from ${JSON.stringify(at('tools/determinism/poison.mjs'))};
    const touches = [() => Date.now(), () => new Date(), () => Math.random(), () => Math.sin(1), () => Intl.Collator,
      () => crypto.randomUUID(), () => Temporal.Now, () => process.env, () => performance.now(), () => 'a'.localeCompare('b'),
      () => (1).toLocaleString(), () => setTimeout(() => {}, 0)];
    const outcomeOf = (touch) => { try { touch(); return 'allowed'; } catch (error) { return error.message.replace('the fold touched ', ''); } };
    const heal = poison();
    const answers = touches.map(outcomeOf);
    const exact = Math.max(1, Math.trunc(2.5));
    heal();
    console.log(JSON.stringify({ answers: answers.join(' '), exact, healed: outcomeOf(() => Date.now()) }));`;
  const { stdout } = await runNode(['--input-type=module', '--eval', code]);
  expect(JSON.parse(stdout)).toEqual({
    answers: 'Date Date random sin Intl crypto Temporal process performance localeCompare toLocaleString setTimeout',
    exact: 2,
    healed: 'allowed',
  });
});

test('an unknown runtime is refused as misuse', async () => {
  const { code, stderr } = await runNode([at('tools/determinism.mjs'), '--only', 'deno']);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('no runtime "deno"') as string });
});

test('a runtime that is missing is skipped with the reason, and is a failure with --all', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'refold-determinism-test-'));
  try {
    await cp(at('replay-fixtures/run-limits'), join(folder, 'run-limits'), { recursive: true });
    const rest = ['--spread', '--only', 'current,browser', '--fixtures', folder];
    const args = [at('tools/determinism.mjs'), ...rest];
    const skipped = await runNode(args, { PATH: '' });
    expect(skipped).toMatchObject({ code: 0, stdout: expect.stringMatching(/^browser +skipped: none of .* path$/m) });
    expect(skipped.stdout).toMatch(/: runtimes 1, sessions 1, events \d+, runs 4\nnot checked: browser\n$/);
    const { code, stderr } = await runNode([...args, '--all'], { PATH: '' });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--all: browser') as string });
  } finally {
    await rm(folder, { recursive: true });
  }
});
