// What the sandbox of one command does not let it change or see in the directories that are mounted, as flags of bubblewrap
// that follow the mounts. Every directory above such a path is a mount of its own, which cannot be renamed: else a command
// could move the path away from under the flags of the next one.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GitEntry } from '../git/git-entries.ts';
import { lookUp, withDirectory } from '../workspace/directory.ts';
import { isWithin } from '../workspace/mounts.ts';
import { ownCodeIn } from '../workspace/own-code.ts';
import type { Workspace } from '../workspace/workspace.ts';

/** `readOnly`: git directories of the workspace, to which refold's own code in it is added. `mounted`: the other directories that the sandbox shows. */
export function shieldFlags(
  workspace: Workspace,
  readOnly: readonly GitEntry[],
  mounted: readonly string[],
): readonly string[] {
  const git = readOnly
    .filter((entry) => canBeMounted(workspace, entry))
    .map(({ names }) => join(workspace.path, ...names));
  const fixed = [...git, ...ownCodeIn(workspace.path).filter((path) => existsSync(path))];
  const hidden = workspace.places.hiddenIn([workspace.path, ...mounted]);
  const above = directoriesAbove(workspace.path, [...fixed, ...hidden.map(({ path }) => path)]);
  return [
    ...above.flatMap((path) => ['--bind', path, path]),
    ...byDepth(fixed).flatMap((path) => ['--ro-bind', path, path]),
    ...hidden.flatMap(({ path, isDirectory }) =>
      isDirectory ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path],
    ),
  ];
}

/** False for a symbolic link, which a mount would follow, and for an entry that is gone. */
function canBeMounted({ root }: Workspace, { names }: GitEntry): boolean {
  const name = names.at(-1);
  if (name === undefined) return true;
  const stats = withDirectory(root, names.slice(0, -1), (directory) => lookUp(directory, name));
  return stats?.isDirectory() === true || stats?.isFile() === true;
}

/** The directories between the workspace and these paths, the outermost first. */
function directoriesAbove(workspace: string, paths: readonly string[]): readonly string[] {
  const above = new Set<string>();
  for (const path of paths) {
    for (let at = dirname(path); at !== workspace && isWithin(at, workspace) && !above.has(at); at = dirname(at)) {
      above.add(at);
    }
  }
  return byDepth([...above]);
}

const byDepth = (paths: readonly string[]): readonly string[] => paths.toSorted((a, b) => a.length - b.length);
