// When a host is killed, its commands and everything they started end too, at every sandbox level that works on this
// machine. The hosts are separate processes that run the build.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Capture } from '../../../bridge/host/exec/output-capture.ts';
import type { Keeper } from '../../../bridge/host/exec/keeper.ts';
import { type RunningCommand, startCommand } from '../../../bridge/host/exec/run-command.ts';
import { openSandbox } from '../../../bridge/host/exec/sandbox.ts';
import { openWorkspace } from '../../../bridge/host/workspace/workspace.ts';
import { until } from '../../support/host/condition.ts';
import { type TestWorkspace, makeHost, makeWorkspace } from '../../support/host/workspace.ts';
import { ancestorsOf, newMarker, processesNaming } from '../../support/processes.ts';

const probe = await makeHost();
const levels = probe.sandbox === 'bwrap' ? (['bwrap', 'none'] as const) : (['none'] as const);
if (probe.sandbox !== 'bwrap') process.stderr.write(`bwrap is NOT tested on this machine: ${probe.sandboxNote}\n`);
await probe.end();

// Runs each line of its input as a script, without waiting for it, and ends when the input ends.
const HOST = `
  const [built, workspace, tempDir, sandbox] = process.argv.slice(1);
  const { openHost } = await import(built);
  const host = await openHost({ workspace, tempDir, sandbox, now: () => 0 });
  const context = { signal: new AbortController().signal, timeoutMs: 600_000, outputBytesMax: 10_000 };
  for await (const script of (await import('node:readline')).createInterface({ input: process.stdin })) {
    void host.run('host.exec', { argv: ['sh', '-c', script] }, context).then(({ text }) => console.log(text));
  }`;

/** A part of every keeper's command line. */
const KEEPER = 'while read -r sign group';

describe.each(levels)('a host with sandbox %s', (sandbox) => {
  let files: TestWorkspace;
  let host: ChildProcess;
  beforeEach(() => {
    files = makeWorkspace();
    const built = pathToFileURL('dist/bridge/host/open-host.js').href;
    const argv = ['--input-type=module', '-e', HOST, built, files.path, files.tempDir, sandbox];
    host = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  });
  afterEach(() => {
    host.kill('SIGKILL');
    files.remove();
  });

  /** Starts a command with a child in the background, and returns the marker of both once both run. */
  async function startWithChild(): Promise<string> {
    const marker = newMarker();
    host.stdin?.write(
      `sh -c ': ${marker}; touch ${marker}; while :; do sleep 1000; done' & while :; do sleep 1000; done\n`,
    );
    await until('the command and its child run', () => existsSync(files.at(marker)));
    return marker;
  }
  const keeper = (): number | undefined => processesNaming(KEEPER).find((pid) => ancestorsOf(pid)[0] === host.pid);
  const noneLeft = (marker: string): Promise<void> =>
    until('no process is left', () => processesNaming(marker).length === 0);

  test('leaves no process of its commands when it is killed', async () => {
    const markers = [await startWithChild(), await startWithChild()];
    const pid = keeper();
    expect(pid).toBeDefined();
    host.kill('SIGKILL');
    for (const marker of markers) await noneLeft(marker);
    await until('the keeper has ended too', () => !processesNaming(KEEPER).includes(pid ?? 0));
  });

  test('leaves no process when it is killed after its keeper was killed and replaced', async () => {
    const before = await startWithChild();
    const first = keeper();
    expect(first).toBeDefined();
    process.kill(first ?? 0, 'SIGKILL');
    await until('another keeper runs', () => ![undefined, first].includes(keeper()));
    const after = await startWithChild();
    host.kill('SIGKILL');
    await noneLeft(before);
    await noneLeft(after);
  });

  test('exits when its input has ended and no command runs', async () => {
    host.stdin?.end('true\n');
    const [code] = await once(host, 'exit');
    expect(code).toBe(0);
  });
});

describe.each(levels)('a command with sandbox %s', (sandbox) => {
  let files: TestWorkspace;
  beforeEach(() => {
    files = makeWorkspace();
  });
  afterEach(() => {
    files.remove();
  });

  /** The number of process groups of a command: with a sandbox, one outside and one inside. */
  const groups = sandbox === 'bwrap' ? 2 : 1;

  /** Starts a command that would create a file, and checks that it never ran and that no process is left. */
  async function startRefused(hold: Keeper['hold'], onStarting: (command: RunningCommand) => void = () => undefined) {
    const workspace = openWorkspace(files.path);
    const marker = newMarker();
    const released: number[] = [];
    try {
      const level = openSandbox(workspace, { wanted: sandbox, sandboxUid: undefined });
      const variables = { PATH: '/usr/bin:/bin' };
      const io = { cwd: files.path, identity: level.identity, stdin: undefined, stdout: silent, stderr: silent };
      const keeper = { hold, release: (group: number) => released.push(group), close: () => undefined };
      const argv = ['sh', '-c', `: ${marker}; touch started; sleep 1000`];
      const command = startCommand(level.launch({ argv, directory: files.path, variables, readOnly: [] }), io, keeper);
      onStarting(command);
      const end = await command.ended;
      await until('no process is left', () => processesNaming(marker).length === 0);
      expect(existsSync(files.at('started'))).toBe(false);
      return { end, released };
    } finally {
      workspace.close();
    }
  }

  test.each(Array.from({ length: groups }, (_, at) => at))(
    'never starts when the keeper refuses its process group %i',
    async (at) => {
      let holds = 0;
      const hold = () => ((holds += 1) > at ? Promise.reject(new Error('none')) : Promise.resolve());
      const { end } = await startRefused(hold);
      expect(end).toMatchObject({ spawnFault: 'Error', exitCode: null });
      expect(holds).toBe(at + 1);
    },
  );

  test.each([0, 60_000])('never starts when it is stopped before; grace %i ms', async (graceMs) => {
    const held: number[] = [];
    let command: RunningCommand | undefined;
    const hold = async (group: number): Promise<void> => {
      held.push(group);
      // The command is stopped before `hold` of its last group has resolved.
      if (held.length === groups) command?.stop('cancelled', graceMs);
      return Promise.resolve();
    };
    const { end, released } = await startRefused(hold, (starting) => {
      command = starting;
      if (groups === 1) starting.stop('cancelled', graceMs);
    });
    expect(end).toMatchObject({ stopped: 'cancelled', signal: 'SIGKILL' });
    expect(released).toEqual(held);
  });

  test('never starts when its first process is killed before', async () => {
    const held: number[] = [];
    const hold = (group: number): Promise<void> => {
      held.push(group);
      // Only the process, not the group: like the kernel, which ends a sandbox when the bridge dies.
      if (held.length === groups) process.kill(held[0] ?? 0, 'SIGKILL');
      return Promise.resolve();
    };
    const { end } = await startRefused(hold);
    expect(end).toMatchObject({ stopped: null, signal: 'SIGKILL' });
  });
});

test('a sandbox that fails to start is reported as spawn_failed, not as a failed command', async () => {
  const argv = ['/bin/sh', '-c', 'read -r go <&3; echo "no namespaces left" >&2; exit 1'];
  const sandbox = { waits: false, filter: null, isSetUp: () => true, check: () => undefined };
  const launch = { argv, env: {}, gated: true, sandbox };
  const io = { cwd: '/', identity: null, stdin: undefined, stdout: silent, stderr: silent };
  const keeper = { hold: () => Promise.resolve(), release: () => undefined, close: () => undefined };
  expect(await startCommand(launch, io, keeper).ended).toEqual({
    stopped: null,
    exitCode: null,
    signal: null,
    spawnFault: 'the sandbox could not be set up',
  });
});

const silent: Capture = { push: () => undefined, total: () => 0 } as Partial<Capture> as Capture;

// Opens every descriptor that it may have, runs a command, closes them, and runs another command.
const FULL = `
  const [built, workspace, tempDir, sandbox] = process.argv.slice(1);
  const { closeSync, openSync } = await import('node:fs');
  const { openHost } = await import(built);
  const host = await openHost({ workspace, tempDir, sandbox, now: () => 0 });
  const context = { signal: new AbortController().signal, timeoutMs: 600_000, outputBytesMax: 10_000 };
  const run = () => host.run('host.exec', { argv: ['true'] }, context);
  await run();
  const taken = [];
  try {
    for (;;) taken.push(openSync('/dev/null'));
  } catch {}
  for (const fd of taken.splice(-2)) closeSync(fd);
  console.log((await run()).text);
  taken.forEach((fd) => closeSync(fd));
  console.log((await run()).text);
  await host.close();`;

test.each(levels)('a host with sandbox %s and no free descriptor refuses the command, and runs the next', (sandbox) => {
  const files = makeWorkspace();
  try {
    const built = pathToFileURL('dist/bridge/host/open-host.js').href;
    const argv = [process.execPath, '--input-type=module', '-e', FULL, built, files.path, files.tempDir, sandbox];
    const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -n 128; exec "$@"', 'sh', ...argv], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(stdout.split('\n').slice(0, 2)).toEqual(['spawn_failed: true could not be started (EMFILE)', 'exit code 0']);
  } finally {
    files.remove();
  }
});
