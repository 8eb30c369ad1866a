// Ties a command to the bridge: a bridge that is killed takes its commands with it. The kernel sends the signal, but
// only for a parent that dies after it was asked to; so the parent is looked at once more before the command begins.
import type { Owner } from '../workspace/workspace.ts';
import { findProgram, worksInFront } from './program.ts';

/** To be put in front of a command; empty where setpriv(1) cannot ask for it. Only the first process is tied. */
export function tetherPrefix(identity: Owner | null): readonly string[] {
  const setpriv = process.platform === 'linux' ? findProgram('setpriv') : null;
  const shell = findProgram('sh');
  if (setpriv === null || shell === null) return [];
  const check = `[ "$PPID" = "${process.pid}" ] && exec "$@"`;
  const prefix = [setpriv, '--pdeathsig', 'KILL', '--', shell, '-c', check, 'sh'];
  return worksInFront(prefix, identity) ? prefix : [];
}

/**
 * To be put in front of a command inside the sandbox: it says on descriptor 4 that it could begin, and begins when it
 * is answered. By then every process of the sandbox is tied to the one before it; killed earlier, nothing begins.
 */
export function gatePrefix(): readonly string[] {
  const shell = findProgram('sh');
  return shell === null ? [] : [shell, '-c', 'echo ready >&4 && read -r go <&4 && exec "$@" 4>&-', 'sh'];
}
