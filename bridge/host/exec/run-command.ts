// One command from start to end: a process group of its own, SIGTERM before SIGKILL, and an end that nothing the
// command left behind can put off. What is over is the process, not the last holder of its pipes.
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { DRAIN_MS, DRAIN_MS_MAX } from '../../../schemas/limits.ts';
import { ToolFault, errorName } from '../outcome.ts';
import type { Owner } from '../workspace/workspace.ts';
import { type CommandProcesses, superviseProcesses } from './command-processes.ts';
import type { Keeper } from './keeper.ts';
import type { Capture } from './output-capture.ts';
import type { Launch } from './sandbox.ts';

/** Who ended a command; null when it ended by itself. */
export type StopReason = 'timeout' | 'cancelled' | 'session' | 'closed';

export interface CommandEnd {
  readonly stopped: StopReason | null;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why there was no process; null when there was one. */
  readonly spawnFault: string | null;
}

export interface RunningCommand {
  readonly ended: Promise<CommandEnd>;
  /** SIGTERM now, SIGKILL after `graceMs` (at once when 0). The first reason stands. */
  stop(reason: StopReason, graceMs: number): void;
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
  return notStarted(new Promise((settle) => child.once('error', (error) => settle(failedStart(errorName(error))))));
}

function runProcesses(child: ChildProcess, processes: CommandProcesses, io: CommandIo): RunningCommand {
  let stopped: StopReason | null = null;
  let over = false;
  let unkept: string | null = null;
  let killTimer: NodeJS.Timeout | undefined;

  processes.begun.catch((error: unknown) => {
    unkept = error instanceof ToolFault ? error.message : errorName(error);
    processes.kill();
  });

  child.on('error', () => undefined);
  const ended = new Promise<CommandEnd>((settle) => {
    child.once('exit', (exitCode, signal) => {
      over = true;
      clearTimeout(killTimer);
      processes.bury(signal);
      drain(child, io, () => {
        const began = unkept === null || stopped !== null;
        settle(began ? { stopped, exitCode, signal, spawnFault: null } : failedStart(unkept ?? ''));
      });
    });
  });
  return {
    ended,
    stop(reason, graceMs) {
      if (over) return;
      stopped ??= reason;
      clearTimeout(killTimer);
      // What has not begun could not use a warning, and does not begin.
      if (graceMs === 0 || !processes.warn()) processes.kill();
      else killTimer = setTimeout(() => processes.kill(), graceMs);
    },
  };
}

const notStarted = (ended: Promise<CommandEnd>): RunningCommand => ({ ended, stop: () => undefined });

const failedStart = (spawnFault: string): CommandEnd => ({ stopped: null, exitCode: null, signal: null, spawnFault });

function spawnGroup(launch: Launch, { cwd, identity, stdin, stdout, stderr }: CommandIo): ChildProcess {
  const [file, ...args] = launch.argv;
  const stdio: StdioOptions = [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'];
  if (launch.gated || launch.reportsChild) stdio.push(launch.gated ? 'pipe' : 'ignore');
  if (launch.reportsChild) stdio.push('pipe');
  const child = spawn(file as string, args, { ...identity, cwd, env: { ...launch.env }, detached: true, stdio });
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk)).on('error', () => undefined);
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk)).on('error', () => undefined);
  // A command need not read its input; that it closed the pipe is no fault.
  child.stdin?.on('error', () => undefined).end(stdin);
  return child;
}

// After the end, pipes usually close at once. Where something outside of the group holds them, they are read while
// bytes still come, for a bounded time, and then closed on this side.
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
  const look = (): void => {
    const now = stdout.total() + stderr.total();
    if (now === seen || waitedMs >= DRAIN_MS_MAX) {
      finish();
      return;
    }
    seen = now;
    waitedMs += DRAIN_MS;
    // The immediate lets the pipes be read once more after a busy stretch, before silence is believed.
    timer = setTimeout(() => setImmediate(look), DRAIN_MS);
  };
  child.once('close', finish);
  look();
}
