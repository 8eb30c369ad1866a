// People and real processes: a run waits for a person, who answers at another terminal or at this one, even after the
// engine was killed.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { StreamEvent } from '../../schemas/record.ts';
import { upcast } from '../../schemas/upcast.ts';
import { must } from '../../src/client/must.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { CLI, freshDirectory, jsonLines, refold, writeRecording } from '../support/e2e/refold.ts';

type Line = Readonly<Record<string, unknown>>;

/** A `refold run` whose model makes these calls after it has opened its host session. */
class Run {
  readonly child: ChildProcess;
  readonly data: string;
  readonly workspace: string;
  readonly #lines: Line[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(data: string, workspace: string, recording: string, more: readonly string[]) {
    this.data = data;
    this.workspace = workspace;
    const args = [
      'run',
      'go',
      '--workspace',
      workspace,
      '--recording',
      recording,
      '--data-dir',
      data,
      '--sandbox',
      'none',
      ...more,
    ];
    this.child = spawn(process.execPath, [CLI, ...args, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface({ input: this.child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      this.#lines.push(JSON.parse(line) as Line);
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  /** The first line that fits, now or later. */
  async line(fits: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const found = this.#lines.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  waits = (): Promise<Line> => this.line((line) => line['event'] === 'requires_action');

  async ended(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const [code] = (await once(this.child, 'close')) as [number | null];
    return code;
  }

  events(): readonly ReturnType<typeof upcast>[] {
    return this.#lines.flatMap((line) =>
      line['event'] === 'folded' ? [upcast((line['record'] as StreamEvent).event)] : [],
    );
  }

  refold = (...args: readonly string[]) => refold([...args, '--data-dir', this.data]);

  /** Allows a call by the digest of the question that `refold approvals` shows. */
  async approve(call: string, ...args: readonly string[]) {
    const listed = jsonLines((await this.refold('approvals', '--json')).stdout);
    const action = listed.find((line) => line['call_id'] === call);
    return await this.refold('approve', call, '--digest', String(action?.['digest']), ...args);
  }
}

const APPEND = "require('node:fs').appendFileSync('ran', 'x')";
const shell = (id: string) => ({ id, name: 'shell', arguments: { argv: ['node', '-e', APPEND] } });

type Called = { readonly id: string; readonly name: string; readonly arguments: object };

const startRun = (...calls: readonly Called[]): Promise<Run> => startRunWith([], calls);

async function startRunWith(options: readonly string[], calls: readonly Called[]): Promise<Run> {
  const home = await freshDirectory();
  const recording = await writeRecording(home, [
    { calls: [{ id: 'open', name: 'open_session', arguments: {} }] },
    { calls },
    { content: 'done' },
  ]);
  return new Run(join(home, 'data'), await freshDirectory(true), recording, options);
}

const ranTimes = async ({ workspace }: Run): Promise<number> =>
  (await readFile(join(workspace, 'ran'), 'utf8').catch(() => '')).length;

describe('a call that changes a file', () => {
  const WRITE = { id: 'e', name: 'write_file', arguments: { path: 'plan.txt', text: 'by the model\n' } };
  const previewed = (run: Run): Promise<Line> =>
    run.line((line) => line['event'] === 'previewed' || 'preview' in ((line['action'] ?? {}) as Line));

  /** The run, where the bridge has said what the call would do, and the name of that. */
  async function shown(): Promise<{ readonly run: Run; readonly plan: string; readonly preview: string }> {
    const run = await startRunWith(['--policy', 'careful'], [WRITE]);
    const plan = join(run.workspace, 'plan.txt');
    await run.line((line) => (line['action'] as Line | undefined)?.['call_id'] === 'open');
    await writeFile(plan, 'by a person\n');
    expect(await run.approve('open')).toMatchObject({ code: 0 });
    await previewed(run);
    const [action] = jsonLines((await run.refold('approvals', '--json')).stdout);
    const preview = action?.['preview'] as { readonly digest: string } | undefined;
    return { run, plan, preview: preview?.digest ?? 'none' };
  }

  test('is shown as the bridge found it, and the command that allows it names what was shown', async () => {
    const { run, plan, preview } = await shown();
    const { stdout } = await run.refold('approvals');
    expect(stripVTControlCharacters(stdout)).toContain(
      '  » plan.txt (+1 -1)\n  @@ -1,1 +1,1 @@\n  -by a person\n  +by the model\n',
    );
    expect(stdout).toContain(`--preview ${preview}`);
    expect(await run.approve('e', '--preview', preview)).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await readFile(plan, 'utf8')).toBe('by the model\n');
  });

  test('is not made when the file changes between preview and answer', async () => {
    const { run, plan, preview } = await shown();
    await writeFile(plan, 'by a person, again\n');
    expect(await run.approve('e', '--preview', preview)).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await readFile(plan, 'utf8')).toBe('by a person, again\n');
    const settled = run.events().find((event) => event.kind === 'ToolCallSettled' && event.call_id === 'e');
    expect(settled).toMatchObject({
      outcome: 'failed',
      code: 'changed_since_preview',
      result: { needsFollowup: true },
    });
    expect(settled).not.toHaveProperty('changes');
  });

  test('is made without a comparison when the answer names no preview, and refused when it names another', async () => {
    const { run, plan, preview } = await shown();
    await writeFile(plan, 'by a person, again\n');
    const other = `sha256:${preview.slice('sha256:'.length).split('').toReversed().join('')}`;
    const refused = await run.approve('e', '--preview', other);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain(preview);
    expect((await run.approve('e', '--preview', 'plan')).stderr).toContain('--preview takes a digest');
    expect(await run.approve('e')).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await readFile(plan, 'utf8')).toBe('by the model\n');
  });
});

describe('a run without a terminal', () => {
  test('waits for answers from another terminal; an approved call runs once, a denied one never', async () => {
    const run = await startRun(shell('a'), { id: 'b', name: 'list_dir', arguments: {} }, shell('c'));
    expect(await run.waits()).toMatchObject({ action: { call_id: 'a', tool_name: 'shell', mode: 'local' } });
    const listed = await run.refold('approvals', '--json');
    expect(jsonLines(listed.stdout)).toMatchObject([
      { call_id: 'a', kind: 'agent.tool_use' },
      { call_id: 'c', kind: 'agent.tool_use' },
    ]);
    expect((await run.refold('sessions', '--waiting')).stdout).toContain('requires_action');
    expect(await ranTimes(run)).toBe(0);
    expect(await run.approve('a')).toMatchObject({ code: 0 });
    expect(await run.refold('deny', 'c', '--message', 'not on a Friday')).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await ranTimes(run)).toBe(1);
    const { stdout } = await run.refold('show', String(await sessionOf(run)), '--json');
    expect(stdout).toContain('error: permission_denied: not on a Friday');
    // The second answer is too late.
    const late = await run.refold('approve', 'a');
    expect(late).toMatchObject({ code: 2 });
    expect(late.stderr).toMatch(/no call "a" waits.*refold approvals/);
  });

  test('a call keeps waiting when the engine is killed, and runs exactly once after the approval', async () => {
    const run = await startRun(shell('a'), shell('b'));
    await run.waits();
    const engine = await run.line((line) => line['event'] === 'engine');
    process.kill(Number(engine['pid']), 'SIGKILL');
    await run.line((line) => line['event'] === 'restart');
    expect(await run.approve('a', '--for-session')).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    // The grant also answered the second call.
    expect(await ranTimes(run)).toBe(2);
    expect(run.events().filter(({ kind }) => kind === 'user.tool_confirmation')).toHaveLength(1);
  });

  test('a paused run starts nothing until it is resumed; an interrupted run continues with the new instruction', async () => {
    const run = await startRun(shell('a'), shell('b'));
    await run.waits();
    const id = String(await sessionOf(run));
    const paused = await run.refold('pause', id);
    expect(paused).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('paused_executing; to continue: refold resume'),
    });
    expect(await run.refold('pause', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('RunPaused is not allowed'),
    });
    expect(await run.approve('a', '--session', id)).toMatchObject({ code: 0 });
    expect(await run.refold('resume', id)).toMatchObject({ code: 0 });
    await run.line(() => run.events().some((event) => event.kind === 'ToolCallSettled' && event.call_id === 'a'));
    expect(await run.refold('interrupt', id, '--say', 'leave it')).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await ranTimes(run)).toBe(1);
    expect(run.events().at(-2)).toMatchObject({ kind: 'user.interrupt', input: { text: 'leave it' } });
    const kinds = run.events().map(({ kind }) => kind);
    expect(kinds.lastIndexOf('ToolCallStarted')).toBeGreaterThan(kinds.indexOf('RunResumed'));
    expect(await run.refold('resume', id)).toMatchObject({ stderr: expect.stringContaining('Start one: refold run') });
  });
});

const sessionOf = async (run: Run): Promise<unknown> =>
  jsonLines((await run.refold('sessions', '--json')).stdout)[0]?.['session_id'];

test('a policy is shown and set', async () => {
  const dataDir = join(await freshDirectory(), 'data');
  await mkdir(dataDir);
  const engine = await must(openEngine({ dataDir }));
  const { session_id: id } = await must(engine.client.createSession({}));
  await engine.close();
  const policy = (...args: readonly string[]) => refold(['policy', id, ...args, '--data-dir', dataDir]);
  expect((await policy()).stdout).toMatch(/local +ask/);
  expect(await policy('nonsense')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('allow_all'),
  });
  expect(await policy('careful', '--tool', 'host.exec=deny')).toMatchObject({ code: 0 });
  expect((await policy()).stdout).toMatch(/host\.exec +deny/);
});

test('the rules of a session are shown, and rules that this version does not know are refused', async () => {
  const dataDir = join(await freshDirectory(), 'data');
  await mkdir(dataDir);
  const engine = await must(openEngine({ dataDir }));
  const { session_id: id } = await must(engine.client.createSession({}));
  await engine.close();
  const rules = (...args: readonly string[]) => refold(['rules', id, ...args, '--data-dir', dataDir]);
  expect(await rules()).toMatchObject({ code: 0, stdout: `${id} has rules 1; the newest are rules 1\n` });
  expect(jsonLines((await rules('--json')).stdout)).toEqual([{ rules: 1, newest: 1 }]);
  expect(await rules('1')).toMatchObject({ code: 2, stderr: expect.stringContaining('has rules 1 already') });
  for (const number of ['2', 'x', '-', '1.0', '__proto__']) {
    expect(await rules(number)).toMatchObject({ code: 2, stderr: expect.stringContaining('Update refold') });
  }
});

const terminal = spawnSync('script', ['--version']).status === 0;

describe('at a terminal', () => {
  test('the demo asks once, shows the command, and takes the answer', async (context) => {
    if (!terminal) context.skip('script(1) is not installed, so there is no terminal');
    const home = await freshDirectory();
    const command = `${process.execPath} ${CLI} demo --sandbox none --data-dir ${join(home, 'data')}`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let shown = '';
    let answered = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
      if (answered || !shown.includes('deny:')) return;
      answered = true;
      child.stdin.write('s\n');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect(shown).toContain('["node","--test"]');
    expect(shown).toMatch(/allowed by .*for the rest of the session/);
    expect(shown).toContain('byte-identical');
    expect(code).toBe(0);
  });
});
