// Commands escape foreign text, so a terminal does not obey it.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalText } from '../../schemas/index.ts';
import { linesOf, recordsOf } from '../audit/records.ts';
import { type Finished, freshDirectory, refold } from '../support/e2e/refold.ts';
import { call, session } from '../support/session.ts';

const HOSTILE = 'a\u001B]0;owned\u0007\u001B[8mhid\u009B2Jden\u202Eevil\r\u2028';
const SAFE = /^[\t\n -~\u00A1-\u00AC\u00AE-\u024F\u2010-\u2027\u2030-\u205E\u2190-\u2BFF]*$/;

let home: string;
const at = (name: string): string => join(home, name);

beforeAll(async () => {
  home = await freshDirectory();
  const withPath = (text: string): string =>
    linesOf(
      recordsOf(
        session({ session_id: 'hostile' })
          .runRequested()
          .observed([call('a', 'free', { path: text })]),
      ),
    );
  await writeFile(at('a.jsonl'), withPath(HOSTILE));
  await writeFile(at('b.jsonl'), withPath('other'));
  await refold(['import', at('a.jsonl'), '--data-dir', at('data')]);
});
afterAll(() => rm(home, { recursive: true }));

const cases: readonly (readonly string[])[] = [
  ['show', 'hostile'],
  ['events', 'hostile'],
  ['explain', 'hostile', '--call', 'a'],
  ['explain', 'hostile', '--tool', HOSTILE],
  ['diff', 'A', 'B'],
  ['show', HOSTILE],
];

test.each(cases.map((args) => [args]))('%j prints no control character', async (args) => {
  const named = args.map((arg) => (/^[AB]$/.test(arg) ? at(`${arg.toLowerCase()}.jsonl`) : arg));
  const { stdout, stderr }: Finished = await refold([...named, '--data-dir', at('data')]);
  const printed = stdout + stderr;
  expect(printed).not.toBe('');
  expect(printed.split('\n').filter((line) => !SAFE.test(line))).toEqual([]);
});

test('an export contains the text unchanged', async () => {
  const { stdout } = await refold(['export', 'hostile', '--data-dir', at('data')]);
  expect(stdout).toContain(canonicalText(HOSTILE).slice(1, -1));
});
