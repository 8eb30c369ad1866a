// Puts the files of a call back as they were before it: all of them or none, also across a crash, as a patch is
// written. A file that is neither as the call left it nor as it was before has been changed since, by somebody whose
// work is not lost. Done twice it is done once: a file that is as it was before is left alone.
import { rmdirSync } from 'node:fs';
import type { FileChange } from '../../../schemas/undo.ts';
import { type HostOutcome, ToolFault, succeeded } from '../outcome.ts';
import { type CommitProbe, commitChanges } from '../patch/commit-changes.ts';
import type { FileChange as StagedChange } from '../patch/stage-patch.ts';
import { entryPath, withDirectory } from '../workspace/directory.ts';
import { type WorkspacePath, refuseProtected } from '../workspace/path-name.ts';
import { attributesOf, findReplaceable } from '../workspace/replace-file.ts';
import { type Workspace, readWhole, withParent } from '../workspace/workspace.ts';
import { contentDigest } from './record-change.ts';

/** A recorded change with the bytes to put back; null where there was no file. */
export interface RestorableFile extends Pick<FileChange, 'path' | 'after_digest' | 'mode' | 'parents_made'> {
  readonly before: Uint8Array | null;
}

interface Target {
  readonly file: RestorableFile;
  readonly path: WorkspacePath;
  /** What to write; null when the file is as it was before already. */
  readonly change: StagedChange | null;
}

/** Throws a `ToolFault`, and then nothing has been changed (or the fault says what stays changed). */
export function restoreFiles(
  { workspace, journal }: { readonly workspace: Workspace; readonly journal: string },
  files: readonly RestorableFile[],
  probe?: CommitProbe,
): HostOutcome {
  const found = files.map((file) => findTarget(workspace, file));
  const since = found.flatMap((target) => ('since' in target ? [target.since] : []));
  const targets = found.flatMap((target) => ('since' in target ? [] : [target]));
  if (since.length > 0) {
    throw new ToolFault(
      'changed_since',
      `${since.join(', ')} changed after the call; nothing was put back. Undo or revert the later change first`,
      { data: { files: since } },
    );
  }
  if (new Set(targets.map(({ path }) => path.names.join('/'))).size < targets.length) {
    throw new ToolFault('tool_invalid_args', 'a file is named twice; nothing was put back');
  }
  const changes = targets.flatMap(({ change }) => (change === null ? [] : [change]));
  commitChanges(workspace, journal, changes, probe);
  for (const target of targets) removeMade(workspace, target);
  const paths = targets.map(({ path }) => path.shown);
  const already = targets.length - changes.length;
  const note = already === 0 ? '' : `; ${already} already were`;
  return succeeded(`Put back ${paths.join(', ')}${note}.`, {
    restored: changes.map(({ path }) => path.shown),
    already,
  });
}

function findTarget(workspace: Workspace, file: RestorableFile): Target | { readonly since: string } {
  const path = workspace.parse(file.path);
  refuseProtected(path);
  const stats = entryOf(workspace, path);
  const current = stats === null ? null : readWhole(workspace, path).bytes;
  const digest = current === null ? null : contentDigest(current);
  const wanted = file.before === null ? null : Buffer.from(file.before);
  const wantedDigest = wanted === null ? null : contentDigest(wanted);
  if (digest === wantedDigest) return { file, path, change: null };
  if (digest !== file.after_digest) return { since: path.shown };
  const mode = file.mode ?? null;
  const like = stats === null ? workspace.owner : attributesOf(stats);
  const change = { path, before: current, after: wanted, like: mode === null ? like : { ...like, mode } };
  return { file, path, change: change as StagedChange };
}

function entryOf(workspace: Workspace, path: WorkspacePath): ReturnType<typeof findReplaceable> {
  try {
    return withParent(workspace, path, findReplaceable);
  } catch (error) {
    // A folder that is missing holds no file; it is made again where one has to be put back.
    if (error instanceof ToolFault && error.code === 'not_found') return null;
    throw error;
  }
}

/** The folders the call made for a file, from the innermost on, as far as they are empty again. */
function removeMade(workspace: Workspace, { file, path }: Target): void {
  if (file.before !== null) return;
  for (let up = 1; up <= (file.parents_made ?? 0); up += 1) {
    const names = path.names.slice(0, -up);
    const name = names.at(-1);
    if (name === undefined) return;
    try {
      withDirectory(workspace.root, names.slice(0, -1), (parent) => rmdirSync(entryPath(parent, name)));
    } catch {
      // Something else lies in it by now, or it is gone: what the call did is undone all the same.
      return;
    }
  }
}
