// Finds the programs of commands, on the PATH that they get, and refold's own helper programs, which run outside every
// sandbox. The bridge's own PATH is not used, because it may contain anything.
import { spawnSync } from 'node:child_process';
import { constants, accessSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { PROBE_MS_MAX } from '../../../schemas/limits.ts';
import { HELPER_DIRECTORIES } from '../workspace/own-code.ts';
import type { Owner } from '../workspace/workspace.ts';

/** The directories of a command's PATH, that of the running node first, so that `node` is the version that the host runs on. */
export const programDirectories = (): readonly string[] => [
  ...new Set([dirname(realpathSync(process.execPath)), ...HELPER_DIRECTORIES]),
];

/** Whether a command finds a program by this name. */
export const isProgram = (name: string): boolean => findIn(programDirectories(), name) !== null;

/** The absolute path of a helper program, or null. The directory of node is not searched: a project may contain it. */
export const findHelper = (name: string): string | null => findIn(HELPER_DIRECTORIES, name);

function findIn(directories: readonly string[], name: string): string | null {
  for (const directory of directories) {
    try {
      accessSync(`${directory}/${name}`, constants.X_OK);
      return `${directory}/${name}`;
    } catch {
      // Not in this directory.
    }
  }
  return null;
}

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
