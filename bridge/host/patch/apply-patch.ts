// host.fs.apply_patch.
import type { JsonObject } from '../../../schemas/json.ts';
import { optionalFlag, requiredText } from '../arguments.ts';
import { type HostOutcome, succeeded } from '../outcome.ts';
import type { HostParts } from '../tool.ts';
import { commitChanges } from './commit-changes.ts';
import { parsePatch } from './parse-patch.ts';
import { stagePatch } from './stage-patch.ts';

export function applyPatch(args: JsonObject, { workspace, scratch }: HostParts): HostOutcome {
  const operations = parsePatch(requiredText(args, 'patch'));
  const dryRun = optionalFlag(args, 'dry_run');
  const { changes, counts } = stagePatch(workspace, operations);
  if (!dryRun) commitChanges(workspace, scratch.patches, changes);
  const changed = changes.length;
  const ops = `add=${counts.add} update=${counts.update} delete=${counts.delete} move=${counts.move}`;
  const verb = dryRun ? 'Checked patch, nothing written' : 'Applied patch';
  return succeeded(`${verb}: ${changed} file${changed === 1 ? '' : 's'} changed (${ops})`, {
    files_changed: changed,
    changed_paths: changes.map(({ path }) => path.shown),
    ops: counts,
    dry_run: dryRun,
  });
}
