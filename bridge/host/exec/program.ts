// Finds programs on the path that commands get, and nowhere else: the bridge's own PATH may hold anything.
import { constants, accessSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

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
