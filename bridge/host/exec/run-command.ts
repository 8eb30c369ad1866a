// Runs one command in its own process group; stops it with SIGTERM, then SIGKILL. The command has ended when its process
// exits: a background process that holds its pipes open cannot delay the end.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { descriptorLimit, inheritedDescriptors } from '../../../src/files/inherited-descriptors.ts';
import { DRAIN_MS, DRAIN_MS_MAX } from '../../../schemas/limits.ts';
import { ToolFault, errorName } from '../outcome.ts';
import type { Owner } from '../workspace/workspace.ts';
import { type CommandProcesses, superviseProcesses } from './command-processes.ts';
import type { Keeper } from './keeper.ts';
import type { Capture } from './output-capture.ts';
import type { Launch } from './sandbox.ts';

/** Why the host stopped a command. */
export type CommandStopReason = 'timeout' | 'cancelled' | 'session' | 'closed';

export interface CommandEnd {
  /** Null when the host did not stop it. */
  readonly stopped: CommandStopReason | null;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the command did not start; null when it did. */
  readonly spawnFault: string | null;
}

export interface RunningCommand {
  readonly ended: Promise<CommandEnd>;
  /** Sends SIGTERM now and SIGKILL after `graceMs` (at once when 0). The first reason is reported. */
  stop(reason: CommandStopReason, graceMs: number): void;
}

export interface CommandIo {
  readonly cwd: string;
  readonly identity: Owner | null;
  readonly stdin: string | undefined;
  readonly stdout: Capture;
  readonly stderr: Capture;
}

export function startCommand(launch: Launch, io: CommandIo, keeper: Keeper): RunningCommand {
  let child: ChildProcess;
  try {
    child = spawnGroup(launch, io);
  } catch (error) {
    return notStarted(Promise.resolve(failedStart(errorName(error))));
  }
  if (child.pid !== undefined) {
    return runProcesses(child, superviseProcesses({ child, outer: child.pid, launch }, keeper), io);
  }
  return notStarted(new Promise((resolve) => child.once('error', (error) => resolve(failedStart(errorName(error))))));
}

function runProcesses(child: ChildProcess, processes: CommandProcesses, io: CommandIo): RunningCommand {
  let stopped: CommandStopReason | null = null;
  let exited = false;
  let startFault: string | null = null;
  let killTimer: NodeJS.Timeout | undefined;

  processes.started.catch((error: unknown) => {
    startFault = error instanceof ToolFault ? error.message : errorName(error);
    processes.kill();
  });

  child.on('error', () => undefined);
  const ended = new Promise<CommandEnd>((resolve) => {
    child.once('exit', (exitCode, signal) => {
      exited = true;
      clearTimeout(killTimer);
      processes.onExit(signal);
      drain(child, io, () => {
        const failed = startFault !== null && stopped === null;
        resolve(failed ? failedStart(startFault ?? '') : { stopped, exitCode, signal, spawnFault: null });
      });
    });
  });
  return {
    ended,
    stop(reason, graceMs) {
      if (exited) return;
      stopped ??= reason;
      clearTimeout(killTimer);
      // A command that has not started gets no SIGTERM: it is killed, and never starts.
      if (graceMs === 0 || !processes.terminate()) processes.kill();
      else killTimer = setTimeout(() => processes.kill(), graceMs);
    },
  };
}

const notStarted = (ended: Promise<CommandEnd>): RunningCommand => ({ ended, stop: () => undefined });

const failedStart = (spawnFault: string): CommandEnd => ({ stopped: null, exitCode: null, signal: null, spawnFault });

/** What the parent of this process left open, before the first command: Node opens no others that a command would inherit. */
let inherited: readonly number[] | null = null;

/**
 * Starts a process with /dev/null in place of every descriptor that it would inherit by chance. One above the limit of
 * descriptors, which was lowered after it was opened, cannot be replaced.
 */
function spawnAlone(
  file: string,
  args: readonly string[],
  options: SpawnOptions & { stdio: StdioNull[] },
): ChildProcess {
  const { stdio } = options;
  inherited ??= inheritedBelow(descriptorLimit());
  const open = inherited.filter((fd) => (stdio[fd] ?? 'ignore') === 'ignore');
  if (open.length === 0) return spawn(file, args, options);
  const nothing = openSync('/dev/null', 'r+');
  try {
    const count = Math.max(stdio.length, ...open.map((fd) => fd + 1));
    const all = Array.from({ length: count }, (_, fd) => (open.includes(fd) ? nothing : (stdio[fd] ?? 'ignore')));
    return spawn(file, args, { ...options, stdio: all });
  } finally {
    closeSync(nothing);
  }
}

const inheritedBelow = (limit: number): readonly number[] => inheritedDescriptors().filter((fd) => fd + 1 < limit);

type StdioNull = 'ignore' | 'pipe';

function spawnGroup(launch: Launch, { cwd, identity, stdin, stdout, stderr }: CommandIo): ChildProcess {
  const [file, ...args] = launch.argv;
  const { gated, sandbox } = launch;
  const stdio: StdioNull[] = [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'];
  if (gated || sandbox !== null) stdio.push(gated ? 'pipe' : 'ignore');
  if (sandbox !== null)
    stdio.push('pipe', sandbox.waits ? 'pipe' : 'ignore', sandbox.filter === null ? 'ignore' : 'pipe');
  const child = spawnAlone(file as string, args, { ...identity, cwd, env: { ...launch.env }, detached: true, stdio });
  if (sandbox !== null && sandbox.filter !== null) {
    const filter = (child.stdio as readonly unknown[] | undefined)?.[6] as Writable | null | undefined;
    filter?.on('error', () => undefined).end(sandbox.filter);
  }
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk)).on('error', () => undefined);
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk)).on('error', () => undefined);
  // A command need not read its input: an error on the pipe it closed is ignored.
  child.stdin?.on('error', () => undefined).end(stdin);
  return child;
}

// After the exit, the pipes usually close at once. When a process outside the group holds them open, they are read as
// long as bytes arrive, for a bounded time, and then closed on this side.
function drain(child: ChildProcess, { stdout, stderr }: CommandIo, done: () => void): void {
  let seen = -1;
  let waitedMs = 0;
  let timer: NodeJS.Timeout | undefined;
  const finish = (): void => {
    clearTimeout(timer);
    child.off('close', finish);
    for (const stream of child.stdio) stream?.destroy();
    done();
  };
  const poll = (): void => {
    const now = stdout.total() + stderr.total();
    if (now === seen || waitedMs >= DRAIN_MS_MAX) {
      finish();
      return;
    }
    seen = now;
    waitedMs += DRAIN_MS;
    // After a busy event loop, setImmediate lets the pipes be read once more before this counts as silence.
    timer = setTimeout(() => setImmediate(poll), DRAIN_MS);
  };
  child.once('close', finish);
  poll();
}
