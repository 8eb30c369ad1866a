// Finishes or rolls back the patches that a crashed process left half written, when a host opens the workspace again.
import { unlinkSync } from 'node:fs';
import { entryPath, lookUp, withDirectory } from '../workspace/directory.ts';
import { pathOf } from '../workspace/path-name.ts';
import { publishFile, syncHandle } from '../workspace/replace-file.ts';
import { type Workspace, readWhole } from '../workspace/workspace.ts';
import { removeStaged } from './write-changes.ts';
import {
  type ManifestEntry,
  type PatchManifest,
  abandonedManifests,
  digestOf,
  removeManifest,
} from './patch-manifest.ts';

export interface Recovery {
  readonly finished: number;
  readonly rolledBack: number;
  /** Files that were changed after the crash. They are left unchanged. */
  readonly conflicts: readonly string[];
  /** Files beside the workspace that may belong to a half written patch, and cannot be read. */
  readonly unreadable: readonly string[];
}

export function recoverPatches(workspace: Workspace, manifests: string): Recovery {
  let finished = 0;
  let rolledBack = 0;
  const conflicts: string[] = [];
  const { found, unreadable } = abandonedManifests(manifests, workspace.path);
  for (const { path, manifest } of found) {
    if (manifest.phase === 'publishing') {
      conflicts.push(...finish(workspace, manifest));
      finished += 1;
    } else {
      removeStaged(workspace, manifest);
      rolledBack += 1;
    }
    removeManifest(path);
  }
  return { finished, rolledBack, conflicts, unreadable };
}

/** Every step is idempotent: a previous process may already have done it. */
function finish(workspace: Workspace, manifest: PatchManifest): readonly string[] {
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
      syncHandle(directory);
    });
    return true;
  } catch {
    // The path is a link or a directory now, or the staged file is missing: the file is left unchanged.
    return false;
  }
}

function digestNow(workspace: Workspace, names: readonly string[]): string | null {
  const name = names.at(-1) as string;
  const stats = withDirectory(workspace.root, names.slice(0, -1), (directory) => lookUp(directory, name));
  return stats === null ? null : digestOf(readWhole(workspace, pathOf(names)).bytes);
}

/** What a person should know of it; none when every patch was finished or rolled back. */
export const recoveryNotes = ({ conflicts, unreadable }: Recovery): readonly string[] => [
  ...conflicts.map(
    (path) =>
      `a patch was being written when an earlier bridge was killed, and ${path} has been changed since: it is left as it is, though the other files of the patch were written. Compare it with the patch`,
  ),
  ...unreadable.map(
    (path) =>
      `${path} cannot be read: if a killed bridge left a patch half written, it stays so. Make the file readable, and start again`,
  ),
];
