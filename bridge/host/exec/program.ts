// Finds programs on the path that commands get, and nowhere else: the bridge's own PATH may hold anything.
import { spawnSync } from 'node:child_process';
import { constants, accessSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { PROBE_MS_MAX } from '../../../schemas/limits.ts';
import type { Owner } from '../workspace/workspace.ts';

/** Directories of programs, that of this very node first: `node` means the version the host runs on. */
export const programDirectories = (): readonly string[] => [
  ...new Set([dirname(realpathSync(process.execPath)), '/usr/local/bin', '/usr/bin', '/bin']),
];

/** Absolute path of a program, or null. */
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

/** True when a program can be started with this in front of it: tried once, because what is installed may not work. */
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
