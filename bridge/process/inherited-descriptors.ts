// What whoever started this process left open: every process that is started from here would get it too. Node keeps the
// lowest descriptors to itself, and neither it nor a shell (that of Debian knows single digits only) can close the others
// on the way to a command. So the process itself closes them, before it starts any.
import { closeSync, readFileSync, readdirSync } from 'node:fs';

/** Octal, as /proc/self/fdinfo has it: does not go to processes that are started. */
const CLOSED_ON_EXEC = 0o2_000_000;

/** Descriptors but the standard ones that processes started from here get; none where there is no /proc to tell. */
export function inheritedDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((fd) => fd > 2 && isPassedOn(fd));
  } catch {
    return [];
  }
}

export function closeDescriptors(descriptors: readonly number[]): void {
  for (const fd of descriptors) closeSync(fd);
}

function isPassedOn(fd: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // The one that they were listed with.
    return false;
  }
}
