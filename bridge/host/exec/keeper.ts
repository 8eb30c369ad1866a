// Ties commands to the bridge: a bridge that is killed takes its commands with it, and all that they had started. A
// process of its own, the keeper, is told each command's process group; its input ends with the bridge, however that
// ends, and then it kills the groups it was told of. A command waits at a gate until the keeper knows of it: with a
// bridge that is killed earlier, the gate never opens.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { KEEPER_STARTS_MAX } from '../../../schemas/limits.ts';
import { findProgram } from './program.ts';

export interface Keeper {
  /** Settles once the group would end with this process; rejects when there can be no keeper. */
  hold(group: number): Promise<void>;
  /** For a group that is over: its number may become another's. */
  release(group: number): void;
  /** Ends the keeper, and with it the groups that it still holds. */
  close(): void;
}

/** To be put in front of a command: it begins when descriptor 3 says so, and never when that closes before. */
export function gatePrefix(): readonly string[] {
  const shell = findProgram('sh');
  return shell === null ? [] : [shell, '-c', 'read -r go <&3 && exec "$@" 3<&-', 'sh'];
}

export function openKeeper(): Keeper {
  const held = new Set<number>();
  let running: ChildProcess | null = null;
  const start = (): ChildProcess => {
    const child = startKeeper();
    // One that ended is replaced when the next command begins.
    const forget = (): void => {
      if (running === child) running = null;
    };
    child.once('exit', forget).once('error', forget);
    for (const group of held) child.stdin?.write(`+ ${group}\n`);
    return child;
  };
  return {
    async hold(group) {
      for (let attempt = 1; ; attempt += 1) {
        running ??= start();
        try {
          await tell(running, `+ ${group}\n`);
          held.add(group);
          return;
        } catch (error) {
          running = null;
          if (attempt === KEEPER_STARTS_MAX) throw error;
        }
      }
    },
    release(group) {
      if (held.delete(group)) running?.stdin?.write(`- ${group}\n`);
    },
    close: () => void running?.stdin?.end(),
  };
}

// Polite signals do not concern it: it ends with the bridge.
const KEEPER = `
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done`;

function startKeeper(): ChildProcess {
  const child = spawn(findProgram('sh') ?? 'sh', ['-c', KEEPER], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Neither may keep the bridge's process from ending.
  child.unref();
  (child.stdin as Socket | null)?.on('error', () => undefined).unref();
  return child;
}

/** Settles when the kernel has the line: the keeper reads it, also when this process is gone by then. */
function tell({ stdin }: ChildProcess, line: string): Promise<void> {
  return new Promise((settle, fail) => {
    if (stdin === null) fail(new Error('the keeper of commands could not be started'));
    else stdin.write(line, (error) => (error ? fail(error) : settle()));
  });
}
