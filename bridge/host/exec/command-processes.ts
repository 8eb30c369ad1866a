// The processes of one command: the one that was started, which leads a group, and with a sandbox the one that leads
// the group inside of it. How they come to begin, and how both are ended.
//
// A sandbox takes a while to set up, and for a part of that its inside is in no group that is known out here, and not
// yet tied to its outside. So nothing is started before the keeper knows the outer group, and the command begins only
// when it knows the inner one too: whatever ends the bridge or the sandbox in between, the second gate stays closed.
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { ToolFault } from '../outcome.ts';
import type { Keeper } from './keeper.ts';
import type { Launch } from './sandbox.ts';

export interface CommandProcesses {
  /** Settles when the command may begin; rejects when it cannot be tied to the bridge, or has no sandbox. */
  readonly begun: Promise<void>;
  /** False when there is nothing yet, or not any more, that could be told. */
  warn(): boolean;
  /** Ends all of it by force, also a command that has not begun. */
  kill(): void;
  /** For the moment when the process that was started has ended, by a signal or by itself. */
  bury(signal: NodeJS.Signals | null): void;
}

export interface StartedProcess {
  readonly child: ChildProcess;
  readonly outer: number;
  readonly launch: Launch;
}

export function superviseProcesses({ child, outer, launch }: StartedProcess, keeper: Keeper): CommandProcesses {
  const inner = launch.reportsChild ? readInner(child) : null;
  const gate = child.stdio[3] as Writable | null | undefined;
  gate?.on('error', () => undefined);
  let open = !launch.gated;

  async function begin(): Promise<void> {
    if (!launch.gated) return;
    await keeper.hold(outer);
    if (inner !== null) {
      gate?.write('go\n');
      const pid = await inner.told;
      if (pid === null) throw new ToolFault('spawn_failed', 'the sandbox could not be set up');
      await keeper.hold(pid);
    }
    open = true;
    gate?.end('go\n');
  }
  const kill = (): void => {
    signalGroup(outer, 'SIGKILL');
    // Second: until it leads a group of its own, it is in the other.
    signalGroup(inner?.pid() ?? null, 'SIGKILL');
    // Last, so that what waits there ends by the signal; nothing is said at the gate between these.
    gate?.destroy();
  };
  const begun = begin();
  return {
    begun,
    warn: () => open && signalGroup(inner === null ? outer : inner.pid(), 'SIGTERM'),
    kill,
    bury(signal) {
      // What the command left in the background ends with it. The group's number is still its own: at most its
      // leader has been waited for, in this very turn. The inner one ends with its sandbox, but for one that somebody
      // else ended while it was set up.
      if (signal === null) signalGroup(outer, 'SIGKILL');
      else kill();
      const release = (): void => {
        for (const pid of [outer, inner?.pid() ?? null]) if (pid !== null) keeper.release(pid);
      };
      begun.then(release, release);
    },
  };
}

interface Inner {
  /** Null as long as it is not known. */
  pid(): number | null;
  /** Null when it will never be known. */
  readonly told: Promise<number | null>;
}

/** The process that leads the command's session inside of the sandbox, by its number out here. */
function readInner(child: ChildProcess): Inner {
  let text = '';
  let pid: number | null = null;
  const pipe = child.stdio[4] as Readable | null | undefined;
  const told = new Promise<number | null>((settle) => {
    if (!pipe) settle(null);
    pipe
      ?.on('error', () => undefined)
      .on('close', () => settle(null))
      .on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        const found = /"child-pid": (\d+)/.exec(text)?.[1];
        if (found === undefined) return;
        pid = Number(found);
        settle(pid);
      });
  });
  return { pid: () => pid, told };
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
