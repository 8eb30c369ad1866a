// What calls of the file tools would change, found with the code that makes the changes: each tool is asked for its changes,
// and they are shown instead of written. Bounded in bytes and time; text that holds a secret is replaced before it is compared.
import type { JsonObject } from '../../../schemas/json.ts';
import { PREVIEW_DIFF_MS_MAX, PREVIEW_FILES_MAX, PREVIEW_PATHS_CHARS_MAX } from '../../../schemas/limits.ts';
import type { PreviewedFiles } from '../../../schemas/consent.ts';
import { type PreviewLine, added, changeLines, diffText, newFileLines, note } from '../../../src/shown/diff-lines.ts';
import { stageEdit } from '../edit/edit-file.ts';
import { ToolFault } from '../outcome.ts';
import { stagePatchCall } from '../patch/apply-patch.ts';
import type { StagedChange } from '../patch/stage-patch.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import type { HostParts } from '../tool.ts';
import { decodeUtf8 } from '../workspace/workspace.ts';
import { stageWrite } from '../workspace/write-file.ts';
import { digestOrNone } from './previewed-files.ts';

/** A file before and after a call. */
export type PreviewedChange = Pick<StagedChange, 'path' | 'before' | 'after'>;

/** The changes that a call would make; throws a `ToolFault` when it would fail, or is too large for a preview. */
type Stage = (args: JsonObject, parts: Pick<HostParts, 'workspace'>) => readonly PreviewedChange[];

/** The tools that can say what their calls would do: those whose specs have `preview`. */
export const HOST_PREVIEWS: ReadonlyMap<string, Stage> = new Map<string, Stage>(
  Object.entries({
    'host.fs.write_file': (args, parts) => [stageWrite(args, parts)],
    'host.fs.edit_file': (args, parts) => [stageEdit(args, parts)],
    'host.fs.apply_patch': (args, parts) => (args['dry_run'] === true ? [] : stagePatchCall(args, parts).changes),
  } satisfies Record<string, Stage>),
);

export interface HostPreview {
  /** Lines for people, each with its mark. */
  readonly diff: string;
  /** Every file that the call would change, with the digest of its content now. */
  readonly files: PreviewedFiles;
}

/** Throws a `ToolFault` that says why there is no preview. */
export function previewChanges(
  changes: readonly PreviewedChange[],
  { redactor, now }: Pick<HostParts, 'redactor' | 'now'>,
): HostPreview {
  const files = changes.map(({ path, before }) => ({ path: path.names.join('/'), before: digestOrNone(before) }));
  const chars = files.reduce((sum, { path }) => sum + path.length, 0);
  if (files.length > PREVIEW_FILES_MAX || chars > PREVIEW_PATHS_CHARS_MAX) {
    throw new ToolFault('too_many_files', `the call would change ${files.length} files, too many for a preview`);
  }
  const untilMs = now() + PREVIEW_DIFF_MS_MAX;
  const lines = changes.flatMap((change) => linesOf(change, redactor, Math.max(1, untilMs - now())));
  return { diff: diffText(lines.length === 0 ? [note('no file would change')] : lines), files };
}

function linesOf({ path, before, after }: PreviewedChange, redactor: Redactor, msMax: number): readonly PreviewLine[] {
  const { shown } = path;
  const [was, is] = [textOf(before, redactor), textOf(after, redactor)];
  if (is === null) return [note(`${shown}: the new content is not UTF-8 text, ${after?.length ?? 0} bytes`)];
  if (was === null) {
    return [note(`${shown}: the present content is not UTF-8 text, ${before?.length ?? 0} bytes`), ...added(is)];
  }
  if (before === null) return newFileLines(shown, is);
  if (after === null) return [note(`${shown}: removed`), ...changeLines(shown, was, '', msMax)];
  // Two texts that differ only in a secret look the same.
  return was === is && !before.equals(after)
    ? [note(`${shown}: changed in a secret`)]
    : changeLines(shown, was, is, msMax);
}

/** The text of a file, and of none; null for bytes that are not UTF-8. */
function textOf(bytes: Buffer | null, redactor: Redactor): string | null {
  const text = bytes === null ? '' : decodeUtf8(bytes);
  return text === null ? null : redactor.text(text);
}
