// tools/verify.py checks an exported session without any code of refold; both make the same canonical bytes.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Json, type StreamRecord, canonicalText, digest, isJson } from '../../schemas/index.ts';
import { eventDigest, nextChain } from '../../src/core/index.ts';
import { roundsOf } from '../support/random.ts';
import { call, session } from '../support/session.ts';
import { ROOT, jsonLines } from '../support/e2e/refold.ts';
import { chainAt, linesOf, recordsOf } from './records.ts';

const PROGRAM = join(ROOT, 'tools/verify.py');
const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stderr.write('SKIPPED: python3 is not installed, so tools/verify.py is not tested\n');

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function python(args: readonly string[], input = ''): Promise<Ran> {
  // Without -B, Python writes byte code into the working tree.
  const child = spawn('python3', ['-B', ...args], { env: { ...process.env, PYTHONIOENCODING: 'utf-8' } });
  const ran = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.stderr += text));
  child.stdin.end(input);
  return new Promise((resolve, fail) => {
    child.once('error', fail);
    child.once('close', (code) => resolve({ code, ...ran }));
  });
}

/** Runs the program for each file, in one Python process. */
const VERIFY_EACH = `
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import verify
for path in sys.argv[2:]:
    sys.argv = ["verify.py", path]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = verify.main()
    print(json.dumps({"code": code, "out": out.getvalue()}))
`;

const put = (lines: string[], index: number, line: string): void => void lines.splice(index, 1, line);

const OTHER_PACKAGE = canonicalText({ kind: 'package', digest: digest({ tools: [] }), tool_package: { tools: [] } });

/** The tool package, the genesis record, commits of one, three and one events. The position that is named is that of a commit. */
const EDITS: readonly (readonly [string, (lines: string[]) => void, number])[] = [
  ['an edited event', (lines) => put(lines, 3, String(lines[3]).replace('"read"', '"free"')), 1],
  ['an edited event inside a commit', (lines) => put(lines, 3, String(lines[3]).replace('"e-3"', '"e-9"')), 1],
  ['an edited state digest', (lines) => put(lines, 3, withDigest(lines[3], 'state_digest')), 1],
  ['an edited first state digest', (lines) => put(lines, 1, withDigest(lines[1], 'state_digest')), -1],
  ['an edited chain value', (lines) => put(lines, 4, withDigest(lines[4], 'chain')), 4],
  ['an edited genesis', (lines) => put(lines, 1, String(lines[1]).replace('"plain"', '"other"')), -1],
  ['an edited tool', (lines) => put(lines, 0, String(lines[0]).replace('The tool free', 'A tool free')), -1],
  ['an edited package digest', (lines) => put(lines, 0, withDigest(lines[0], 'digest')), -1],
  ['another package, with its digest', (lines) => put(lines, 0, OTHER_PACKAGE), -1],
  ['a missing package', (lines) => void lines.shift(), -1],
  ['a package given twice', (lines) => void lines.unshift(String(lines[0])), -1],
  ['a package after the genesis', (lines) => void lines.splice(2, 0, String(lines[0])), 0],
  ['a missing genesis', (lines) => void lines.splice(1, 1), -1],
  ['a package alone', (lines) => void lines.splice(1), -1],
  ['a missing commit', (lines) => void lines.splice(3, 1), 1],
  ['a repeated commit', (lines) => void lines.splice(3, 0, String(lines[3])), 4],
  ['two commits swapped', (lines) => void lines.splice(2, 2, String(lines[3]), String(lines[2])), 0],
  ['a missing event', (lines) => withEvents(lines, 3, (events) => events.toSpliced(1, 1)), 1],
  ['a repeated event', (lines) => withEvents(lines, 3, ([first, ...rest]) => [first, first, ...rest]), 1],
  ['two events swapped', (lines) => withEvents(lines, 3, ([first, second, ...rest]) => [second, first, ...rest]), 1],
  ['an event moved to the commit before', moveToCommitBefore, 0],
  ['a commit split in two', splitCommit, 1],
  ['two commits merged', mergeCommits, 0],
  ['a commit without events', (lines) => withEvents(lines, 3, () => []), 1],
  [
    'events that are no list',
    (lines) => put(lines, 3, String(lines[3]).replace(/"events":\[[^]*\],"kind"/, '"events":{},"kind"')),
    1,
  ],
  ['a commit of too many events', (lines) => withEvents(lines, 3, ([first]) => Array(257).fill(first)), 1],
  ['a commit renumbered', (lines) => put(lines, 3, String(lines[3]).replace('"position":1', '"position":true')), 1],
  ['a field that no digest covers', (lines) => put(lines, 3, String(lines[3]).replace('{', '{"note":1,')), 1],
  ['such a field in the package record', (lines) => put(lines, 0, String(lines[0]).replace('{', '{"note":1,')), -1],
  ['a key given twice', (lines) => put(lines, 3, String(lines[3]).replace('{"chain"', '{"chain":"","chain"')), 1],
  ['a line cut short', (lines) => put(lines, 4, String(lines[4]).slice(0, -20)), 4],
  ['a deep line', (lines) => void lines.push('['.repeat(200_000)), 5],
  ['a line that is not a record', (lines) => void lines.push('NaN'), 5],
  ['nothing', (lines) => void lines.splice(0), -1],
];

const records = recordsOf(
  session({ session_id: 'plain' })
    .runRequested()
    .observed([call('a', 'read', { '\u{1f600}': 1e21, '\ufb33': 1e-7, é: [5e-324, -1.5], text: '\u2028\u0001"\\/' })])
    .settled('a')
    .batchSettled()
    .answered('done'),
  [1, 3],
);
const chains = [0, 1, 4, 5].map((version) => chainAt(records, version));

describe.skipIf(!hasPython)('tools/verify.py', () => {
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'refold-py-'));
  });
  afterAll(() => rm(home, { recursive: true }));

  async function verify(text: string, ...more: readonly string[]): Promise<Ran> {
    const path = join(home, 'session.jsonl');
    await writeFile(path, text);
    return await python([PROGRAM, path, ...more]);
  }

  const changed = (change: (lines: string[]) => void): string => {
    const lines = linesOf(records).trimEnd().split('\n');
    change(lines);
    return `${lines.join('\n')}\n`;
  };

  test('verifies an export, and names what it cannot check', async () => {
    const { code, stdout } = await verify(linesOf(records));
    expect(code).toBe(0);
    expect(stdout).toContain('session  plain\nevents   5\n');
    expect(stdout).toContain(`chain    ${chains.at(-1)}`);
    expect(stdout).toMatch(/state digests .* not recomputed/);
  });

  test('verifies a recorded session', async () => {
    expect(await python([PROGRAM, join(ROOT, 'replay-fixtures/demo/session.jsonl')])).toMatchObject({ code: 0 });
  });

  test('reads standard input, and lines that are equivalent but not canonical', async () => {
    const spelled = records.map((record) => JSON.stringify(record, null, 1).replaceAll('\n', ' ')).join('\n\n');
    expect(await python([PROGRAM, '-'], spelled)).toMatchObject({ code: 0 });
  });

  describe('of an edited export', () => {
    let verdicts: readonly unknown[];
    beforeAll(async () => {
      const paths = EDITS.map((_, index) => join(home, `edited-${index}.jsonl`));
      for (const [index, [, change]] of EDITS.entries()) await writeFile(String(paths[index]), changed(change));
      const { stdout, stderr } = await python(['-c', VERIFY_EACH, join(ROOT, 'tools'), ...paths]);
      if (stderr !== '') throw new Error(stderr);
      verdicts = jsonLines(stdout);
    });

    test.each(EDITS.map(([name, , position], index) => [name, position, index] as const))(
      'names the position of %s, and exits with 1',
      (_, position, index) => {
        expect(verdicts[index]).toEqual({ code: 1, out: expect.stringMatching(`^bad {6}position ${position}: .`) });
      },
    );
  });

  describe('compared with a kept head', () => {
    const head = String(chains.at(-1));
    const cut = changed((lines) => void lines.splice(-1));

    test('finds it at the end', async () => {
      const { code, stdout } = await verify(linesOf(records), '--head', head);
      expect({ code, stdout }).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('after 5 events; 0 follow'),
      });
    });

    test('finds it before events that came later', async () => {
      const { code, stdout } = await verify(linesOf(records), '--head', String(chains[2]));
      expect({ code, stdout }).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('after 4 events; 1 follow'),
      });
    });

    test('reveals a truncated tail, which nothing else does', async () => {
      expect(await verify(cut)).toMatchObject({ code: 0 });
      const { code, stdout } = await verify(cut, '--head', head);
      expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('cut off') });
    });

    test('reveals a re-chained log, which nothing else does', async () => {
      const forged = linesOf(rechained(records));
      expect(await verify(forged)).toMatchObject({ code: 0 });
      expect(await verify(forged, '--head', head)).toMatchObject({ code: 1 });
    });
  });

  test('names the end of a fork that has lost events it shares with its source', async () => {
    const fork = (await readFile(join(ROOT, 'replay-fixtures/forked/session.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(await verify(fork.join('\n'))).toMatchObject({ code: 0 });
    const { genesis } = JSON.parse(String(fork[1])) as { genesis: { forked_from: { position: number } } };
    const shared = genesis.forked_from.position;
    // The first commit that reaches the end of what is shared, and all after it, are gone.
    const cut = fork.findIndex((_, index) => index > 1 && endOf(commitOf(fork, index)) >= shared);
    const { code, stdout } = await verify(fork.slice(0, cut).join('\n'));
    expect({ code, stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(`^bad +position ${commitOf(fork, cut).position}: it shares ${shared} `),
    });
  });

  test.each([
    [['/no/such/file.jsonl'], /No such file/],
    [[], /usage/],
    [[PROGRAM, '--head', 'sha256:12'], /--head takes/],
  ])('misuse %j exits with 2', async (args, says) => {
    const { code, stderr } = await python([PROGRAM, ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(says);
  });

  test('is short and needs nothing but the standard library', async () => {
    const source = await readFile(PROGRAM, 'utf8');
    expect(source.split('\n').length).toBeLessThanOrEqual(501);
    expect([...source.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => name)).toEqual([
      'argparse',
      'base64',
      'binascii',
      'hashlib',
      'json',
      're',
      'sys',
    ]);
  });
});

describe.skipIf(!hasPython)('canonical JSON in Python', () => {
  const CANONICALISE = `
import sys
sys.path.insert(0, sys.argv[1])
import verify
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(verify.canonical(verify.read_json(line.decode())).encode() + b"\\n")
`;

  const REFUSE = `
import sys
sys.path.insert(0, sys.argv[1])
import verify
for line in sys.stdin.buffer:
    try:
        verify.canonical(verify.read_json(line.decode())).encode()
        print("accepted", line)
    except (verify.Bad, ValueError):
        print("refused")
`;

  async function canonicalInPython(texts: readonly string[]): Promise<readonly string[]> {
    const ran = await python(['-c', CANONICALISE, join(ROOT, 'tools')], `${texts.join('\n')}\n`);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    return ran.stdout.trimEnd().split('\n');
  }

  const canonicalHere = (texts: readonly string[]): readonly string[] =>
    texts.map((text) => canonicalText(JSON.parse(text) as Json));

  test('is the same for random values', async () => {
    const double = fc.double({ noNaN: true, noDefaultInfinity: true });
    const key = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom('\u{1f600}', '\ufb33', '', '10', '9'),
    );
    const value = fc
      .object({
        key,
        maxDepth: 3,
        values: [
          double,
          fc.integer(),
          fc.maxSafeInteger(),
          fc.string({ unit: 'binary' }),
          fc.boolean(),
          fc.constant(null),
        ],
      })
      .filter((made) => isJson(made));
    const values = fc.sample(value, { numRuns: roundsOf(125, 5_000), seed: 1 });
    const texts = values.map((made) => JSON.stringify(made));
    expect(await canonicalInPython(texts)).toEqual(canonicalHere(texts));
  });

  test('is the same for random doubles of every size', async () => {
    const bits = new DataView(new ArrayBuffer(8));
    const anyDouble = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((raw) => {
      bits.setBigUint64(0, raw);
      return bits.getFloat64(0);
    });
    const decimal = fc
      .tuple(fc.integer(), fc.integer({ min: -30, max: 30 }))
      .map(([digits, power]) => Number(`${digits}e${power}`));
    const numbers = fc.sample(fc.oneof(anyDouble, decimal), { numRuns: roundsOf(750, 100_000), seed: 2 });
    const texts = numbers.filter((value) => isJson(value)).map((value) => JSON.stringify(value));
    expect(await canonicalInPython(texts)).toEqual(canonicalHere(texts));
  });

  test('is the same for numbers at the edges of their notation, in every spelling', async () => {
    const texts = [
      '1e21 1E21 999999999999999999999 1e20 123456789012345680000 1.5e300 1e-7 0.000001 0.0000012 0.00000123 5e-324',
      '2.2250738585072014e-308 1.7976931348623157e308 -1.5 -1e-7 0 0.0 1.0 100 1e2 100e-2 0.1e1',
      '9007199254740993 9007199254740992 4.50 0.1 333333333.33333329 1e23 9.5e-7 1e-400 12345678901234567890123 -123456.789e3',
    ].flatMap((row) => row.split(' '));
    expect(await canonicalInPython(texts)).toEqual(canonicalHere(texts));
  });

  test('is the same for awkward strings and keys', async () => {
    const points = Array.from({ length: 0xa0 }, (_, point) => String.fromCodePoint(point)).join('');
    const texts = [
      points,
      '\u2028\u2029',
      '\ud7ff\ue000\uffff\u{10000}\u{10ffff}',
      { '\u{10000}': 1, '\uffff': 2, é: 3, e: 4, E: 5 },
    ].map((value) => JSON.stringify(value));
    expect(await canonicalInPython(texts)).toEqual(canonicalHere(texts));
  });

  test('refuses numbers that are not in the value domain, duplicate keys and malformed texts', async () => {
    const texts = ['-0', '-0.0', '-1e-400', '1e400', 'NaN', '-Infinity', '{"a":1,"a":2}', '01', '[1,]', '"\\ud800"'];
    const { stdout } = await python(['-c', REFUSE, join(ROOT, 'tools')], `${texts.join('\n')}\n`);
    expect(stdout.trimEnd().split('\n')).toEqual(texts.map(() => 'refused'));
  });
});

const withDigest = (line: string | undefined, field: string): string => {
  const pattern = new RegExp(`("${field}":"sha256:)(.)`);
  return String(line).replace(pattern, (_, before: string, digit: string) => before + (digit === '0' ? '1' : '0'));
};

/** Other events in the commit of a line; its digests stay. */
function withEvents(lines: string[], index: number, change: (events: readonly unknown[]) => readonly unknown[]): void {
  const commit = JSON.parse(String(lines[index])) as { events: readonly unknown[] };
  put(lines, index, JSON.stringify({ ...commit, events: change(commit.events) }));
}

interface Commit {
  readonly position: number;
  readonly events: readonly unknown[];
}

const commitOf = (lines: readonly string[], index: number): Commit => JSON.parse(String(lines[index])) as Commit;

const endOf = ({ position, events }: Commit): number => position + events.length;

function moveToCommitBefore(lines: string[]): void {
  const [before, after] = [commitOf(lines, 2), commitOf(lines, 3)];
  put(lines, 2, JSON.stringify({ ...before, events: [...before.events, after.events[0]] }));
  put(lines, 3, JSON.stringify({ ...after, position: 2, events: after.events.slice(1) }));
}

function splitCommit(lines: string[]): void {
  const whole = commitOf(lines, 3);
  const parts = [
    { ...whole, events: whole.events.slice(0, 1) },
    { ...whole, position: 2, events: whole.events.slice(1) },
  ];
  lines.splice(3, 1, ...parts.map((part) => JSON.stringify(part)));
}

function mergeCommits(lines: string[]): void {
  const [first, second] = [commitOf(lines, 2), commitOf(lines, 3)];
  const merged = { ...second, position: first.position, events: [...first.events, ...second.events] };
  lines.splice(2, 2, JSON.stringify(merged));
}

/** A forgery by an attacker who can write the whole file: another answer, and every later digest corrected. */
function rechained(stream: readonly StreamRecord[]): readonly StreamRecord[] {
  let chain = chainAt(stream, 0);
  return stream.map((record) => {
    if (record.kind !== 'commit') return record;
    const events = record.events.map((event) =>
      event.kind === 'ToolCallSettled' ? { ...event, output: { text: 'forged' } } : event,
    );
    chain = nextChain(chain, events.map(eventDigest), record.state_digest);
    return { ...record, events, chain };
  });
}
