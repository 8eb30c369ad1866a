// Finds processes through /proc.
import { readFileSync, readdirSync } from 'node:fs';

const contentOf = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // The process has ended, or belongs to another user.
    return '';
  }
};

const pids = (): readonly number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);

/** Live processes whose environment has this variable with this value. */
export const processesWith = (name: string, value: string): readonly number[] =>
  pids().filter((pid) => contentOf(`/proc/${pid}/environ`).split('\0').includes(`${name}=${value}`));

/** Live processes, except this one, whose command line contains the marker. */
export const processesNaming = (marker: string): readonly number[] =>
  pids().filter((pid) => pid !== process.pid && contentOf(`/proc/${pid}/cmdline`).includes(marker));

/** The ancestors of this process, its parent first. */
export function ancestorsOf(pid: number): readonly number[] {
  const parent = Number(contentOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ')[1] ?? 0);
  return parent > 1 ? [parent, ...ancestorsOf(parent)] : [];
}

let markers = 0;
/** An argument unique to this test process. */
export const newMarker = (): string => `refold-mark-${process.pid}-${(markers += 1)}`;
