// File descriptors that the parent of this process left open: every process started from here would inherit them. Neither
// Node nor a shell (Debian's knows single-digit descriptors only) can close them when a command starts. A process of refold
// closes them before it starts any; in another program, which may use them, each command gets /dev/null in their place.
import { closeSync, readFileSync, readdirSync } from 'node:fs';

/** O_CLOEXEC, in octal as in /proc/self/fdinfo: started processes do not inherit the descriptor. */
const CLOSED_ON_EXEC = 0o2_000_000;

/** The inheritable descriptors except the standard ones; none on a system without /proc. */
export function inheritedDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((fd) => fd > 2 && isInheritable(fd));
  } catch {
    return [];
  }
}

/** How many descriptors this process may open: it can put nothing in place of one with a higher number. */
export function descriptorLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return soft === undefined ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
}

export function closeDescriptors(descriptors: readonly number[]): void {
  for (const fd of descriptors) closeSync(fd);
}

function isInheritable(fd: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // The descriptor with which the directory was listed is closed by now.
    return false;
  }
}
