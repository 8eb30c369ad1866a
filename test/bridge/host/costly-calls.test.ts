// Patches, edits and searches that would take long are refused where they begin, or take time in proportion to the file.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { editText } from '../../../bridge/host/edit/edit-text.ts';
import {
  FILE_BYTES_MAX,
  PATCH_CHARS_MAX,
  PATCH_COMPARED_MAX,
  PATCH_FILE_BYTES_MAX,
  PATCH_LINES_MAX,
  PATCH_OPERATIONS_MAX,
  PATCH_READ_BYTES_MAX,
} from '../../../schemas/limits.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';

let host: TestHost;
beforeAll(async () => {
  host = await makeHost({}, { sandbox: 'none' });
});
afterAll(() => host.end());

const patch = (...lines: readonly string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const apply = (text: string) => host.call('host.fs.apply_patch', { patch: text });
const HUNK = ['@@', '-old', '+new'];

const cpuMs = (act: () => unknown): number => {
  const start = process.cpuUsage();
  act();
  return process.cpuUsage(start).user / 1_000;
};

test('a patch of more files than can be undone is refused', async () => {
  const adds = Array.from({ length: PATCH_OPERATIONS_MAX + 1 }, (_, index) => [`*** Add File: n${index}`, '+x']).flat();
  const { code, text } = await apply(patch(...adds));
  expect(code).toBe('patch_parse_error');
  expect(text).toContain('send several smaller patches');
  expect((await apply(patch(...adds.slice(2)))).success).toBe(true);
});

test('a patch that is too long is refused', async () => {
  const { text } = await apply(patch('*** Add File: long', `+${'x'.repeat(PATCH_CHARS_MAX)}`));
  expect(text).toContain(`the maximum is ${PATCH_CHARS_MAX}. Nothing was written; send several smaller patches`);
});

test('a patch of a file that is too large is refused before the file is read', async () => {
  host.workspace.write('large', Buffer.alloc(PATCH_FILE_BYTES_MAX + 1, 'old\n'));
  const { code, text } = await apply(patch('*** Update File: large', ...HUNK));
  expect(code).toBe('file_too_large');
  expect(text).toContain('change it with edit_file, or with a command');
});

test('a patch that reads too much in all is refused', async () => {
  const names = Array.from({ length: PATCH_READ_BYTES_MAX / PATCH_FILE_BYTES_MAX + 1 }, (_, index) => `part-${index}`);
  for (const name of names) host.workspace.write(name, Buffer.alloc(PATCH_FILE_BYTES_MAX, 'x'));
  const { code, text } = await apply(patch(...names.map((name) => `*** Delete File: ${name}`)));
  expect(code).toBe('file_too_large');
  expect(text).toContain('send several patches of fewer files');
  expect(host.workspace.list()).toEqual(expect.arrayContaining(names));
});

test('a patch of too many lines is refused: the time that blank lines take is bounded by their number', async () => {
  host.workspace.write('blank', '\n'.repeat(PATCH_LINES_MAX));
  let refused = await apply(patch('*** Update File: blank', ...HUNK));
  expect(refused.text).toContain(`more than ${PATCH_LINES_MAX} lines`);
  host.workspace.write('blank', '\n'.repeat(PATCH_LINES_MAX - 2));
  refused = await apply(patch('*** Update File: blank', ...HUNK));
  expect(refused.code).toBe('hunk_rejected');
});

test('a patch that compares too many lines is refused', async () => {
  host.workspace.write('same', `${' \n'.repeat(50_000)}end\n`);
  const hunks = Array.from({ length: PATCH_COMPARED_MAX / 50_000 + 1 }, () => ['@@', ' ', ' ', '+new']).flat();
  const { code, text } = await apply(
    patch('*** Update File: same', ...hunks.map((line) => (line === ' ' ? '  ' : line))),
  );
  expect(code).toBe('patch_too_expensive');
  expect(text).toContain('send fewer hunks at a time');
});

test('the longest passage is found in one pass over a file that repeats itself', () => {
  const text = 'a'.repeat(FILE_BYTES_MAX / 16);
  const missing = `b${'a'.repeat(100_000)}`;
  expect(cpuMs(() => editText(text, { oldText: missing, newText: 'c', all: false }))).toBeLessThan(3_000);
  const found = editText(`${text}${missing}`, { oldText: missing, newText: 'c', all: false });
  expect(found).toEqual({ kind: 'edited', text: `${text}c`, replacements: 1, fuzzy: false });
});

test('a long literal is searched beside the event loop', async () => {
  host.workspace.write('repeats', 'a'.repeat(2_000_000));
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const found = await host.call('host.fs.grep', { pattern: `b${'a'.repeat(1_000)}`, path: 'repeats' });
  clearInterval(timer);
  expect(found.data).toMatchObject({ match_count: 0 });
  expect(turns).toBeGreaterThan(0);
});
