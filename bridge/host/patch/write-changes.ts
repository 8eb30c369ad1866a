// Writes the changes of a patch: all of them or none, also across a crash. First it writes a manifest, then the staged
// files, then the phase `publishing` into the manifest, then renames each file into place. After a crash before
// `publishing` the next host rolls the patch back; after it, the next host finishes it. An error on the way is rolled
// back at once, from the bytes in memory.
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
  syncHandle,
} from '../workspace/replace-file.ts';
import { type Workspace, withParent } from '../workspace/workspace.ts';
import {
  type ManifestEntry,
  type PatchManifest,
  digestOf,
  newManifestPath,
  removeManifest,
  thisProcess,
  writeManifest,
} from './patch-manifest.ts';
import { type StagedChange, missingDirectories } from './stage-patch.ts';

/** Called after each durable step, with the step's name. Tests throw or kill the process there. */
export type StepHook = (step: string) => void;

export function writeChanges(
  workspace: Workspace,
  manifests: string,
  changes: readonly StagedChange[],
  onStep: StepHook = () => undefined,
): void {
  if (changes.length === 0) return;
  const path = newManifestPath(manifests);
  const manifest = manifestOf(workspace, changes);
  let published = 0;
  try {
    writeManifest(path, manifest);
    onStep('manifest written');
    stageAll(workspace, manifest, changes, onStep);
    writeManifest(path, { ...manifest, phase: 'publishing' });
    onStep('staged');
    for (const [index, change] of changes.entries()) {
      publish(workspace, change, manifest.entries[index]?.temporary ?? null);
      published = index + 1;
      onStep(`published ${published}`);
    }
    removeManifest(path);
  } catch (error) {
    const lost = rollBack(workspace, changes.slice(0, published), manifest);
    removeManifest(path);
    throw writeFault(error, lost);
  }
  onStep('done');
}

function manifestOf(workspace: Workspace, changes: readonly StagedChange[]): PatchManifest {
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

function stageAll(
  workspace: Workspace,
  manifest: PatchManifest,
  changes: readonly StagedChange[],
  onStep: StepHook,
): void {
  for (const [index, { path, after, attributes }] of changes.entries()) {
    const temporary = manifest.entries[index]?.temporary ?? null;
    if (after === null || temporary === null) continue;
    makeDirectories(workspace.root, path.names.slice(0, -1), workspace.owner);
    withParent(workspace, path, (directory) => {
      stageFile(directory, temporary, after, attributes ?? workspace.owner);
      syncHandle(directory);
    });
    onStep(`staged ${index + 1}`);
  }
}

function publish(workspace: Workspace, change: StagedChange, temporary: string | null): void {
  withParent(workspace, change.path, (directory, name) => {
    // A command may have created or removed the file since it was read: the patch must not replace that.
    const found = findReplaceable(directory, name);
    if ((found === null) !== (change.before === null)) {
      throw new ToolFault('write_failed', `${change.path.shown} changed while the patch was written`);
    }
    if (temporary === null) unlinkSync(entryPath(directory, name));
    else publishFile(directory, temporary, name, false);
    syncHandle(directory);
  });
}

/** Restores the published files, newest first, and removes the staged ones. Returns the files it could not restore. */
function rollBack(
  workspace: Workspace,
  published: readonly StagedChange[],
  manifest: PatchManifest,
): readonly string[] {
  const lost = published.toReversed().filter(({ path, before, attributes }) => {
    const restored = attempt(() =>
      withParent(workspace, path, (directory, name) => {
        if (before === null) unlinkSync(entryPath(directory, name));
        else replaceFile(directory, name, before, { attributes: attributes ?? workspace.owner });
        syncHandle(directory);
      }),
    );
    return !restored;
  });
  removeStaged(workspace, manifest);
  return lost.map(({ path }) => path.shown);
}

/** Removes the staged files, and the directories made for them that are empty. */
export function removeStaged(workspace: Workspace, { entries, directories }: PatchManifest): void {
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
    // A file that cannot be restored must not stop the others from being restored; the fault names it.
    return false;
  }
}

function writeFault(error: unknown, lost: readonly string[]): ToolFault {
  const why = error instanceof ToolFault ? error.message : `the patch could not be written (${errorName(error)})`;
  const state =
    lost.length === 0
      ? 'all files are as they were before'
      : `these files could not be restored and stay changed: ${lost.join(', ')}`;
  return new ToolFault('write_failed', `${why}; ${state}`);
}
