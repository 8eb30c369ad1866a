// Ends commands together with the bridge: when the bridge is killed, its commands and everything they started must end
// too. A separate process, the keeper, receives the process group of each command. Its standard input closes when the
// bridge ends, however that happens, and then it kills the groups it holds, in the order in which it received them. A
// command waits at a gate until the keeper holds its group; if the bridge is killed before, the gate never opens.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { KEEPER_STARTS_MAX } from '../../../schemas/limits.ts';
import { findHelper } from '../../../src/files/helper-programs.ts';

export interface Keeper {
  /** Resolves once the group would end with this process; rejects when no keeper can be started. */
  hold(group: number): Promise<void>;
  /** Call it when a group has ended: its id may be reused. */
  release(group: number): void;
  /** Ends the keeper, and the groups that it still holds. */
  close(): void;
}

/**
 * Arguments to put in front of a program. The program starts when a line arrives on descriptor 3, and never if the
 * descriptor closes first. `keep` leaves the descriptor open, for a second gate behind the first.
 */
export function startGate(after: 'keep' | 'close'): readonly string[] {
  const shell = findHelper('sh');
  if (shell === null) return [];
  return [shell, '-c', `read -r go <&3 && exec "$@"${after === 'close' ? ' 3<&-' : ''}`, 'sh'];
}

export function openKeeper(): Keeper {
  const held = new Set<number>();
  let running: ChildProcess | null = null;
  let replaced = 0;
  const start = (): ChildProcess => {
    const child = startKeeper();
    const replace = (): void => {
      if (running !== child) return;
      running = null;
      // However this keeper ended, its groups need a new one.
      if (held.size === 0 || replaced === KEEPER_STARTS_MAX) return;
      replaced += 1;
      running = start();
      sendGroups(running, held).catch(() => undefined);
    };
    child.once('exit', replace).once('error', replace);
    return child;
  };
  return {
    async hold(group) {
      held.add(group);
      for (let attempt = 1; ; attempt += 1) {
        const groups = running === null ? held : [group];
        const keeper = (running ??= start());
        try {
          await sendGroups(keeper, groups);
          replaced = 0;
          return;
        } catch (error) {
          if (running === keeper) running = null;
          if (attempt < KEEPER_STARTS_MAX) continue;
          held.delete(group);
          throw error;
        }
      }
    },
    release(group) {
      if (held.delete(group)) running?.stdin?.write(`- ${group}\n`);
    },
    close() {
      running?.stdin?.end();
      running = null;
    },
  };
}

// It ignores HUP, INT and TERM, because it ends with the bridge. A group that arrives twice is in the list once.
const KEEPER = `
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
  case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac
  case $sign in +) groups="$groups$group " ;; esac
done
for group in $groups; do kill -s KILL -- "-$group"; done`;

function startKeeper(): ChildProcess {
  const child = spawn(findHelper('sh') ?? 'sh', ['-c', KEEPER], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Neither the process nor its pipe may keep the bridge from exiting.
  child.unref();
  (child.stdin as Socket | null)?.on('error', () => undefined).unref();
  return child;
}

/** Resolves when the kernel has the lines: the keeper reads them even if this process has ended by then. */
function sendGroups({ stdin }: ChildProcess, groups: Iterable<number>): Promise<void> {
  const lines = Array.from(groups, (group) => `+ ${group}\n`).join('');
  return new Promise((resolve, reject) => {
    // Node types a missing pipe as null; it is undefined when spawn found no free descriptor.
    if (!stdin) reject(new Error('the process that ends commands together with the bridge could not be started'));
    else stdin.write(lines, (error) => (error ? reject(error) : resolve()));
  });
}
