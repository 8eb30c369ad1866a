// Ties commands to the bridge: a bridge that is killed takes its commands with it, and all that they had started. A
// process of its own, the keeper, is told each command's process group; its input ends with the bridge, however that
// ends, and then it kills the groups it was told of, in the order in which it was. A command waits at a gate until the keeper
// knows of it: with a bridge that is killed earlier, the gate never opens.
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

/**
 * To be put in front of a program: it begins at a line on descriptor 3, and never when that closes before. `keep`
 * leaves the descriptor open, for a second gate behind the first.
 */
export function gatePrefix(after: 'keep' | 'close'): readonly string[] {
  const shell = findProgram('sh');
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
      // Whatever ended it: what it held is held on.
      if (held.size === 0 || replaced === KEEPER_STARTS_MAX) return;
      replaced += 1;
      running = start();
      tell(running, held).catch(() => undefined);
    };
    child.once('exit', replace).once('error', replace);
    return child;
  };
  return {
    async hold(group) {
      held.add(group);
      for (let attempt = 1; ; attempt += 1) {
        const news = running === null ? held : [group];
        const told = (running ??= start());
        try {
          await tell(told, news);
          replaced = 0;
          return;
        } catch (error) {
          if (running === told) running = null;
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

// Polite signals do not concern it: it ends with the bridge. It may be told twice: no group is in its list twice.
const KEEPER = `
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
  case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac
  case $sign in +) groups="$groups$group " ;; esac
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

/** Settles when the kernel has the lines: the keeper reads them, also when this process is gone by then. */
function tell({ stdin }: ChildProcess, groups: Iterable<number>): Promise<void> {
  const lines = Array.from(groups, (group) => `+ ${group}\n`).join('');
  return new Promise((settle, fail) => {
    // Node types it as null; a process for which there were no descriptors has none at all.
    if (!stdin) fail(new Error('the keeper of commands could not be started'));
    else stdin.write(lines, (error) => (error ? fail(error) : settle()));
  });
}
