// Finds the programs of commands, on the PATH that they get. The bridge's own PATH is not used, because it may contain
// anything.
import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { PROBE_MS_MAX } from '../../../schemas/limits.ts';
import { HELPER_DIRECTORIES, findIn } from '../../../src/files/helper-programs.ts';
import type { Owner } from '../workspace/workspace.ts';

/** The directories of a command's PATH, that of the running node first, so that `node` is the version that the host runs on. */
export const programDirectories = (): readonly string[] => [
  ...new Set([dirname(realpathSync(process.execPath)), ...HELPER_DIRECTORIES]),
];

/** Whether a command finds a program by this name. */
export const isProgram = (name: string): boolean => findIn(programDirectories(), name) !== null;

/** Whether a program runs with `prefix` in front of it. It tries one, because an installed program may not work. */
export function worksInFront(prefix: readonly string[], identity: Owner | null): boolean {
  const [file, ...args] = prefix;
  const { status } = spawnSync(file as string, [...args, 'true'], {
    ...identity,
    cwd: '/',
    env: { PATH: HELPER_DIRECTORIES.join(':') },
    stdio: 'ignore',
    timeout: PROBE_MS_MAX,
  });
  return status === 0;
}
