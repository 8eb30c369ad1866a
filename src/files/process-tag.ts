// Finds out whether the process that wrote a file still runs. A process id is not enough, because ids are reused: the
// tag also contains the start time of the process, the boot, and the container.
import { readFileSync, readlinkSync } from 'node:fs';

/** `<pid>.<start>.<boot>.<namespace>`: letters, digits and dots only. */
export const processTagOf = (pid: number): string => `${pid}.${startOf(pid) ?? '0'}.${placeOf()}`;

/** False also for a process of another boot or container: a directory of ledgers belongs to one of them. */
export function isAlive(tag: string): boolean {
  const [pid = '', start = '', ...place] = tag.split('.');
  if (!/^\d+$/.test(pid) || place.join('.') !== placeOf()) return false;
  return start === '0' ? answers(Number(pid)) : startOf(Number(pid)) === start;
}

/** When it started, in clock ticks since the boot; null when it does not exist, or is a zombie. */
function startOf(pid: number): string | null {
  // The name of the program is in brackets and may contain anything, so fields are counted from its end.
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
    // Not Linux, or no such process.
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
