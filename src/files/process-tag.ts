// Tells whether the process that wrote a file is still there. A process number alone does not: it is used again. The
// tag also names when the process began, since which boot, and in which container.
import { readFileSync, readlinkSync } from 'node:fs';

/** `<pid>.<start>.<boot>.<namespace>`: letters, digits and dots only. */
export const tagOf = (pid: number): string => `${pid}.${startOf(pid) ?? '0'}.${placeOf()}`;

/** False for a process of another boot or container as well: a directory of ledgers belongs to one of them. */
export function isAlive(tag: string): boolean {
  const [pid = '', start = '', ...place] = tag.split('.');
  if (!/^\d+$/.test(pid) || place.join('.') !== placeOf()) return false;
  return start === '0' ? answers(Number(pid)) : startOf(Number(pid)) === start;
}

/** When it began, in clock ticks since the boot; null when it is not there, or has ended and was not waited for. */
function startOf(pid: number): string | null {
  // The name of the program stands in brackets and may hold anything; the fields are counted from its end.
  const fields = contentOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
  const [state = ''] = fields;
  return /^[RSDTtIWPK]$/.test(state) ? (fields[19] ?? null) : null;
}

function placeOf(): string {
  const boot = contentOf('/proc/sys/kernel/random/boot_id').slice(0, 8);
  try {
    return `${boot}.${/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'}`;
  } catch {
    return `${boot}.0`;
  }
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // Not a Linux, or no such process.
    return '';
  }
}

function answers(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
