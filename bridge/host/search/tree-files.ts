// The files that a search visits, and their order. One rule for grep and glob: every regular file below the searched
// directory, including hidden ones, except those in a directory named `.git` or `node_modules`. Ignore files are not read,
// symbolic links are not followed. A search that starts inside such a directory visits it. Files are sorted by path, by
// UTF-16 code unit, so that the order depends on no clock, locale or directory order.
import { readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PATH_DEPTH_MAX, TREE_ENTRIES_MAX, TREE_YIELD_EVERY } from '../../../schemas/limits.ts';
import { withDirectory } from '../workspace/directory.ts';
import { isTemporaryName } from '../workspace/replace-file.ts';
import type { Workspace } from '../workspace/workspace.ts';

export interface Tree {
  /** The names that lead to each file, from the searched directory downwards. */
  readonly files: readonly (readonly string[])[];
  /** The tree has more entries than one search visits; the rest was not visited. */
  readonly truncated: boolean;
}

const SKIPPED_DIRECTORIES: ReadonlySet<string> = new Set(['.git', 'node_modules']);

export async function listTree(workspace: Workspace, base: readonly string[], signal: AbortSignal): Promise<Tree> {
  const files: { readonly names: readonly string[]; readonly path: string }[] = [];
  const waiting: (readonly string[])[] = [[]];
  let seen = 0;
  for (let read = 0; waiting.length > 0 && seen < TREE_ENTRIES_MAX; read += 1) {
    const below = waiting.pop() as readonly string[];
    const { directories, regular } = readNames(workspace, base, below);
    for (const name of regular) files.push({ names: [...below, name], path: [...below, name].join('/') });
    // `pop` takes the last one: reversed, the first name is visited first, and a truncated tree always ends at the same place.
    for (const name of directories.toReversed()) waiting.push([...below, name]);
    seen += directories.length + regular.length;
    if (read % TREE_YIELD_EVERY === TREE_YIELD_EVERY - 1) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files: files.map(({ names }) => names), truncated: waiting.length > 0 };
}

/** The files that are wanted, in the same order. Matching can take long, so it regularly lets other work run. */
export async function filterFiles(
  files: Tree['files'],
  isWanted: (names: readonly string[]) => boolean,
  signal: AbortSignal,
): Promise<Tree['files']> {
  const wanted: (readonly string[])[] = [];
  for (const [index, names] of files.entries()) {
    if (isWanted(names)) wanted.push(names);
    if (index % TREE_YIELD_EVERY === TREE_YIELD_EVERY - 1) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }
  return wanted;
}

interface Names {
  readonly directories: readonly string[];
  readonly regular: readonly string[];
}

function readNames(workspace: Workspace, base: readonly string[], below: readonly string[]): Names {
  const names = [...base, ...below];
  try {
    return withDirectory(workspace.root, names, ({ location }) => {
      const entries = readdirSync(location, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
      const kept = entries.filter(({ name }) => !isTemporaryName(name));
      const atDepthMax = names.length >= PATH_DEPTH_MAX - 1;
      return {
        directories: atDepthMax
          ? []
          : kept.filter((e) => e.isDirectory() && !SKIPPED_DIRECTORIES.has(e.name)).map((e) => e.name),
        regular: kept.filter((entry) => entry.isFile()).map((entry) => entry.name),
      };
    });
  } catch (error) {
    // Below the searched directory, a directory that vanished, changed or denies access is left out.
    if (below.length === 0) throw error;
    return { directories: [], regular: [] };
  }
}

/** The line that reports a truncated tree; empty when it is complete. */
export const truncationNote = ({ truncated }: Tree): string =>
  truncated ? '\n[the tree has more entries than one search visits; search in a subdirectory to see the rest]' : '';
