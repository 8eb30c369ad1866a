// `refold verify` and tools/verify.py, which share no code, reach the same verdict on every edit of an export.
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Random, randomFrom, roundsOf } from '../support/random.ts';
import { call, session } from '../support/session.ts';
import { ROOT, jsonLines, refold } from '../support/e2e/refold.ts';
import { linesOf, recordsOf } from './records.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stderr.write('SKIPPED: python3 is not installed, so the verifiers are not compared\n');

const VERDICTS = `
import sys
sys.path.insert(0, sys.argv[1])
import verify
for path in sys.argv[2:]:
    try:
        with open(path, "rb") as lines:
            print("true", list(verify.verify(lines))[-1][2])
    except verify.Bad:
        print("false")
`;

const EXPORT = Buffer.from(
  linesOf(
    recordsOf(
      session({ session_id: 'edited' })
        .runRequested()
        .observed([call('a', 'free', { text: 'one\u2028two\u2029\ufffd\u0085\u00a0', count: 1, share: 0.5 })])
        .settled('a')
        .batchSettled()
        .answered('d\ufffdne'),
      [1, 2],
    ),
  ),
);

const spliced = (bytes: Buffer, at: number, gone: number, put: string | Buffer = ''): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(at + gone)]);

/** Replaces the first match after `from`, or the first match at all, by `put`. */
function replaced(bytes: Buffer, pattern: RegExp, put: string | Buffer, from: number): Buffer {
  // One UTF-16 unit per byte, so positions in the text are positions in the bytes.
  const found = [...bytes.toString('latin1').matchAll(pattern)];
  const match = found.find(({ index }) => index >= from) ?? found[0];
  return match === undefined ? bytes : spliced(bytes, match.index, match[0].length, put);
}

const linesEdited = (bytes: Buffer, edit: (lines: string[]) => void): Buffer => {
  const lines = bytes.toString('latin1').split('\n');
  edit(lines);
  return Buffer.from(lines.join('\n'), 'latin1');
};

const SPLINTERS = [
  '\r',
  '\n',
  ' ',
  '\t',
  '\f',
  '\u00a0',
  '\ufeff',
  '\u2028',
  '\u0085',
  '\0',
  '0',
  '.0',
  'e0',
  'null',
  ',',
];
const BLANKS = ['', ' ', '\t', '\r', '\f', '\u00a0', '\ufeff', '\u2003'];
const NUMBERS = ['-0', '1e400', '1e-400', '1.0', '1e0', '01', '1.', 'true', 'null', '"1"', '9007199254740993', 'NaN'];
const BROKEN = [[0xff], [0x80], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]];

type Edit = (bytes: Buffer, random: Random) => Buffer;

const EDITS: Readonly<Record<string, Edit>> = {
  'a bit': (bytes, random) => {
    const at = random.below(bytes.length);
    return spliced(bytes, at, 1, Buffer.from([(bytes[at] ?? 0) ^ (1 << random.below(8))]));
  },
  'bytes gone': (bytes, random) => spliced(bytes, random.below(bytes.length), 1 + random.below(40)),
  'a file cut short': (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  'bytes inserted anywhere': (bytes, random) => spliced(bytes, random.below(bytes.length), 0, random.pick(SPLINTERS)),
  'bytes inserted beside a token': (bytes, random) => {
    const from = random.below(bytes.length);
    return replaced(bytes, /(?<=[,:{}[\]\n])/g, random.pick(SPLINTERS), from);
  },
  'a number': (bytes, random) =>
    replaced(bytes, /(?<=[:,[])[\d.]+(?=[,}\]])/g, random.pick(NUMBERS), random.below(bytes.length)),
  'invalid UTF-8': (bytes, random) =>
    replaced(bytes, /\u00ef\u00bf\u00bd/g, Buffer.from(random.pick(BROKEN)), random.below(bytes.length)),
  'a digest': (bytes, random) =>
    replaced(
      bytes,
      /[\da-f](?=[\da-f]{0,63}")/g,
      random.pick(['0', 'A', '', '00', '\\u0061']),
      random.below(bytes.length),
    ),
  'a line gone': (bytes, random) => linesEdited(bytes, (lines) => void lines.splice(random.below(lines.length), 1)),
  'a line twice': (bytes, random) =>
    linesEdited(bytes, (lines) => void lines.splice(random.below(7), 0, String(lines[random.below(6)]))),
  'two lines swapped': (bytes, random) =>
    linesEdited(bytes, (lines) => {
      const [a, b] = [random.below(6), random.below(6)];
      [lines[a], lines[b]] = [String(lines[b]), String(lines[a])];
    }),
  'two lines in one': (bytes, random) => {
    const lines = bytes.toString('latin1').split('\n');
    const at = lines.slice(0, 1 + random.below(5)).join('\n').length;
    return spliced(bytes, at, 1, random.pick(['', ' ', '\r', '\u2028']));
  },
  'a blank line': (bytes, random) =>
    linesEdited(
      bytes,
      (lines) => void lines.splice(random.below(7), 0, Buffer.from(random.pick(BLANKS)).toString('latin1')),
    ),
  'only the spelling': (bytes, random) => {
    const at = random.below(bytes.length);
    const spelled = [
      replaced(bytes, /(?<=\w)a(?=\w*":)/g, '\\u0061', at),
      linesEdited(bytes, (lines) => void lines.push('', '')),
      Buffer.from(bytes.toString('latin1').replaceAll('\n', '\r\n'), 'latin1'),
    ];
    return random.pick(spelled);
  },
};

describe.skipIf(!hasPython)('refold verify and tools/verify.py', () => {
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'refold-agree-'));
  });
  afterAll(() => rm(home, { recursive: true }));

  test.each(Object.keys(EDITS))('reach the same verdict on an export with an edit: %s', async (name) => {
    const random = randomFrom(name.length);
    const edit = EDITS[name] as Edit;
    const paths = Array.from({ length: roundsOf(4, 120) }, (_, index) => join(home, `${name.length}-${index}.jsonl`));
    for (const path of paths) await writeFile(path, edit(EXPORT, random));
    const python = spawnSync('python3', ['-B', '-c', VERDICTS, join(ROOT, 'tools'), ...paths], { encoding: 'utf8' });
    const { stdout } = await refold(['verify', '--json', ...paths]);
    const ours = jsonLines(stdout).filter(({ source }) => source !== undefined);
    const verdicts = python.stdout.trimEnd().split('\n');
    expect([ours.length, verdicts.length]).toEqual([paths.length, paths.length]);
    const reached = ours.map((row) => (row['verified'] === true ? `true ${String(row['chain'])}` : 'false'));
    expect(reached).toEqual(verdicts);
  });
});
