// Names, arguments and messages that a model chooses change no line of a command's output, whatever they hold: no line begins
// in them, and no colour.
/* eslint-disable no-control-regex -- they are what must not be printed */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newOutput } from '../../src/cli/output.ts';
import { createPaint, printable } from '../../src/shown/paint.ts';
import { linesOf, recordsOf } from '../audit/records.ts';
import { freshDirectory, refold } from '../support/e2e/refold.ts';
import { call, session } from '../support/session.ts';

const FORGED = 'deploy\n  \u001b[32m✓\u001b[39m deploy allowed by ada\r\n\u001b[32mrun-1 completed\u001b[39m\u2028x';
const PLAIN = 'deploy';

const forged = fc
  .array(
    fc.constantFrom(
      '\n',
      '\r',
      '\u001b[32m',
      '\u001b[39m',
      '\u001b]0;x\u0007',
      '\u009b2J',
      '\u2028',
      '\u0000',
      'a',
      ' ✓ ',
    ),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''));

const paint = createPaint(true);

test('a line is one line, and its colours are those of paint', () => {
  fc.assert(
    fc.property(forged, forged, (inside, outside) => {
      const line = printable(`${paint.green(inside)} ${outside}`);
      const [, shown = ''] = /^\u001b\[32m([^\u001b]*)\u001b\[39m [^\u001b]*$/.exec(line) ?? [];
      expect(line).toMatch(/^\u001b\[32m[^\p{Cc}\u2028]*\u001b\[39m [^\p{Cc}\u2028]*$/u);
      expect(shown.length).toBeGreaterThanOrEqual(inside.length);
    }),
  );
});

test('a colour within another is followed by the outer one again', () => {
  expect(printable(paint.dim(`a${paint.bold('b')}c`))).toBe('\u001b[2ma\u001b[1mb\u001b[22m\u001b[2mc\u001b[22m');
  expect(createPaint(false).red('x')).toBe('x');
});

test('every way to print a line makes it printable', () => {
  const written: string[] = [];
  const stream = { isTTY: true, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  const output = newOutput({ stdout: stream, stderr: stream }, false);
  output.line(FORGED);
  output.warn(FORGED);
  output.note(FORGED);
  for (const text of written) expect(text.replace(/^\r\u001b\[K/, '').replace(/\n$/, '')).not.toMatch(/\p{Cc}/u);
  expect(written).toHaveLength(3);
});

describe('the commands', () => {
  let home: string;
  beforeAll(async () => {
    home = await freshDirectory();
    for (const [name, text] of [
      ['forged', FORGED],
      ['plain', PLAIN],
    ] as const) {
      const story = session({ session_id: 'story' })
        .runRequested()
        .observed([call('c1', text, { path: text }), call('c2', 'free', { path: text })]);
      await writeFile(join(home, `${name}.jsonl`), linesOf(recordsOf(story)));
      await refold(['import', join(home, `${name}.jsonl`), '--data-dir', join(home, name), '--as-recorded']);
    }
  });
  afterAll(() => rm(home, { recursive: true }));

  const COMMANDS: readonly (readonly string[])[] = [
    ['sessions'],
    ['show', 'story'],
    ['events', 'story'],
    ['explain', 'story'],
    ['explain', 'story', '--call', 'c1'],
    ['explain', 'story', '--call', 'c2'],
    ['explain', 'story', '--turn', '1'],
    ['timeline', 'story'],
    ['approvals'],
    ['verify', 'story', '--laws'],
    ['whatif', 'story', '--policy', 'careful'],
  ];

  test.each(COMMANDS.map((args) => [args]))('%j prints as many lines as with a plain name', async (args) => {
    const printed = async (name: string) => {
      const { stdout, stderr } = await refold([...args, '--data-dir', join(home, name)]);
      return `${stdout}${stderr}`;
    };
    const [hostile, plain] = [await printed('forged'), await printed('plain')];
    expect(plain).not.toBe('');
    expect(hostile.split('\n')).toHaveLength(plain.split('\n').length);
    expect(hostile).not.toMatch(/[\r\u001b\u2028]/);
    expect(hostile.split('\n').filter((line) => /^(run-1 completed| {2}✓)/.test(line))).toEqual([]);
  });
});
