// Every verifier reaches the verdicts of test/vectors/: refold with its fold, and the programs that share no code with it.
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { type TypeOf, flag, integer, list, oneOf, shape, text, variants } from '../../schemas/codec.ts';
import { InvariantError, decode } from '../../schemas/index.ts';
import { type Divergence, newReplayer } from '../../src/core/index.ts';
import { readStreamFile } from '../../src/cli/stream-file.ts';
import { CommandFailure } from '../../src/cli/output.ts';
import { ROOT, jsonLines, refold } from '../support/e2e/refold.ts';
import { roundsOf } from '../support/random.ts';
import { type Ran, VERIFIERS, type Verifier, isInstalled, runVerifier } from '../support/verifiers.ts';
import { at, runNode } from '../determinism/run-tool.ts';

const FOLDER = join(ROOT, 'test/vectors/');

const name = text('name', { min: 1, max: 256 });
const ok = shape('ok', { verdict: oneOf('verdict', ['ok']), events: integer('events', 0), chain: name });
const place = integer('a position', -1);
const refused = oneOf('verdict', ['bad']);
const badWithFold = shape('bad', { verdict: refused, position: place, commit: place });
const badWithout = shape('bad', { verdict: refused, commit: place });
const Vector = shape(
  'Vector',
  {
    file: name,
    about: name,
    with_fold: variants('with_fold', 'verdict', { ok, bad: badWithFold }),
    without_fold: variants('without_fold', 'verdict', { ok, bad: badWithout }),
  },
  {
    heads: list(shape('Head', { chain: name, found: flag }, { after: integer('after', 0) }), 100),
    checkpoints: list(
      shape(
        'Compared',
        {
          file: name,
          verdict: oneOf('verdict', ['ok', 'absent', 'truncated', 'rewritten', 'invalid', 'unreadable']),
        },
        { public_key: name },
      ),
      100,
    ),
  },
);
type Vector = TypeOf<typeof Vector>;
type Compared = NonNullable<Vector['checkpoints']>[number];

const listed = decode(
  shape('vectors.json', { vectors: list(Vector, 1_000, 1) }),
  JSON.parse(await readFile(`${FOLDER}vectors.json`, 'utf8')),
);
if (isLeft(listed)) throw new Error(`vectors.json: ${listed.left.message} at ${listed.left.path}`);
const { vectors } = listed.right;

const heads = vectors.flatMap((vector) => (vector.heads ?? []).map((head) => ({ vector, head })));
const checkpoints = vectors.flatMap((vector) => (vector.checkpoints ?? []).map((compared) => ({ vector, compared })));
const pathOf = (file: string): string => join(FOLDER, file);
const checkpointOptions = ({ file, public_key }: Compared): readonly string[] => [
  '--checkpoint',
  pathOf(file),
  ...(public_key === undefined ? [] : ['--public-key', pathOf(public_key)]),
];

describe('test/vectors', () => {
  test('is what npm run vectors records, byte for byte', async () => {
    expect(await runNode([at('tools/record-vectors/main.mjs'), '--check'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  test('is small, and vectors.json names every export', async () => {
    const entries = (await readdir(FOLDER, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const paths = entries.map((entry) => join(entry.parentPath, entry.name));
    const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(600_000);
    const exports = paths.map((path) => path.slice(FOLDER.length)).filter((path) => path.endsWith('.jsonl'));
    expect(vectors.map(({ file }) => file).sort()).toEqual(exports.sort());
  });

  test('what is bad without a fold is bad with one, in the same commit', () => {
    for (const { file, with_fold, without_fold } of vectors) {
      if (without_fold.verdict !== 'bad') continue;
      expect({ file, ...with_fold }).toMatchObject({ file, verdict: 'bad', commit: without_fold.commit });
    }
  });
});

describe('refold', () => {
  test('reaches the verdicts with its replayer', async () => {
    for (const { file, with_fold } of vectors)
      expect({ file, ...(await replayed(file)) }).toEqual({ file, ...with_fold });
  });

  test('reaches the verdicts with refold verify', async () => {
    const { code, stdout } = await refold(['verify', '--json', ...vectors.map(({ file }) => pathOf(file))]);
    const rows = jsonLines(stdout).filter(({ source }) => source !== undefined);
    expect(code).toBe(1);
    expect(rows.map((row) => foundIn(row))).toEqual(
      vectors.map(({ file, with_fold }) => ({
        source: pathOf(file),
        ...(with_fold.verdict === 'ok'
          ? { verified: true, events: with_fold.events, chain: with_fold.chain }
          : { verified: false, position: with_fold.position }),
      })),
    );
  });

  test.each(checkpoints.filter(({ vector }) => vector.with_fold.verdict === 'ok'))(
    'finds $compared.verdict: $vector.file with $compared.file',
    async ({ vector, compared }) => {
      const { code, stdout } = await refold(['verify', '--json', pathOf(vector.file), ...checkpointOptions(compared)]);
      const { verdict } = compared;
      expect(code).toBe(EXIT_CODES[verdict]);
      const row = jsonLines(stdout).find(({ source }) => source !== undefined);
      if (verdict === 'absent') expect(row).toMatchObject({ verified: true, checkpoint: null });
      if (verdict === 'ok') expect(row).toMatchObject({ verified: true, checkpoint: { chain: expect.any(String) } });
      if (verdict === 'truncated' || verdict === 'rewritten') expect(row).toMatchObject({ fault: { what: verdict } });
      if (verdict === 'invalid' || verdict === 'unreadable') expect(row).toBeUndefined();
    },
  );
});

const EXIT_CODES = { ok: 0, absent: 0, truncated: 1, rewritten: 1, invalid: 1, unreadable: 2 } as const;

describe.each(VERIFIERS)('$name', (verifier) => {
  const installed = isInstalled(verifier);

  test.runIf(process.env['CI'] !== undefined)('has its interpreter', () => {
    expect(installed, `install ${verifier.interpreter[0]}`).toBe(true);
  });

  test.runIf(installed)('reaches the verdicts without a fold', { timeout: 300_000 }, async () => {
    const chosen = spread(vectors, roundsOf(8, vectors.length));
    const found = await runAll(
      verifier,
      chosen.map(({ file }) => [pathOf(file)]),
    );
    expect(found.map(({ ran }, index) => ({ file: chosen[index]?.file, found: verdictOf(ran) }))).toEqual(
      chosen.map(({ file, without_fold }) => ({ file, found: without_fold })),
    );
  });

  test.runIf(installed)('finds the heads that are there', { timeout: 60_000 }, async () => {
    const chosen = spread(heads, roundsOf(6, heads.length));
    const found = await runAll(
      verifier,
      chosen.map(({ vector, head }) => [pathOf(vector.file), '--head', head.chain]),
    );
    expect(found.map(({ ran }) => headOf(ran))).toEqual(
      chosen.map(({ head }) => ({ code: head.found ? 0 : 1, after: head.after ?? null })),
    );
  });

  test.runIf(installed)('compares with checkpoints', { timeout: 120_000 }, async () => {
    const chosen = spread(checkpoints, roundsOf(3, checkpoints.length));
    const runs = chosen.map(({ vector, compared }) => [pathOf(vector.file), ...checkpointOptions(compared)]);
    const found = await runAll(verifier, runs);
    expect(found.map(({ ran }, index) => ({ ...chosen[index]?.compared, verdict: comparedIn(ran) }))).toEqual(
      chosen.map(({ compared }) => compared),
    );
    for (const { ran } of found) expect(ran.code).toBe(EXIT_CODES[comparedIn(ran)]);
  });

  test
    .runIf(installed)
    .each([
      [[]],
      [[pathOf('good/plain.jsonl'), '--unknown']],
      [[pathOf('good/plain.jsonl'), '--head', 'sha256:12']],
      [[pathOf('good/plain.jsonl'), '--public-key', pathOf('checkpoints/signer.pub')]],
      [[pathOf('good/no-such-file.jsonl')]],
      [[pathOf('good/plain.jsonl'), '--checkpoint', pathOf('checkpoints/no-such-file.json')]],
    ])('ends with 2: %j', async (args) => {
    const { code, stdout, stderr } = await runVerifier(verifier, args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toBe('');
  });
});

/** So many of the values, evenly spread; all of them when there are no more. */
const spread = <T>(values: readonly T[], count: number): readonly T[] =>
  values.filter(
    (_, index) => Math.floor((index * count) / values.length) !== Math.floor(((index - 1) * count) / values.length),
  );

/** Runs the verifier with each list of arguments, several at a time, and returns what it did, in order. */
async function runAll(
  verifier: Verifier,
  runs: readonly (readonly string[])[],
): Promise<readonly { readonly ran: Ran }[]> {
  const found: { ran: Ran }[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < runs.length; index = next++) {
      found[index] = { ran: await runVerifier(verifier, runs[index] ?? []) };
    }
  };
  await Promise.all([work(), work(), work()]);
  return found;
}

/** What a verifier without a fold found; its whole answer when it has another form. */
function verdictOf({ code, stdout, stderr }: Ran): unknown {
  const [, commit] = /^bad +position (-?\d+): .+\n$/m.exec(lastLine(stdout)) ?? [];
  if (code === 1 && commit !== undefined) return { verdict: 'bad', commit: Number(commit) };
  const [, events, chain] = /^session +\S+\nevents +(\d+)\nchain +(\S+)\nverified: .+\n$/.exec(stdout) ?? [];
  if (code === 0 && stderr === '') return { verdict: 'ok', events: Number(events), chain };
  return { code, stdout, stderr };
}

function headOf({ code, stdout }: Ran): unknown {
  const [, after] = /^head +found after (\d+) events.*\nverified: /m.exec(stdout) ?? [];
  if (code === 0) return { code, after: Number(after) };
  return /^bad +head: ./.test(lastLine(stdout)) ? { code, after: null } : stdout;
}

function comparedIn({ code, stdout, stderr }: Ran): Compared['verdict'] {
  if (code === 2 && stdout === '' && stderr !== '') return 'unreadable';
  const [, found] =
    /^(?:bad +checkpoint: (?=truncated|rewritten|invalid)|checkpoint +(?=ok|absent))(\w+)/m.exec(stdout) ?? [];
  if (found === undefined) throw new Error(`no verdict in ${JSON.stringify({ code, stdout, stderr })}`);
  return found as Compared['verdict'];
}

const lastLine = (stdout: string): string => `${stdout.trimEnd().split('\n').at(-1)}\n`;

/** What the replayer finds, and whether a fork has all events that it shares. */
async function replayed(file: string): Promise<object> {
  const replayer = newReplayer();
  let shared = 0;
  try {
    for await (const record of readStreamFile(pathOf(file))) {
      if (!replayer.add(record)) break;
      if (record.kind === 'genesis') shared = record.genesis.forked_from?.position ?? 0;
    }
  } catch (error) {
    if (!(error instanceof CommandFailure && error.exitCode === 1) && !(error instanceof InvariantError)) throw error;
    return badAt(endOf(replayer.result()));
  }
  const { divergence, events, chain } = replayer.result();
  if (divergence !== null) return badAt(divergence);
  return events < shared ? badAt(endOf(replayer.result())) : { verdict: 'ok', events, chain };
}

const endOf = ({ state, events }: { readonly state: unknown; readonly events: number }) =>
  state === null ? { position: -1, commit: null } : { position: events, commit: events };

const badAt = ({ position, commit }: Pick<Divergence, 'position' | 'commit'>) => ({
  verdict: 'bad',
  position,
  commit: commit ?? -1,
});

function foundIn(row: Readonly<Record<string, unknown>>): unknown {
  const { source, verified, events, chain } = row;
  const fault = row['fault'] as { readonly position: number } | undefined;
  return fault === undefined ? { source, verified, events, chain } : { source, verified, position: fault.position };
}
