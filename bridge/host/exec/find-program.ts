// Finds programs on the PATH that commands get. The bridge's own PATH is not used, because it may contain anything.
import { spawnSync } from 'node:child_process';
import { constants, accessSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { PROBE_MS_MAX } from '../../../schemas/limits.ts';
import type { Owner } from '../workspace/workspace.ts';

/** The directories of PATH, that of the running node first, so that `node` is the version that the host runs on. */
export const programDirectories = (): readonly string[] => [
  ...new Set([dirname(realpathSync(process.execPath)), '/usr/local/bin', '/usr/bin', '/bin']),
];

/** The absolute path of a program, or null. */
export function findProgram(name: string): string | null {
  for (const directory of programDirectories()) {
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
    env: { PATH: programDirectories().join(':') },
    stdio: 'ignore',
    timeout: PROBE_MS_MAX,
  });
  return status === 0;
}
