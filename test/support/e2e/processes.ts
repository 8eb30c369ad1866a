// Processes of a test by what the system knows of them.
import { readFileSync, readdirSync } from 'node:fs';

const contentOf = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It has ended meanwhile, or is not ours.
    return '';
  }
};

/** Processes whose environment has this variable with this value, and that have not ended. */
export function processesWith(name: string, value: string): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => contentOf(`/proc/${pid}/environ`).split('\0').includes(`${name}=${value}`));
}

/** The processes above this one, its parent first. */
export function ancestorsOf(pid: number): readonly number[] {
  const parent = Number(contentOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ')[1] ?? 0);
  return parent > 1 ? [parent, ...ancestorsOf(parent)] : [];
}
