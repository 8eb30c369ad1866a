// Writes the changes of a patch: all of them or none, also across a crash. A journal entry comes first, then the
// staged files, then the mark in the journal from which on a crash is finished rather than undone, then one rename
// for each file. An error on the way is undone at once, from the bytes in memory.
import { rmSync, rmdirSync, unlinkSync } from 'node:fs';
import { ToolFault, errorName } from '../outcome.ts';
import { type Directory, entryPath, withDirectory } from '../workspace/directory.ts';
import {
  findReplaceable,
  makeDirectories,
  newTemporaryName,
  publishFile,
  replaceFile,
  stageFile,
  syncDirectory,
} from '../workspace/replace-file.ts';
import { type Workspace, withParent } from '../workspace/workspace.ts';
import {
  type Manifest,
  type ManifestEntry,
  digestOf,
  newManifestPath,
  removeManifest,
  thisProcess,
  writeManifest,
} from './commit-manifest.ts';
import { type FileChange, missingDirectories } from './stage-patch.ts';

/** Called after each durable step with its name. Tests end the process, or fail, there. */
export type CommitProbe = (step: string) => void;

export function commitChanges(
  workspace: Workspace,
  journal: string,
  changes: readonly FileChange[],
  probe: CommitProbe = () => undefined,
): void {
  if (changes.length === 0) return;
  const path = newManifestPath(journal);
  const manifest = planOf(workspace, changes);
  let published = 0;
  try {
    writeManifest(path, manifest);
    probe('journalled');
    stageAll(workspace, manifest, changes, probe);
    writeManifest(path, { ...manifest, phase: 'publishing' });
    probe('staged');
    for (const [index, change] of changes.entries()) {
      publish(workspace, change, manifest.entries[index]?.temporary ?? null);
      published = index + 1;
      probe(`published ${published}`);
    }
    removeManifest(path);
  } catch (error) {
    const lost = undo(workspace, changes.slice(0, published), manifest);
    removeManifest(path);
    throw writeFault(error, lost);
  }
  probe('done');
}

function planOf(workspace: Workspace, changes: readonly FileChange[]): Manifest {
  const digest = (bytes: Buffer | null): string | null => (bytes === null ? null : digestOf(bytes));
  const entries = changes.map(({ path, before, after }): ManifestEntry => ({
    names: path.names,
    temporary: after === null ? null : newTemporaryName(),
    before: digest(before),
    after: digest(after),
  }));
  const directories = new Map<string, readonly string[]>();
  for (const { path, after } of changes) {
    if (after === null) continue;
    for (const names of missingDirectories(workspace, path.names.slice(0, -1))) directories.set(names.join('/'), names);
  }
  return {
    version: 1,
    workspace: workspace.path,
    owner: thisProcess(),
    phase: 'staging',
    entries,
    directories: [...directories.values()],
  };
}

function stageAll(workspace: Workspace, manifest: Manifest, changes: readonly FileChange[], probe: CommitProbe): void {
  for (const [index, { path, after, like }] of changes.entries()) {
    const temporary = manifest.entries[index]?.temporary ?? null;
    if (after === null || temporary === null) continue;
    makeDirectories(workspace.root, path.names.slice(0, -1), workspace.owner);
    withParent(workspace, path, (directory) => {
      stageFile(directory, temporary, after, like ?? workspace.owner);
      syncDirectory(directory);
    });
    probe(`staged ${index + 1}`);
  }
}

function publish(workspace: Workspace, change: FileChange, temporary: string | null): void {
  withParent(workspace, change.path, (directory, name) => {
    // What a command put there since it was read is not the patch's to replace.
    const found = findReplaceable(directory, name);
    if ((found === null) !== (change.before === null)) {
      throw new ToolFault('write_failed', `${change.path.shown} changed while the patch was written`);
    }
    if (temporary === null) unlinkSync(entryPath(directory, name));
    else publishFile(directory, temporary, name, false);
    syncDirectory(directory);
  });
}

/** Puts back what was published, newest first, and removes what was only staged. Returns what could not be. */
function undo(workspace: Workspace, published: readonly FileChange[], manifest: Manifest): readonly string[] {
  const lost = published.toReversed().filter(({ path, before, like }) => {
    const restored = attempt(() =>
      withParent(workspace, path, (directory, name) => {
        if (before === null) unlinkSync(entryPath(directory, name));
        else replaceFile(directory, name, before, { like: like ?? workspace.owner });
        syncDirectory(directory);
      }),
    );
    return !restored;
  });
  removeStaged(workspace, manifest);
  return lost.map(({ path }) => path.shown);
}

/** Removes staged files, and the directories made for them as far as they are empty. */
export function removeStaged(workspace: Workspace, { entries, directories }: Manifest): void {
  for (const { names, temporary } of entries) {
    if (temporary === null) continue;
    attempt(() => withDirectory(workspace.root, names.slice(0, -1), (directory) => removeEntry(directory, temporary)));
  }
  for (const names of directories.toReversed()) {
    attempt(() =>
      withDirectory(workspace.root, names.slice(0, -1), (directory) =>
        rmdirSync(entryPath(directory, names.at(-1) as string)),
      ),
    );
  }
}

const removeEntry = (directory: Directory, name: string): void => rmSync(entryPath(directory, name), { force: true });

function attempt(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    // One file that cannot be put back must not keep the others from it; the caller names it in the fault.
    return false;
  }
}

function writeFault(error: unknown, lost: readonly string[]): ToolFault {
  const why = error instanceof ToolFault ? error.message : `the patch could not be written (${errorName(error)})`;
  const state = lost.length === 0 ? 'all files are as they were' : `these files stay changed: ${lost.join(', ')}`;
  return new ToolFault('write_failed', `${why}; ${state}`);
}
