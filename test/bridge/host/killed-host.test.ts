// A host that is killed takes its commands with it, and all that they had started, at every sandbox level that this
// machine has. The hosts are processes of their own, which run the build.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Capture } from '../../../bridge/host/exec/output-capture.ts';
import { startCommand } from '../../../bridge/host/exec/run-command.ts';
import { openSandbox } from '../../../bridge/host/exec/sandbox.ts';
import { openWorkspace } from '../../../bridge/host/workspace/workspace.ts';
import { until } from '../../support/host/condition.ts';
import { type TestWorkspace, makeHost, makeWorkspace } from '../../support/host/workspace.ts';
import { ancestorsOf, newMarker, processesNaming } from '../../support/processes.ts';

const probe = await makeHost();
const levels = probe.sandbox === 'bwrap' ? (['bwrap', 'none'] as const) : (['none'] as const);
if (probe.sandbox !== 'bwrap') process.stderr.write(`bwrap is NOT tested here: ${probe.sandboxNote}\n`);
await probe.end();

// Runs each script that it reads as a line, does not wait for it, and ends with its input.
const HOST = `
  const [built, workspace, tempDir, sandbox] = process.argv.slice(1);
  const { openHost } = await import(built);
  const host = await openHost({ workspace, tempDir, sandbox, now: () => 0 });
  const context = { signal: new AbortController().signal, timeoutMs: 600_000, outputBytesMax: 10_000 };
  for await (const script of (await import('node:readline')).createInterface({ input: process.stdin })) {
    void host.run('host.exec', { argv: ['sh', '-c', script] }, context).then(({ text }) => console.log(text));
  }`;

/** What the command line of a keeper holds. */
const KEEPER = 'while read -r sign group';

describe.each(levels)('a host with sandbox %s', (sandbox) => {
  let files: TestWorkspace;
  let host: ChildProcess;
  beforeEach(() => {
    files = makeWorkspace();
    const built = pathToFileURL('dist/bridge/host/host-tools.js').href;
    const argv = ['--input-type=module', '-e', HOST, built, files.path, files.tempDir, sandbox];
    host = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  });
  afterEach(() => {
    host.kill('SIGKILL');
    files.remove();
  });

  /** A command that has a child in the background, once both run. */
  async function startFamily(): Promise<string> {
    const marker = newMarker();
    host.stdin?.write(
      `sh -c ': ${marker}; touch ${marker}; while :; do sleep 1000; done' & while :; do sleep 1000; done\n`,
    );
    await until('the command and its child run', () => existsSync(files.at(marker)));
    return marker;
  }
  const keeper = (): number | undefined => processesNaming(KEEPER).find((pid) => ancestorsOf(pid)[0] === host.pid);
  const gone = (marker: string): Promise<void> => until('nothing is left', () => processesNaming(marker).length === 0);

  test('that is killed leaves nothing of its commands', async () => {
    const markers = [await startFamily(), await startFamily()];
    const kept = keeper();
    expect(kept).toBeDefined();
    host.kill('SIGKILL');
    for (const marker of markers) await gone(marker);
    await until('the keeper has ended too', () => !processesNaming(KEEPER).includes(kept ?? 0));
  });

  test('that is killed leaves nothing, also when its keeper had been ended and replaced', async () => {
    const before = await startFamily();
    process.kill(keeper() ?? 0, 'SIGKILL');
    await until('the keeper is gone', () => keeper() === undefined);
    const after = await startFamily();
    expect(keeper()).toBeDefined();
    host.kill('SIGKILL');
    await gone(before);
    await gone(after);
  });

  test('ends by itself when nothing runs any more', async () => {
    host.stdin?.end('true\n');
    const [code] = await once(host, 'exit');
    expect(code).toBe(0);
  });
});

test('a command that cannot be tied to the host never begins', async () => {
  const files = makeWorkspace();
  const workspace = openWorkspace(files.path);
  try {
    const sandbox = openSandbox(workspace, { wanted: 'none', sandboxUid: undefined });
    const launch = sandbox.launch({
      argv: ['touch', 'begun'],
      directory: files.path,
      variables: { PATH: '/usr/bin:/bin' },
    });
    const silent: Capture = { push: () => undefined, total: () => 0 } as Partial<Capture> as Capture;
    const io = { cwd: files.path, identity: sandbox.identity, stdin: undefined, stdout: silent, stderr: silent };
    const refusing = {
      hold: () => Promise.reject(new Error('none')),
      release: () => undefined,
      close: () => undefined,
    };
    expect(await startCommand(launch, io, refusing).ended).toMatchObject({ spawnFault: 'Error', exitCode: null });
    expect(existsSync(files.at('begun'))).toBe(false);
  } finally {
    workspace.close();
    files.remove();
  }
});
