// The process of a local MCP server. It ends with the bridge, however that ends: it starts only once the keeper holds its group.
// Its standard error is read, so that it never blocks, and only the end of it is kept.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { MCP_STDERR_CHARS, MCP_STOP_MS } from '../../schemas/limits.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { superviseProcesses } from '../host/exec/command-processes.ts';
import type { Keeper } from '../host/exec/keeper.ts';
import type { ServerLaunch } from './server-sandbox.ts';

export interface ServerProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly pid: number;
  /** The end of what it wrote to standard error. */
  complaints(): string;
  /** Resolves when it has ended, with why, for people. */
  readonly ended: Promise<string>;
  /** Closes its input, then ends it; resolves when it has ended. */
  stop(): Promise<void>;
}

interface Ports {
  readonly keeper: Keeper;
  readonly clock: BridgeClock;
}

/** Throws when it cannot be started. */
export async function startServerProcess(
  { launch, cwd, identity }: ServerLaunch,
  { keeper, clock }: Ports,
): Promise<ServerProcess> {
  const { argv, env, sandbox } = launch;
  const [file = '', ...args] = argv;
  const pipes = sandbox === null ? [] : (['pipe', 'ignore', sandbox.filter === null ? 'ignore' : 'pipe'] as const);
  const stdio = ['pipe', 'pipe', 'pipe', launch.gated ? 'pipe' : 'ignore', ...pipes] as const;
  const child = spawn(file, args, { ...identity, cwd, env: { ...env }, detached: true, stdio: [...stdio] });
  const ended = endOf(child);
  const outer = await pidOf(child);
  if (sandbox !== null && sandbox.filter !== null) {
    const filter = (child.stdio as readonly unknown[])[6] as Writable | null;
    filter?.on('error', () => undefined).end(sandbox.filter);
  }
  let complaints = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-MCP_STDERR_CHARS);
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined);
  const processes = superviseProcesses({ child, outer, launch }, keeper);
  child.once('exit', (_code, signal) => processes.onExit(signal));
  processes.started.catch(() => processes.kill());

  let stopping: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    child.stdin?.end();
    const cancels = [
      clock.after(MCP_STOP_MS, () => void processes.terminate()),
      clock.after(2 * MCP_STOP_MS, () => processes.kill()),
    ];
    await ended;
    for (const cancel of cancels) cancel();
  };
  return {
    stdin: child.stdin as Writable,
    stdout: child.stdout as Readable,
    pid: outer,
    complaints: () => complaints.trim(),
    ended,
    stop: () => (stopping ??= stop()),
  };
}

const pidOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    if (child.pid !== undefined) resolve(child.pid);
    else child.once('error', reject);
  });

/** At its exit: a process that it left behind may hold its pipes open. */
const endOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => {
      // What it wrote last is still to be read.
      setImmediate(() => {
        for (const stream of child.stdio) stream?.destroy();
        resolve(signal === null ? `it ended with status ${code ?? 'unknown'}` : `it was ended by ${signal}`);
      });
    });
  });
