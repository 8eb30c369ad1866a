// One command from start to end: a process group of its own, SIGTERM before SIGKILL, and an end that nothing the
// command left behind can put off. What is over is the process, not the last holder of its pipes.
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { DRAIN_MS, DRAIN_MS_MAX } from '../../../schemas/limits.ts';
import { errorName } from '../outcome.ts';
import type { Owner } from '../workspace/workspace.ts';
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
  let stopped: StopReason | null = null;
  let over = false;
  let unkept: string | null = null;
  let killTimer: NodeJS.Timeout | undefined;
  let child: ChildProcess;
  try {
    child = spawnGroup(launch, io);
  } catch (error) {
    return { ended: Promise.resolve(failedStart(errorName(error))), stop: () => undefined };
  }
  const inner = launch.reportsChild ? readInnerPid(child) : () => null;
  const kill = (): void => {
    signalGroup(inner(), 'SIGKILL');
    signalGroup(child.pid ?? null, 'SIGKILL');
  };

  const begun = begin(child, launch, keeper).catch((error: unknown) => {
    unkept = errorName(error);
    kill();
  });

  const ended = new Promise<CommandEnd>((settle) => {
    child.once('error', (error) => {
      if (child.pid === undefined) settle(failedStart(errorName(error)));
    });
    child.once('exit', (exitCode, signal) => {
      over = true;
      clearTimeout(killTimer);
      // What the command left in the background ends with it. The group's number is still its own: at most its
      // leader has been waited for, in this very turn.
      signalGroup(child.pid ?? null, 'SIGKILL');
      void begun.then(() => keeper.release(child.pid ?? 0));
      drain(child, io, () =>
        settle(unkept === null ? { stopped, exitCode, signal, spawnFault: null } : failedStart(unkept)),
      );
    });
  });
  return {
    ended,
    stop(reason, graceMs) {
      if (over) return;
      stopped ??= reason;
      clearTimeout(killTimer);
      const target = launch.reportsChild ? inner() : (child.pid ?? null);
      // No group yet: the sandbox is still being set up, and nothing in it could use a warning.
      if (graceMs === 0 || !signalGroup(target, 'SIGTERM')) kill();
      else killTimer = setTimeout(kill, graceMs);
    },
  };
}

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

/** Opens the gate once the command is tied to this process. */
async function begin({ pid, stdio }: ChildProcess, { gated }: Launch, keeper: Keeper): Promise<void> {
  if (!gated || pid === undefined) return;
  const gate = stdio[3] as Writable | null | undefined;
  gate?.on('error', () => undefined);
  await keeper.hold(pid);
  gate?.end('go\n');
}

/** The process that leads the command's session inside of the sandbox, by its number out here. */
function readInnerPid(child: ChildProcess): () => number | null {
  let text = '';
  let pid: number | null = null;
  const pipe = child.stdio[4] as Readable | null | undefined;
  pipe
    ?.on('error', () => undefined)
    .on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const found = /"child-pid": (\d+)/.exec(text)?.[1];
      if (found !== undefined) pid = Number(found);
    });
  return () => pid;
}

/** False when there is no such group (any more). */
function signalGroup(pid: number | null, signal: NodeJS.Signals): boolean {
  if (pid === null || pid <= 1) return false;
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
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
