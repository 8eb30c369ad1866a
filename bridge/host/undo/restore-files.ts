// Undoes a call: restores its files to their state before the call, all of them or none, also across a crash (they are
// written like a patch). A file whose content is neither that from after the call nor that from before it has been changed
// since: the undo is refused, so that no later work is lost. Idempotent: a file that already has its former content is left
// alone.
import { rmdirSync } from 'node:fs';
import type { FileChange } from '../../../schemas/undo.ts';
import { refuseWrites } from '../git/refuse-git.ts';
import { type HostOutcome, ToolFault, succeeded } from '../outcome.ts';
import { type StepHook, writeChanges } from '../patch/write-changes.ts';
import type { StagedChange } from '../patch/stage-patch.ts';
import { entryPath, withDirectory } from '../workspace/directory.ts';
import type { WorkspacePath } from '../workspace/path-name.ts';
import { attributesOf, findReplaceable } from '../workspace/replace-file.ts';
import { type Workspace, readWhole, withParent } from '../workspace/workspace.ts';
import { contentDigest } from './record-change.ts';

/** A recorded change with the bytes to put back; null where there was no file. */
export interface RestorableFile extends Pick<FileChange, 'path' | 'after_digest' | 'mode' | 'parents_made'> {
  /** The former bytes; null when the file did not exist. */
  readonly before: Uint8Array | null;
}

interface Target {
  readonly file: RestorableFile;
  readonly path: WorkspacePath;
  /** The change to write; null when the file already has its former content. */
  readonly change: StagedChange | null;
}

/** May throw a `ToolFault`; then nothing has changed, except for the files that the fault names. */
export function restoreFiles(
  { workspace, manifests }: { readonly workspace: Workspace; readonly manifests: string },
  files: readonly RestorableFile[],
  onStep?: StepHook,
): HostOutcome {
  refuseWrites(
    workspace,
    files.map(({ path }) => workspace.parse(path)),
  );
  const found = files.map((file) => findTarget(workspace, file));
  const changed = found.flatMap((target) => ('changedSince' in target ? [target.changedSince] : []));
  const targets = found.flatMap((target) => ('changedSince' in target ? [] : [target]));
  if (changed.length > 0) {
    throw new ToolFault(
      'changed_since',
      `${changed.join(', ')} changed after the call; no file was put back. Undo or revert the later change first`,
      { data: { files: changed } },
    );
  }
  if (new Set(targets.map(({ path }) => path.names.join('/'))).size < targets.length) {
    throw new ToolFault('tool_invalid_args', 'a file is named twice; no file was put back. Name each file once');
  }
  const changes = targets.flatMap(({ change }) => (change === null ? [] : [change]));
  writeChanges(workspace, manifests, changes, onStep);
  for (const target of targets) removeMadeParents(workspace, target);
  const paths = targets.map(({ path }) => path.shown);
  const already = targets.length - changes.length;
  const note = already === 0 ? '' : `; ${already} of them already had the content from before the call`;
  return succeeded(`Put back ${paths.join(', ')}${note}.`, {
    restored: changes.map(({ path }) => path.shown),
    already,
  });
}

function findTarget(workspace: Workspace, file: RestorableFile): Target | { readonly changedSince: string } {
  const path = workspace.parse(file.path);
  const stats = entryOf(workspace, path);
  const current = stats === null ? null : readWhole(workspace, path).bytes;
  const digest = current === null ? null : contentDigest(current);
  const wanted = file.before === null ? null : Buffer.from(file.before);
  const wantedDigest = wanted === null ? null : contentDigest(wanted);
  if (digest === wantedDigest) return { file, path, change: null };
  if (digest !== file.after_digest) return { changedSince: path.shown };
  const mode = file.mode ?? null;
  const found = stats === null ? workspace.owner : attributesOf(stats);
  const attributes = mode === null ? found : { ...found, mode };
  const change = { path, before: current, after: wanted, attributes };
  return { file, path, change: change as StagedChange };
}

function entryOf(workspace: Workspace, path: WorkspacePath): ReturnType<typeof findReplaceable> {
  try {
    return withParent(workspace, path, findReplaceable);
  } catch (error) {
    // A missing directory contains no file. It is made again when a file has to be restored in it.
    if (error instanceof ToolFault && error.code === 'not_found') return null;
    throw error;
  }
}

/** Removes the directories that the call made for a file, from the innermost outwards, as long as they are empty. */
function removeMadeParents(workspace: Workspace, { file, path }: Target): void {
  if (file.before !== null) return;
  for (let up = 1; up <= (file.parents_made ?? 0); up += 1) {
    const names = path.names.slice(0, -up);
    const name = names.at(-1);
    if (name === undefined) return;
    try {
      withDirectory(workspace.root, names.slice(0, -1), (parent) => rmdirSync(entryPath(parent, name)));
    } catch {
      // The directory is not empty, or is already gone: the files are restored nevertheless.
      return;
    }
  }
}
