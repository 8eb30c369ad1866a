// `refold catalog` and `refold skills`, as a person and as a program read them.
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';
import { skillText, temporaryDirectory, writeFiles } from '../support/skills/skill-folders.ts';

/** Runs a command line in this process. */
async function refold(...args: readonly string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runCommandLine(args, { stdout, stderr });
  const out = String(stdout.read() ?? '');
  const objects = args.includes('--json')
    ? out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    : [];
  return { code, out, err: String(stderr.read() ?? ''), objects };
}

const ENTRY = {
  name: 'git.log',
  description: 'Show the log. command: the line.',
  input_schema: {
    type: 'object',
    properties: { command: { type: 'string' }, cwd: { type: 'string' } },
    required: ['command'],
  },
  implementation: { kind: 'platform', ref: 'shell' },
  requires_permission: true,
};

function catalog(...entries: readonly object[]): string {
  const root = temporaryDirectory();
  writeFiles(root, { 'catalog.json': JSON.stringify(entries) });
  return join(root, 'catalog.json');
}

test('check passes a good catalog, and lists what may mislead a model', async () => {
  const path = catalog(ENTRY, { ...ENTRY, name: 'gitLog' });
  const { code, objects } = await refold('catalog', 'check', path, '--json');
  expect(code).toBe(0);
  expect(objects.map(({ event, code: what }) => [event, what])).toEqual([
    ['warning', 'near_collision'],
    ['warning', 'field_not_described'],
    ['warning', 'field_not_described'],
    ['catalog', undefined],
  ]);
  expect(objects.at(-1)).toMatchObject({ tools: 2, faults: 0, warnings: 3 });
  expect((await refold('catalog', 'check', path, '--strict')).code).toBe(1);
  expect((await refold('catalog', 'check', path)).out).toMatch(/2 tools, 0 faults, 3 warnings/);
});

test('check fails with every fault, its file and JSON path, and shows no control characters', async () => {
  const path = catalog({ ...ENTRY, name: 'a\u001b[2Jb', ['x\u202ey']: 1 }, { ...ENTRY, timeout_ms: 0 });
  const { code, out } = await refold('catalog', 'check', path);
  expect(code).toBe(1);
  expect(out).toMatch(/at \/0\/name/);
  expect(out).toMatch(/at \/1\/timeout_ms/);
  expect(out).toContain('3 faults');
  for (const hidden of ['\u001b', '\u202e']) expect(out).not.toContain(hidden);
  const { objects } = await refold('catalog', 'check', path, '--json');
  expect(objects.filter(({ event }) => event === 'fault')).toHaveLength(3);
  expect(objects[0]).toMatchObject({ event: 'fault', file: path });
});

test('list, show and explain say what becomes of an entry', async () => {
  const path = catalog(ENTRY);
  expect((await refold('catalog', 'list', path)).out).toContain(
    'git.log  platform, git__log for models  Show the log.',
  );
  const shown = await refold('catalog', 'show', 'git.log', '--catalog', path, '--json');
  expect(shown.objects).toEqual([{ event: 'entry', name: 'git.log', file: path, at: '/0', entry: ENTRY }]);
  const explained = await refold('catalog', 'explain', 'git__log', '--catalog', path);
  expect(explained.out).toContain('catalog.platform.git.log');
  expect(explained.out).toContain('always asks a person');
  expect(explained.out).toContain('{"effect_kind":"host.exec","kind":"effect"}');
});

test('misuse ends with 2, and says what to do', async () => {
  const path = catalog(ENTRY);
  expect(await refold('catalog', 'remove', path)).toMatchObject({
    code: 2,
    err: expect.stringContaining('use check, list'),
  });
  expect(await refold('catalog', 'show', 'x', '--catalog', path)).toMatchObject({
    code: 2,
    err: expect.stringContaining('no entry "x"'),
  });
  expect(await refold('skills', 'remove')).toMatchObject({ code: 2, err: expect.stringContaining('use list or show') });
});

test('skills lists what is read and what is left out, and shows one with its files', async () => {
  const root = temporaryDirectory();
  const command = 'run: [sh, go.sh]\ninput_schema: {type: object}\n';
  writeFiles(root, {
    'greet/SKILL.md': skillText('greet', command, 'Say \u001b[31mhello.\n'),
    'greet/go.sh': 'echo hello\n',
    'broken/SKILL.md': 'nothing',
  });
  const listed = await refold('skills', 'list', '--skills', root, '--json');
  expect(listed.code).toBe(1);
  expect(listed.objects).toMatchObject([
    { event: 'skill', name: 'greet', runs: true, files: 2 },
    { event: 'fault', file: join(root, 'broken/SKILL.md') },
  ]);
  const shown = await refold('skills', 'show', 'greet', '--skills', root);
  expect(shown.code).toBe(0);
  expect(shown.out).toContain('runs    "sh" "go.sh"');
  expect(shown.out).toContain(String(listed.objects[0]?.['digest']));
  expect(shown.out).toContain('Say ');
  expect(shown.out).not.toContain('\u001b');
  expect((await refold('skills', 'show', 'broken', '--skills', root)).code).toBe(1);
  expect((await refold('skills', 'show', 'none', '--skills', root)).code).toBe(2);
});
