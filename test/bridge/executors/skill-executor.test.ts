// Skills as a bridge runs them, in real folders and a real sandbox: what is listed, read and run, and that files which changed are not.
import { chmodSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { platformArguments, withCatalog } from '../../../bridge/executors/catalog-executor.ts';
import type { CallReport } from '../../../bridge/executors/call-report.ts';
import {
  type CallContext,
  type CallTarget,
  type Executor,
  combineExecutors,
} from '../../../bridge/executors/executors.ts';
import { hostExecutor } from '../../../bridge/executors/host-executor.ts';
import { skillExecutor } from '../../../bridge/executors/skill-executor.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { brand } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { SKILLS_LISTED_MAX, SKILL_READ_BYTES_MAX } from '../../../schemas/limits.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { type SkillSet, readSkills } from '../../../src/skills/read-skills.ts';
import { skillTools } from '../../../src/skills/skill-tools.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';
import { noPause, skillText, temporaryDirectory, writeFiles } from '../../support/skills/skill-folders.ts';

const COMMAND = `run: [sh, go.sh]
input_schema:
  type: object
  properties:
    name: {type: string}
`;

const context = (more: Partial<CallContext> = {}): CallContext => ({
  signal: new AbortController().signal,
  timeoutMs: 20_000,
  outputBytesMax: 65_536,
  putBlob: (bytes) => Promise.resolve(digestText(bytes)),
  ...more,
});

/** What a call that asks nothing returns. */
function reportOf(answer: Awaited<ReturnType<Executor['run']>>): CallReport {
  if ('ask' in answer) throw new Error('a skill asks nothing');
  return answer;
}

/** The skills of a directory, with what runs their tools; calls go to the tools as they were when it was opened. */
async function opened(root: string, host: TestHost) {
  let set: SkillSet = await readSkills([root], noPause);
  expect(set.faults).toEqual([]);
  const tools = new Map(skillTools(set).map(({ spec }) => [spec.tool_id as string, spec]));
  const executor: Executor = skillExecutor({ skills: { current: () => set }, host });
  const target = ({ tool_id, executor: how }: ToolSpec): CallTarget => ({
    session_id: brand('s-1'),
    call_id: brand('c'),
    tool_id,
    executor: how,
  });
  return {
    executor,
    tools,
    target,
    call: async (id: string, args: JsonObject = {}, more: Partial<CallContext> = {}) =>
      reportOf(await executor.run(target(tools.get(id) as ToolSpec), args, context(more))),
    refresh: async () => void (set = await readSkills([root], noPause)),
  };
}

const probe = await makeHost();
const levels = probe.sandbox === 'bwrap' ? (['bwrap', 'none'] as const) : (['none'] as const);
if (probe.sandbox !== 'bwrap') process.stderr.write(`bwrap is NOT tested on this machine: ${probe.sandboxNote}\n`);
await probe.end();

describe.each(levels)('a skill with a command, with sandbox %s', (sandbox) => {
  let host: TestHost;
  beforeAll(async () => {
    host = await makeHost({ 'data.txt': 'of the workspace\n' }, { sandbox });
  });
  afterAll(() => host.end());

  test('runs in its folder, with its arguments on standard input, and reaches the workspace', async () => {
    const root = temporaryDirectory();
    writeFiles(root, {
      'greet/SKILL.md': skillText('greet', COMMAND),
      'greet/go.sh': 'cat; echo; cat part/b.txt; cat "$WORKSPACE/data.txt"; test "$PWD" = "$SKILL_DIR" && echo there\n',
      'greet/part/b.txt': 'of the skill\n',
    });
    const { call } = await opened(root, host);
    const report = await call('skill.greet', { name: 'you' });
    expect(report).toMatchObject({ success: true, data: { exit_code: 0 } });
    expect(report.text).toBe('exit code 0\n[stdout]\n{"name":"you"}\nof the skill\nof the workspace\nthere\n');
  });

  test('cannot write its folder', async () => {
    const root = temporaryDirectory();
    writeFiles(root, {
      'greet/SKILL.md': skillText('greet', COMMAND),
      'greet/go.sh': 'echo x > new || echo refused; echo x > go.sh || echo refused; rm -f SKILL.md || echo refused\n',
    });
    const { call } = await opened(root, host);
    const { text } = await call('skill.greet');
    expect(text.match(/^refused$/gm)).toHaveLength(3);
  });

  test('keeps the permission to run of its files', async () => {
    const root = temporaryDirectory();
    writeFiles(root, {
      'greet/SKILL.md': skillText('greet', COMMAND.replace('[sh, go.sh]', '[./bin/go]')),
      'greet/bin/go': '#!/bin/sh\necho ran\n',
    });
    chmodSync(join(root, 'greet/bin/go'), 0o755);
    const { call } = await opened(root, host);
    expect((await call('skill.greet')).text).toContain('ran');
  });

  test('fails when its program is not installed, and when it takes too long', async () => {
    const root = temporaryDirectory();
    writeFiles(root, {
      'a/SKILL.md': skillText('a', COMMAND.replace('[sh, go.sh]', '[no-such-program]')),
      'b/SKILL.md': skillText('b', COMMAND),
      'b/go.sh': 'sleep 60\n',
    });
    const { call } = await opened(root, host);
    expect(await call('skill.a')).toMatchObject({ success: false, code: 'spawn_failed' });
    expect(await call('skill.b', {}, { timeoutMs: 300 })).toMatchObject({ success: false, code: 'timeout' });
  });
});

describe('files that changed after they were offered', () => {
  let host: TestHost;
  beforeAll(async () => {
    host = await makeHost({});
  });
  afterAll(() => host.end());

  const CHANGES: Readonly<Record<string, (root: string) => void>> = {
    'a byte of the script': (root) => writeFileSync(join(root, 'greet/go.sh'), 'echo evil\n'),
    'the instructions': (root) => writeFileSync(join(root, 'greet/SKILL.md'), skillText('greet', COMMAND, 'Evil.\n')),
    'a new file': (root) => writeFileSync(join(root, 'greet/extra'), ''),
    'a script that is a link': (root) => {
      rmSync(join(root, 'greet/go.sh'));
      symlinkSync('/bin/true', join(root, 'greet/go.sh'));
    },
    'another folder in its place': (root) => {
      renameSync(join(root, 'greet'), join(root, 'away'));
      writeFiles(root, { 'greet/SKILL.md': skillText('greet', COMMAND), 'greet/go.sh': 'echo evil\n' });
    },
    'a link in place of the folder': (root) => {
      renameSync(join(root, 'greet'), join(root, 'away'));
      symlinkSync('away', join(root, 'greet'));
    },
    'no folder': (root) => rmSync(join(root, 'greet'), { recursive: true }),
  };

  test.each(Object.keys(CHANGES))('%s: nothing is read or run, before and after the change is noticed', async (how) => {
    const root = temporaryDirectory();
    writeFiles(root, { 'greet/SKILL.md': skillText('greet', COMMAND), 'greet/go.sh': 'echo good\n' });
    const { call, refresh } = await opened(root, host);
    expect((await call('skill.greet')).text).toContain('good');
    expect((await call('skill.skills_read', { name: 'greet' })).success).toBe(true);
    CHANGES[how]?.(root);
    for (const notice of [() => Promise.resolve(), refresh]) {
      await notice();
      const refused = { success: false, code: 'definition_changed' };
      expect(await call('skill.greet')).toMatchObject(refused);
      expect(await call('skill.skills_read', { name: 'greet' })).toMatchObject(refused);
    }
    for (const id of ['skill.skills_list', 'skill.skills_search'])
      expect(await call(id, { query: 'greet' })).toMatchObject({ success: false, code: 'definition_changed' });
  });

  test('what runs is what was compared, also when the folder is swapped while it is copied and run', async () => {
    const root = temporaryDirectory();
    // The first line waits until the test has swapped the folder: what follows is read after it.
    const script = 'touch "$WORKSPACE/started"; while [ ! -e "$WORKSPACE/swapped" ]; do sleep 0.01; done; sh part.sh\n';
    writeFiles(root, {
      'greet/SKILL.md': skillText('greet', COMMAND),
      'greet/go.sh': script,
      'greet/part.sh': 'echo good\n',
    });
    const { call } = await opened(root, host);
    const running = call('skill.greet');
    for (let looks = 0; !host.workspace.list().includes('started') && looks < 1_000; looks += 1)
      await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(join(root, 'greet/part.sh'), 'echo evil\n');
    host.workspace.write('swapped', '');
    expect((await running).text).toBe('exit code 0\n[stdout]\ngood\n');
  });

  test('a call without a digest runs nothing', async () => {
    const root = temporaryDirectory();
    writeFiles(root, { 'greet/SKILL.md': skillText('greet', COMMAND), 'greet/go.sh': 'echo good\n' });
    const { executor, tools, target } = await opened(root, host);
    const undigested = {
      ...target(tools.get('skill.greet') as ToolSpec),
      executor: { kind: 'skill', skill: 'greet' } as const,
    };
    expect(await executor.run(undigested, {}, context())).toMatchObject({ success: false, code: 'definition_changed' });
  });
});

describe('reading skills', () => {
  let host: TestHost;
  beforeAll(async () => {
    host = await makeHost({});
  });
  afterAll(() => host.end());

  test('lists names and descriptions in pages, and finds by words', async () => {
    const root = temporaryDirectory();
    for (let at = 0; at < SKILLS_LISTED_MAX + 1; at += 1) {
      const name = `s${String(at).padStart(3, '0')}`;
      writeFiles(root, { [`${name}/SKILL.md`]: skillText(name) });
    }
    writeFiles(root, {
      'pdf-forms/SKILL.md': '---\nname: pdf-forms\ndescription: Fill forms.\n---\n',
      'tables/SKILL.md': '---\nname: tables\ndescription: Read tables of a PDF.\n---\n',
    });
    const { call } = await opened(root, host);
    const first = await call('skill.skills_list');
    expect(first.text.split('\n')).toHaveLength(SKILLS_LISTED_MAX + 1);
    const [, after = ''] = /after "([^"]+)"/.exec(first.text) ?? [];
    expect((await call('skill.skills_list', { after })).text.split('\n')).toHaveLength(3);
    expect((await call('skill.skills_search', { query: 'a PDF form' })).text).toBe(
      'pdf-forms: Fill forms.\ntables: Read tables of a PDF.',
    );
    expect((await call('skill.skills_search', { query: '!' })).text).toMatch(/no skill has these words/);
  });

  test('reads instructions and files in parts, never within a character, and nothing outside the skill', async () => {
    const root = temporaryDirectory();
    const long = 'é'.repeat(SKILL_READ_BYTES_MAX);
    writeFiles(root, {
      'demo/SKILL.md': skillText('demo', '', 'Do this.\n'),
      'demo/docs/long.txt': `x${long}`,
      'demo/logo.png': new Uint8Array([0x89, 0x50, 0xff]),
      'secret.txt': 'secret',
    });
    const { call } = await opened(root, host);
    const read = (args: JsonObject) => call('skill.skills_read', { name: 'demo', ...args });
    expect((await read({})).text).toBe('Do this.\n\n[files of the skill: SKILL.md, docs/long.txt, logo.png]');
    let whole = '';
    let offset = 0;
    for (;;) {
      const { text, data } = await read({ path: 'docs/long.txt', offset_bytes: offset });
      whole += text.replace(/\n\[\d+ bytes more: .*\]$/, '');
      offset = Number(data?.['end_bytes']);
      if (offset === Number(data?.['bytes'])) break;
    }
    expect(whole).toBe(`x${long}`);
    expect(await read({ path: 'logo.png' })).toMatchObject({ success: false, code: 'not_text' });
    for (const path of ['../secret.txt', '/etc/passwd', 'docs', ''])
      expect(await read({ path })).toMatchObject({ success: false, code: 'not_found' });
    expect(await call('skill.skills_read', { name: '../demo' })).toMatchObject({ code: 'not_found' });
    expect(await call('skill.skills_read', {})).toMatchObject({ code: 'tool_invalid_args' });
  });
});

describe('a call of a catalog entry', () => {
  let host: TestHost;
  beforeAll(async () => {
    host = await makeHost({ 'a.txt': 'hello\n' });
  });
  afterAll(() => host.end());

  const entry = (tool: string, executor: CallTarget['executor']): CallTarget => ({
    session_id: brand('s-1'),
    call_id: brand('c'),
    tool_id: brand(tool),
    executor,
  });

  test("of September's bash runs a shell line, and of another tool its arguments", async () => {
    const executors = combineExecutors(withCatalog([hostExecutor(host)]));
    expect(executors.tools).toEqual(['catalog.platform.*', 'host.*']);
    const bash = entry('catalog.platform.bash', { kind: 'effect', effect_kind: 'host.exec' });
    const run = executors.find(bash.tool_id);
    expect(run?.place).toEqual(host.place);
    expect(await run?.run(bash, { command: 'cat a.txt | tr a-z A-Z' }, context())).toMatchObject({
      text: expect.stringContaining('HELLO'),
    });
    const view = entry('catalog.platform.view', { kind: 'effect', effect_kind: 'host.fs.read_file' });
    expect(await run?.run(view, { path: 'a.txt' }, context())).toMatchObject({
      text: expect.stringContaining('hello'),
    });
  });

  test('leads to a skill, whose files are compared', async () => {
    const root = temporaryDirectory();
    writeFiles(root, { 'greet/SKILL.md': skillText('greet', COMMAND), 'greet/go.sh': 'echo good\n' });
    const { executor, tools } = await opened(root, host);
    const pinned = (tools.get('skill.greet') as ToolSpec).executor;
    const executors = combineExecutors(withCatalog([hostExecutor(host), executor]));
    const call = entry('catalog.skill.hello', pinned);
    expect(await executors.find(call.tool_id)?.run(call, {}, context())).toMatchObject({
      text: expect.stringContaining('good'),
    });
    writeFileSync(join(root, 'greet/go.sh'), 'echo evil\n');
    expect(await executors.find(call.tool_id)?.run(call, {}, context())).toMatchObject({ code: 'definition_changed' });
  });

  test('never leads beyond its kind', async () => {
    const executors = combineExecutors(withCatalog([hostExecutor(host)]));
    const run = executors.find('catalog.platform.x');
    for (const executor of [
      { kind: 'skill', skill: 'x' },
      { kind: 'effect', effect_kind: 'catalog.platform.x' },
      { kind: 'custom' },
      { kind: 'mcp', server: 'x', tool: 'y' },
    ] as const)
      expect(await run?.run(entry('catalog.platform.x', executor), {}, context())).toMatchObject({
        code: 'executor_missing',
      });
    expect(executors.find('catalog.skill.x')).toBeNull();
  });

  test('a list of arguments stays, and so does a line for another tool', () => {
    const exec = { tool_id: brand<'ToolId'>('host.exec') };
    expect(platformArguments(exec, { argv: ['true'] })).toEqual({ argv: ['true'] });
    expect(platformArguments(exec, { command: 'true', cwd: 'a' })).toMatchObject({
      argv: [expect.any(String), '-c', 'true'],
      cwd: 'a',
    });
    expect(platformArguments({ tool_id: brand('host.fs.grep') }, { command: 'x' })).toEqual({ command: 'x' });
  });
});
