// tools/verify.py checks an exported session without any code of refold; both make the same canonical bytes.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Digest, type Json, type StreamRecord, canonicalText, isJson } from '../../schemas/index.ts';
import { eventDigest, nextChain } from '../../src/core/index.ts';
import { roundsOf } from '../support/random.ts';
import { call, session } from '../support/session.ts';
import { ROOT, jsonLines } from '../support/e2e/refold.ts';
import { linesOf, recordsOf } from './records.ts';

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

const EDITS: readonly (readonly [string, (lines: string[]) => void, number])[] = [
  ['an edited event', (lines) => void lines.splice(2, 1, String(lines[2]).replace('"free"', '"read"')), 1],
  ['an edited event digest', (lines) => void lines.splice(2, 1, withDigest(lines[2], 'event_digest')), 1],
  ['an edited state digest', (lines) => void lines.splice(3, 1, withDigest(lines[3], 'state_digest')), 2],
  ['an edited chain value', (lines) => void lines.splice(5, 1, withDigest(lines[5], 'chain')), 4],
  ['an edited genesis', (lines) => void lines.splice(0, 1, String(lines[0]).replace('"plain"', '"other"')), -1],
  ['an edited tool', (lines) => void lines.splice(0, 1, String(lines[0]).replace('The tool free', 'A tool free')), -1],
  ['a missing genesis', (lines) => void lines.shift(), -1],
  ['a missing event', (lines) => void lines.splice(3, 1), 2],
  ['a repeated event', (lines) => void lines.splice(3, 0, String(lines[3])), 3],
  ['two events swapped', (lines) => void lines.splice(2, 2, String(lines[3]), String(lines[2])), 1],
  [
    'an event renumbered',
    (lines) => void lines.splice(2, 1, String(lines[2]).replace('"position":1', '"position":true')),
    1,
  ],
  ['a field that no digest covers', (lines) => void lines.splice(4, 1, String(lines[4]).replace('{', '{"note":1,')), 3],
  [
    'a key given twice',
    (lines) => void lines.splice(4, 1, String(lines[4]).replace('{"chain"', '{"chain":"","chain"')),
    3,
  ],
  ['a line cut short', (lines) => void lines.splice(5, 1, String(lines[5]).slice(0, -20)), 4],
  ['a deep line', (lines) => void lines.push('['.repeat(200_000)), 5],
  ['a line that is not a record', (lines) => void lines.push('NaN'), 5],
  ['nothing', (lines) => void lines.splice(0, 6), -1],
];

const records = recordsOf(
  session({ session_id: 'plain' })
    .runRequested()
    .observed([call('a', 'free', { '\u{1f600}': 1e21, '\ufb33': 1e-7, é: [5e-324, -1.5], text: '\u2028\u0001"\\/' })])
    .settled('a')
    .batchSettled()
    .answered('done'),
);
const chains = records.map(({ chain }) => chain);

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
    const cut = changed((lines) => void lines.splice(-2));

    test('finds it at the end', async () => {
      const { code, stdout } = await verify(linesOf(records), '--head', head);
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('position 4; 0 events') });
    });

    test('finds it before events that came later', async () => {
      const { code, stdout } = await verify(linesOf(records), '--head', String(chains[2]));
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('position 1; 3 events') });
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
    const fork = (await readFile(join(ROOT, 'replay-fixtures/forked/session.jsonl'), 'utf8')).split('\n');
    expect(await verify(fork.slice(0, 8).join('\n'))).toMatchObject({ code: 0 });
    const { code, stdout } = await verify(fork.slice(0, 7).join('\n'));
    expect({ code, stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^bad +position 6: it shares 7 /),
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
    expect(source.split('\n').length).toBeLessThanOrEqual(201);
    expect([...source.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => name)).toEqual([
      'argparse',
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
    const values = fc.sample(value, { numRuns: roundsOf(500), seed: 1 });
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
    const numbers = fc.sample(fc.oneof(anyDouble, decimal), { numRuns: roundsOf(10_000), seed: 2 });
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

/** A forgery by an attacker who can write the whole file: another answer, and every later digest corrected. */
function rechained(stream: readonly StreamRecord[]): readonly StreamRecord[] {
  let chain: Digest = stream[0]?.chain as Digest;
  return stream.map((record) => {
    if (record.kind === 'genesis') return record;
    const event =
      record.event.kind === 'ToolCallSettled' ? { ...record.event, output: { text: 'forged' } } : record.event;
    const event_digest = eventDigest(event);
    chain = nextChain(chain, event_digest, record.state_digest);
    return { ...record, event, event_digest, chain };
  });
}
