// Where refold looks up the programs that it runs outside every sandbox: `bwrap`, `sh`, `prlimit`, and the one that opens a
// browser. Never on the PATH it got, which may begin with a directory that a model can write, such as the `node_modules/.bin`
// that npx puts there.
import { accessSync, constants } from 'node:fs';

export const HELPER_DIRECTORIES: readonly string[] = ['/usr/local/bin', '/usr/bin', '/bin'];

/** The absolute path of a helper program, or null. The directory of node is not searched: a project may contain it. */
export const findHelper = (name: string): string | null => findIn(HELPER_DIRECTORIES, name);

/** The absolute path of a program in the first of these directories that has it, or null. */
export function findIn(directories: readonly string[], name: string): string | null {
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
