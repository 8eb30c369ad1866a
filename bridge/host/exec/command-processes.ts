// The processes of one command: the started process, which leads a process group, and with a sandbox the process that
// leads the group inside it. This file starts the command once it is safe, and ends both groups.
//
// A sandbox takes time to set up. For part of that time its inner process is in a group that is not known outside, and
// does not yet end with the outer process. So the sandbox starts only after the keeper holds the outer group, and the
// command starts only after the keeper holds the inner group too, and after the mounts were checked: if the bridge or the
// sandbox ends in between, the second gate never opens.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { SANDBOX_POLL_MS } from '../../../schemas/limits.ts';
import { ToolFault, errorName } from '../outcome.ts';
import type { Keeper } from './keeper.ts';
import type { Launch, LaunchedSandbox } from './sandbox.ts';

export interface CommandProcesses {
  /** Resolves when the command has started; rejects when the keeper cannot hold its groups, or its sandbox fails. */
  readonly started: Promise<void>;
  /** Sends SIGTERM. False when the command has not started, or has ended. */
  terminate(): boolean;
  /** Kills every process, also before the command has started. */
  kill(): void;
  /** Call it when the started process exits, with the signal that ended it, if one did. */
  onExit(signal: NodeJS.Signals | null): void;
}

export interface StartedProcess {
  readonly child: ChildProcess;
  readonly outer: number;
  readonly launch: Launch;
}

export function superviseProcesses({ child, outer, launch }: StartedProcess, keeper: Keeper): CommandProcesses {
  const { sandbox } = launch;
  const inner = sandbox === null ? null : readInnerPid(child);
  const gate = child.stdio[3] as Writable | null | undefined;
  gate?.on('error', () => undefined);
  const setUp = (child.stdio as readonly unknown[])[5] as Writable | null | undefined;
  setUp?.on('error', () => undefined);
  let open = !launch.gated;
  let stopped = false;

  async function start(): Promise<void> {
    if (!launch.gated && sandbox === null) return;
    await keeper.hold(outer);
    if (inner !== null && sandbox !== null) {
      gate?.write('go\n');
      const pid = await inner.reported;
      if (pid === null) throw notSetUp();
      await keeper.hold(pid);
      if (sandbox.waits) {
        // The inner process would not end with the outer one yet.
        if (stopped || !(await checkSetUp(child, pid, sandbox)) || isEnding(outer)) return;
        setUp?.end('go\n');
      }
    }
    open = true;
    gate?.end('go\n');
  }
  const kill = (): void => {
    stopped = true;
    signalGroup(outer, 'SIGKILL');
    // After the outer group: the inner process is in that one until it leads its own.
    signalGroup(inner?.pid() ?? null, 'SIGKILL');
    // Last, so that a process that waits at the gate ends by the signal. Nothing is written to the gate in between.
    gate?.destroy();
    setUp?.destroy();
  };
  const started = start();
  return {
    started,
    terminate: () => open && signalGroup(inner === null ? outer : inner.pid(), 'SIGTERM'),
    kill,
    onExit(signal) {
      // Background processes of the command end with it. The group id cannot have been reused: at most the leader has been
      // reaped, in this turn of the event loop. The inner group ends with its sandbox, unless a signal ended the sandbox during set-up.
      if (signal === null) signalGroup(outer, 'SIGKILL');
      else kill();
      const release = (): void => {
        for (const pid of [outer, inner?.pid() ?? null]) if (pid !== null) keeper.release(pid);
      };
      started.then(release, release);
    },
  };
}

/**
 * A sandbox says nothing when it is set up, so it is asked. The end of the command's time ends it, and this, too. False when a
 * signal ended it meanwhile: then nothing of the command runs.
 */
async function checkSetUp(child: ChildProcess, pid: number, sandbox: LaunchedSandbox): Promise<boolean> {
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  try {
    while (!hasEnded() && !sandbox.isSetUp(pid)) await setTimeout(SANDBOX_POLL_MS);
    if (!hasEnded()) {
      sandbox.check(pid);
      return true;
    }
  } catch (error) {
    if (error instanceof ToolFault) throw error;
    // The inner process has ended, so the outer one ends; or this process may not look at it.
    if (!GONE.has(errorName(error))) throw notSetUp();
    if (!hasEnded()) await once(child, 'exit');
  }
  if (child.signalCode === null) throw notSetUp();
  return false;
}

/** Whether a process has ended, or SIGKILL is about to end it: this process hears of it only later. */
function isEnding(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const [, pending = '0'] = /^ShdPnd:\s*([0-9a-f]+)$/m.exec(status) ?? [];
    return /^State:\s*[ZX]/m.test(status) || (BigInt(`0x${pending}`) & SIGKILL_BIT) !== 0n;
  } catch {
    return true;
  }
}

const SIGKILL_BIT = 1n << 8n;

/** What reading of a process in /proc answers when there is none, or its end has begun. */
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ESRCH', 'EINVAL']);

const notSetUp = (): ToolFault => new ToolFault('spawn_failed', 'the sandbox could not be set up');

interface InnerPid {
  /** Null until it is known. */
  pid(): number | null;
  /** Resolves to null when the sandbox ends without reporting it. */
  readonly reported: Promise<number | null>;
}

/** The process that leads the command's session inside the sandbox, by its pid outside. */
function readInnerPid(child: ChildProcess): InnerPid {
  let text = '';
  let pid: number | null = null;
  const pipe = child.stdio[4] as Readable | null | undefined;
  const reported = new Promise<number | null>((resolve) => {
    if (!pipe) resolve(null);
    pipe
      ?.on('error', () => undefined)
      .on('close', () => resolve(null))
      .on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        const found = /"child-pid": (\d+)/.exec(text)?.[1];
        if (found === undefined) return;
        pid = Number(found);
        resolve(pid);
      });
  });
  return { pid: () => pid, reported };
}

/** False when there is no such group, or it has ended. */
function signalGroup(pid: number | null, signal: NodeJS.Signals): boolean {
  if (pid === null || pid <= 1) return false;
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
