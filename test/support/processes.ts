// Processes by what the system knows of them.
import { readFileSync, readdirSync } from 'node:fs';

const contentOf = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It has ended meanwhile, or is not ours.
    return '';
  }
};

const pids = (): readonly number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);

/** Processes whose environment has this variable with this value, and that have not ended. */
export const processesWith = (name: string, value: string): readonly number[] =>
  pids().filter((pid) => contentOf(`/proc/${pid}/environ`).split('\0').includes(`${name}=${value}`));

/** Processes but this one whose command line holds the marker, and that have not ended. */
export const processesNaming = (marker: string): readonly number[] =>
  pids().filter((pid) => pid !== process.pid && contentOf(`/proc/${pid}/cmdline`).includes(marker));

/** The processes above this one, its parent first. */
export function ancestorsOf(pid: number): readonly number[] {
  const parent = Number(contentOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ')[1] ?? 0);
  return parent > 1 ? [parent, ...ancestorsOf(parent)] : [];
}

let markers = 0;
/** An argument that no other process has. */
export const newMarker = (): string => `refold-mark-${process.pid}-${(markers += 1)}`;
