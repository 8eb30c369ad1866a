// What the sandbox of one command does not let it change or see in the directories that are mounted, and the flags of
// bubblewrap for it, which follow the mounts. Every directory above such a path is a mount of its own, which cannot be renamed:
// else a command could move the path away from under the flags of the next one.
//
// bubblewrap gets paths and follows links. So a path is a shield only when the walk from the workspace's handle leads to it
// without a link, and `check-mounts.ts` compares what was mounted before the command starts.
import { dirname, join, relative } from 'node:path';
import type { GitEntry } from '../git/git-entries.ts';
import { ToolFault } from '../outcome.ts';
import { lookUp, withDirectory } from '../workspace/directory.ts';
import { isWithin } from '../workspace/mounts.ts';
import type { HiddenPath } from '../workspace/protected-places.ts';
import type { Workspace } from '../workspace/workspace.ts';

export interface Shield {
  readonly path: string;
  /** `above`: it holds other shields, and is writable. `hidden`: shown empty, as a directory or a file. */
  readonly as: 'above' | 'read-only' | 'hidden-directory' | 'hidden-file';
  /** Device and inode of what is shown; null where nothing of it is. */
  readonly id: string | null;
}

/**
 * In the order of mounting. `readOnly`: git directories of the workspace, to which refold's own code in it is added. `mounted`:
 * the other directories that the sandbox shows. Throws when a link has been put on the way to what must be hidden.
 */
export function shieldsIn(
  workspace: Workspace,
  readOnly: readonly GitEntry[],
  mounted: readonly string[],
): readonly Shield[] {
  const git = readOnly.map(({ names }) => join(workspace.path, ...names));
  const fixed = outermost([...new Set([...git, ...workspace.code.shown()])]).flatMap((path) =>
    shieldAt(workspace, path, 'read-only'),
  );
  const hidden = workspace.places.hiddenIn([workspace.path, ...mounted]).map((place) => hide(workspace, place));
  const above = directoriesAbove(workspace.path, [...fixed, ...hidden]).flatMap((path) =>
    shieldAt(workspace, path, 'above'),
  );
  return [...above, ...fixed, ...hidden];
}

export const shieldFlags = (shields: readonly Shield[]): readonly string[] =>
  shields.flatMap(({ path, as }) => {
    if (as === 'above') return ['--bind', path, path];
    if (as === 'read-only') return ['--ro-bind', path, path];
    return as === 'hidden-directory' ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path];
  });

/** None for a symbolic link, which a mount would follow, for what is behind one, and for what is gone. */
function shieldAt(workspace: Workspace, path: string, as: Shield['as']): readonly Shield[] {
  const stats = walkTo(workspace, path);
  if (stats?.isDirectory() !== true && stats?.isFile() !== true) return [];
  return [{ path, as, id: `${stats.dev}:${stats.ino}` }];
}

function hide(workspace: Workspace, { path, isDirectory }: HiddenPath): Shield {
  const stats = isWithin(path, workspace.path) ? walkTo(workspace, path) : undefined;
  if (stats === null || (stats !== undefined && stats.isDirectory() !== isDirectory))
    throw new ToolFault(
      'forbidden',
      `${path}, where refold keeps its own data, is behind a symbolic link that was made in the workspace; no command runs ` +
        'until a person removes the link',
    );
  return { path, as: isDirectory ? 'hidden-directory' : 'hidden-file', id: null };
}

/** What a path in the workspace leads to without a link; null for nothing. What no tool may open is found by its name. */
function walkTo({ root, path: workspace }: Workspace, path: string): ReturnType<typeof lookUp> {
  const names = relative(workspace, path).split('/');
  try {
    return withDirectory(root, names.slice(0, -1), (directory) => lookUp(directory, names.at(-1) as string));
  } catch (error) {
    if (error instanceof ToolFault) return null;
    throw error;
  }
}

/** The directories between the workspace and these, the outermost first. */
function directoriesAbove(workspace: string, shields: readonly Shield[]): readonly string[] {
  const above = new Set<string>();
  for (const { path } of shields) {
    for (let at = dirname(path); at !== workspace && isWithin(at, workspace) && !above.has(at); at = dirname(at)) {
      above.add(at);
    }
  }
  return byDepth([...above]);
}

const byDepth = (paths: readonly string[]): readonly string[] => paths.toSorted((a, b) => a.length - b.length);

const outermost = (paths: readonly string[]): readonly string[] =>
  byDepth(paths).filter((path) => !paths.some((other) => other !== path && isWithin(path, other)));
