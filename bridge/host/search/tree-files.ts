// Which files a search sees, in which order. One rule for grep and glob: every regular file below the searched
// directory, hidden ones too, except what lies in a directory named `.git` or `node_modules`; ignore files have no
// say, symbolic links are not followed. A search that starts inside such a directory sees it. Sorted by path, by
// UTF-16 code unit: no clock, no locale and no directory order comes into it.
import { readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PATH_DEPTH_MAX, TREE_ENTRIES_MAX, TREE_YIELD_EVERY } from '../../../schemas/limits.ts';
import { withDirectory } from '../workspace/directory.ts';
import { isTemporaryName } from '../workspace/replace-file.ts';
import type { Workspace } from '../workspace/workspace.ts';

export interface Tree {
  /** Names of each file, from the searched directory downwards. */
  readonly files: readonly (readonly string[])[];
  /** The tree has more entries than one search visits; the rest was not seen. */
  readonly cut: boolean;
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
    // Taken from the end: the first name comes first, and a cut tree is cut at the same place every time.
    for (const name of directories.toReversed()) waiting.push([...below, name]);
    seen += directories.length + regular.length;
    if (read % TREE_YIELD_EVERY === TREE_YIELD_EVERY - 1) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files: files.map(({ names }) => names), cut: waiting.length > 0 };
}

/** The files that are wanted, in the same order. Patterns can take long: now and then other work of the process runs. */
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
      const deep = names.length >= PATH_DEPTH_MAX - 1;
      return {
        directories: deep
          ? []
          : kept.filter((e) => e.isDirectory() && !SKIPPED_DIRECTORIES.has(e.name)).map((e) => e.name),
        regular: kept.filter((entry) => entry.isFile()).map((entry) => entry.name),
      };
    });
  } catch (error) {
    // Below the searched directory, one that vanished, changed or denies access is only left out.
    if (below.length === 0) throw error;
    return { directories: [], regular: [] };
  }
}

/** Says where a search was cut. */
export const cutNote = (cut: boolean): string =>
  cut ? '\n[the tree is larger than one search visits; search in a subdirectory to see the rest]' : '';
