// The verdicts on recorded sessions, whole and altered: they name the position that `refold verify` names.
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stateDigest } from '../../src/core/index.ts';
import { newStreamFold, type StreamFold } from '../../inspector/folding/stream-fold.ts';
import { newFileSource } from '../../inspector/records/file-source.ts';
import { type Random, randomFrom, roundsOf } from '../support/random.ts';
import { jsonLines, refold } from '../support/e2e/refold.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);
const fixtures = (await readdir(FIXTURES, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const bytesOf = (name: string): Promise<Buffer> => readFile(new URL(`${name}/session.jsonl`, FIXTURES));

async function foldOf(bytes: Uint8Array): Promise<StreamFold> {
  const fold = newStreamFold(newFileSource('file', 'stream', new Blob([new Uint8Array(bytes)])));
  await fold.run();
  return fold;
}

describe.each(fixtures)('replay-fixtures/%s', (name) => {
  test('ends in the digest that `refold replay` prints', async () => {
    const fold = await foldOf(await bytesOf(name));
    const path = new URL(`${name}/session.jsonl`, FIXTURES).pathname;
    const [replayed] = jsonLines((await refold(['replay', path, '--json'])).stdout);
    const { state, chain } = fold.now() ?? {};
    expect({ state_digest: state && stateDigest(state), chain }).toEqual({
      state_digest: replayed?.['state_digest'],
      chain: replayed?.['chain'],
    });
    expect(fold.fault()).toBeNull();
    expect(fold.chain()).toMatchObject({ fault: null, events: replayed?.['events'] });
  });
});

describe('altered streams', () => {
  let directory = '';
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'refold-altered-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  test('are named by the position that `refold verify` names', { timeout: 300_000 }, async () => {
    const random = randomFrom(20);
    const rounds = roundsOf(50, 2_000);
    const edits: string[] = [];
    const paths: string[] = [];
    const named: (number | null)[] = [];
    while (paths.length < rounds) {
      const { bytes, what } = altered(await bytesOf(random.pick(fixtures)), random);
      const path = join(directory, `${paths.length}.jsonl`);
      await writeFile(path, bytes);
      const fold = await foldOf(bytes);
      const positions = [fold.chain().fault, fold.fault()].flatMap((fault) => fault?.position ?? []);
      named.push(positions.length === 0 ? null : Math.min(...positions));
      paths.push(path);
      edits.push(what);
    }
    const verdicts = jsonLines((await refold(['verify', ...paths, '--json'])).stdout).filter((row) => 'source' in row);
    const verified = verdicts.map((row) => (row['fault'] as { position: number } | undefined)?.position ?? null);
    expect(named.map((position, round) => `${edits[round]}: ${position}`)).toEqual(
      verified.map((position, round) => `${edits[round]}: ${position}`),
    );
    expect(verified.filter((position) => position !== null).length).toBeGreaterThan(rounds / 2);
    expect(new Set(edits).size).toBe(EDITS.length);
  });
});

interface Altered {
  readonly bytes: Buffer;
  readonly what: string;
}

type Edit = readonly [what: string, edit: (lines: readonly string[], random: Random) => readonly string[]];

const atRandom = (lines: readonly string[], random: Random, change: (line: string) => string): readonly string[] => {
  const at = random.below(lines.length);
  return lines.map((line, index) => (index === at ? change(line) : line));
};

/** Changes a match of a pattern in a line, when there is one. */
const match = (line: string, random: Random, pattern: RegExp, put: (found: string) => string): string => {
  const all = [...line.matchAll(pattern)];
  if (all.length === 0) return line;
  const { 0: found, index } = random.pick(all);
  return line.slice(0, index) + put(found) + line.slice(index + found.length);
};

const nextDigit = (digit: string): string => String((Number(digit) % 9) + 1);

const EDITS: readonly Edit[] = [
  ['digit', (lines, random) => atRandom(lines, random, (line) => match(line, random, /\d/g, nextDigit))],
  ['letter', (lines, random) => atRandom(lines, random, (line) => match(line, random, /[a-m]/g, () => 'n'))],
  ['time', (lines, random) => atRandom(lines, random, (line) => match(line, random, /(?<="at_ms":)\d/g, nextDigit))],
  [
    'text',
    (lines, random) => atRandom(lines, random, (line) => match(line, random, /(?<="text":")[^"\\]/g, () => '*')),
  ],
  [
    'state digest',
    (lines, random) =>
      atRandom(lines, random, (line) =>
        match(line, random, /(?<="state_digest":"sha256:)./g, (hex) => (hex === '0' ? '1' : '0')),
      ),
  ],
  [
    'chain value',
    (lines, random) =>
      atRandom(lines, random, (line) =>
        match(line, random, /(?<="chain":"sha256:)./g, (hex) => (hex === '0' ? '1' : '0')),
      ),
  ],
  ['a line is gone', (lines, random) => lines.toSpliced(random.below(lines.length), 1)],
  [
    'a line comes twice',
    (lines, random) => {
      const at = random.below(lines.length);
      return lines.toSpliced(at, 0, String(lines[at]));
    },
  ],
  [
    'two lines are swapped',
    (lines, random) => {
      const at = random.below(lines.length - 1);
      return lines.toSpliced(at, 2, String(lines[at + 1]), String(lines[at]));
    },
  ],
  ['a line is cut', (lines, random) => atRandom(lines, random, (line) => line.slice(0, random.below(line.length)))],
];

function altered(bytes: Buffer, random: Random): Altered {
  const lines = bytes.toString('utf8').trimEnd().split('\n');
  const [what, edit] = random.pick(EDITS);
  return { bytes: Buffer.from(`${edit(lines, random).join('\n')}\n`), what };
}
