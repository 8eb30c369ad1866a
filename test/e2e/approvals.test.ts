// People and real processes: a run waits for its person, who answers at another terminal, at this one, or not at all;
// the engine may be killed meanwhile.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import type { EventRecord } from '../../schemas/record.ts';
import { upcast } from '../../schemas/upcast.ts';
import { ROOT, freshDirectory, jsonLines, refold, writeRecording } from '../support/e2e/refold.ts';

const CLI = join(ROOT, 'dist/src/cli/main.js');

type Line = Readonly<Record<string, unknown>>;

/** A `refold run` whose model makes these calls after it has opened its host session. */
class Run {
  readonly child: ChildProcess;
  readonly data: string;
  readonly workspace: string;
  readonly #lines: Line[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(data: string, workspace: string, recording: string) {
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
      line['event'] === 'folded' ? [upcast((line['record'] as EventRecord).event)] : [],
    );
  }

  say = (...args: readonly string[]) => refold([...args, '--data-dir', this.data]);
}

const APPEND = "require('node:fs').appendFileSync('ran', 'x')";
const shell = (id: string) => ({ id, name: 'shell', arguments: { argv: ['node', '-e', APPEND] } });

async function startRun(...calls: readonly { id: string; name: string; arguments: object }[]): Promise<Run> {
  const home = await freshDirectory();
  const recording = await writeRecording(home, [
    { calls: [{ id: 'open', name: 'open_session', arguments: {} }] },
    { calls },
    { content: 'done' },
  ]);
  return new Run(join(home, 'data'), await freshDirectory(true), recording);
}

const ranTimes = async ({ workspace }: Run): Promise<number> =>
  (await readFile(join(workspace, 'ran'), 'utf8').catch(() => '')).length;

describe('a run that nobody sits at', () => {
  test('waits for the word of another terminal, and goes on with it', async () => {
    const run = await startRun(shell('a'), { id: 'b', name: 'list_dir', arguments: {} });
    expect(await run.waits()).toMatchObject({ action: { call_id: 'a', tool_name: 'shell', mode: 'local' } });
    const listed = await run.say('approvals', '--json');
    expect(jsonLines(listed.stdout)).toMatchObject([{ action: { call_id: 'a', kind: 'agent.tool_use' } }]);
    expect((await run.say('sessions')).stdout).toContain('active');
    expect(await ranTimes(run)).toBe(0);
    expect(await run.say('approve', 'a')).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await ranTimes(run)).toBe(1);
    // The second word comes too late.
    const late = await run.say('approve', 'a');
    expect(late).toMatchObject({ code: 2 });
    expect(late.stderr).toMatch(/no call "a" waits.*refold approvals/);
  });

  test('a denial and its reason reach the model, and nothing runs', async () => {
    const run = await startRun(shell('a'));
    await run.waits();
    expect(await run.say('deny', 'a', '--message', 'not on a Friday')).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await ranTimes(run)).toBe(0);
    const id = jsonLines((await run.say('sessions', '--json')).stdout)[0]?.['session_id'];
    const { stdout } = await run.say('show', String(id), '--json');
    expect(stdout).toContain('error: permission_denied: not on a Friday');
  });

  test('the engine is killed while the call waits: it waits on, runs once it may, and only once', async () => {
    const run = await startRun(shell('a'), shell('b'));
    await run.waits();
    const engine = await run.line((line) => line['event'] === 'engine');
    process.kill(Number(engine['pid']), 'SIGKILL');
    await run.line((line) => line['event'] === 'restart');
    expect(await run.say('approve', 'a', '--for-session')).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    // The grant answered the second call as well.
    expect(await ranTimes(run)).toBe(2);
    expect(run.events().filter(({ kind }) => kind === 'user.tool_confirmation')).toHaveLength(1);
  });

  test('paused, nothing starts until the run is resumed', async () => {
    const run = await startRun(shell('a'));
    await run.waits();
    const id = String(await sessionOf(run));
    const paused = await run.say('pause', id);
    expect(paused).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`paused_executing; go on: refold resume`),
    });
    expect(await run.say('pause', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('RunPaused is not allowed'),
    });
    expect(await run.say('approve', 'a', '--session', id)).toMatchObject({ code: 0 });
    expect(await run.say('resume', id)).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await ranTimes(run)).toBe(1);
    const kinds = run.events().map(({ kind }) => kind);
    expect(kinds.lastIndexOf('ToolCallStarted')).toBeGreaterThan(kinds.indexOf('RunResumed'));
    expect(await run.say('resume', id)).toMatchObject({ stderr: expect.stringContaining('start one: refold run') });
  });

  test('interrupted, the run goes on with what was said', async () => {
    const run = await startRun(shell('a'));
    await run.waits();
    const id = String(await sessionOf(run));
    expect(await run.say('interrupt', id, '--say', 'leave it')).toMatchObject({ code: 0 });
    expect(await run.ended()).toBe(0);
    expect(await ranTimes(run)).toBe(0);
    expect(run.events().at(-2)).toMatchObject({ kind: 'user.interrupt', input: { text: 'leave it' } });
  });
});

const sessionOf = async (run: Run): Promise<unknown> =>
  jsonLines((await run.say('sessions', '--json')).stdout)[0]?.['session_id'];

test('a policy is shown and set', async () => {
  const run = await startRun(shell('a'));
  await run.waits();
  const id = String(await sessionOf(run));
  expect((await run.say('policy', id)).stdout).toMatch(/local +ask/);
  expect(await run.say('policy', id, 'nonsense')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('allow_all'),
  });
  expect(await run.say('policy', id, 'careful', '--tool', 'host.exec=deny')).toMatchObject({ code: 0 });
  expect((await run.say('policy', id)).stdout).toMatch(/host\.exec +deny/);
  expect(await run.say('deny', 'a')).toMatchObject({ code: 0 });
  expect(await run.ended()).toBe(0);
});

const terminal = spawnSync('script', ['--version']).status === 0;

describe('at a terminal', () => {
  test('the demo asks once, shows the command, and takes the answer', async (context) => {
    if (!terminal) context.skip('there is no script(1) to make a terminal with');
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
