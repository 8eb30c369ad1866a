// Finishes or undoes the patches that a crashed process left half written, when the host opens its workspace again.
import { unlinkSync } from 'node:fs';
import { entryPath, lookUp, withDirectory } from '../workspace/directory.ts';
import { pathOf } from '../workspace/path-name.ts';
import { publishFile, syncDirectory } from '../workspace/replace-file.ts';
import { type Workspace, readWhole } from '../workspace/workspace.ts';
import { removeStaged } from './commit-changes.ts';
import { type Manifest, type ManifestEntry, abandonedManifests, digestOf, removeManifest } from './commit-manifest.ts';

export interface Recovery {
  readonly finished: number;
  readonly undone: number;
  /** Files that someone changed after the crash. They are left as they are now. */
  readonly conflicts: readonly string[];
}

export function recoverPatches(workspace: Workspace, journal: string): Recovery {
  let finished = 0;
  let undone = 0;
  const conflicts: string[] = [];
  for (const { path, manifest } of abandonedManifests(journal, workspace.path)) {
    if (manifest.phase === 'publishing') {
      conflicts.push(...finish(workspace, manifest));
      finished += 1;
    } else {
      removeStaged(workspace, manifest);
      undone += 1;
    }
    removeManifest(path);
  }
  return { finished, undone, conflicts };
}

/** Every step may have been done already: doing it again changes nothing. */
function finish(workspace: Workspace, manifest: Manifest): readonly string[] {
  const conflicts = manifest.entries.filter((entry) => !finishEntry(workspace, entry));
  removeStaged(workspace, { ...manifest, directories: [] });
  return conflicts.map(({ names }) => pathOf(names).shown);
}

function finishEntry(workspace: Workspace, entry: ManifestEntry): boolean {
  try {
    const name = entry.names.at(-1) as string;
    const now = digestNow(workspace, entry.names);
    if (now === entry.after) return true;
    if (now !== entry.before) return false;
    withDirectory(workspace.root, entry.names.slice(0, -1), (directory) => {
      if (entry.temporary === null) unlinkSync(entryPath(directory, name));
      else publishFile(directory, entry.temporary, name, false);
      syncDirectory(directory);
    });
    return true;
  } catch {
    // Something else stands there now (a link, a directory), or the staged file is gone: not ours to touch.
    return false;
  }
}

function digestNow(workspace: Workspace, names: readonly string[]): string | null {
  const name = names.at(-1) as string;
  const there = withDirectory(workspace.root, names.slice(0, -1), (directory) => lookUp(directory, name));
  return there === null ? null : digestOf(readWhole(workspace, pathOf(names)).bytes);
}
