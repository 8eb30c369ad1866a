// host.fs.apply_patch: changes several files, all or none.
import type { JsonObject } from '../../../schemas/json.ts';
import { optionalFlag, requiredText } from '../arguments.ts';
import { type HostOutcome, succeeded } from '../outcome.ts';
import { refuseOther } from '../preview/previewed-files.ts';
import type { HostCallContext, HostParts } from '../tool.ts';
import { changedFile, preimageOf } from '../undo/record-change.ts';
import { writeChanges } from './write-changes.ts';
import { parsePatch } from './parse-patch.ts';
import { type StagedChange, type StagedPatch, missingDirectories, stagePatch } from './stage-patch.ts';
import type { Workspace } from '../workspace/workspace.ts';

export function applyPatchTool(args: JsonObject, parts: HostParts, { previewed }: HostCallContext): HostOutcome {
  const { workspace, scratch } = parts;
  const dryRun = optionalFlag(args, 'dry_run');
  const { changes, counts } = stagePatchCall(args, parts);
  for (const { path, before } of changes) refuseOther(previewed, path, before);
  const recorded = dryRun ? [] : changes.map((change) => recordOf(workspace, change));
  if (!dryRun) writeChanges(workspace, scratch.patches, changes);
  const changed = changes.length;
  const ops = `add=${counts.add} update=${counts.update} delete=${counts.delete} move=${counts.move}`;
  const verb = dryRun ? 'Checked patch, nothing was written' : 'Applied patch';
  const outcome = succeeded(`${verb}: ${changed} file${changed === 1 ? '' : 's'} changed (${ops})`, {
    files_changed: changed,
    changed_paths: changes.map(({ path }) => path.shown),
    ops: counts,
    dry_run: dryRun,
  });
  return recorded.length === 0 ? outcome : { ...outcome, changes: recorded };
}

/** What the call would write. Throws a `ToolFault` when it would fail. */
export const stagePatchCall = (args: JsonObject, { workspace }: Pick<HostParts, 'workspace'>): StagedPatch =>
  stagePatch(workspace, parsePatch(requiredText(args, 'patch')));

function recordOf(workspace: Workspace, { path, before, after }: StagedChange): ReturnType<typeof changedFile> {
  const parentsMade = after === null ? 0 : missingDirectories(workspace, path.names.slice(0, -1)).length;
  return changedFile(path, before === null ? NO_FILE : preimageOf(workspace, path, before), after, parentsMade);
}

const NO_FILE = { bytes: null, mode: null };
