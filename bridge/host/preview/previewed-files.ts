// Compares files with those of the preview with which a person allowed a call: the call runs only while each is as it was.
// They are compared twice, in one turn of the event loop: before the tool begins, so that a change is told as one, and where
// the tool reads the bytes that it replaces, so that what it writes follows from what the person saw.
import type { PreviewedFile, PreviewedFiles } from '../../../schemas/consent.ts';
import { ToolFault } from '../outcome.ts';
import { contentDigest } from '../undo/record-change.ts';
import type { WorkspacePath } from '../workspace/path-name.ts';
import { findReplaceable } from '../workspace/replace-file.ts';
import { type Workspace, readWhole, withParent } from '../workspace/workspace.ts';

/** Throws `changed_since_preview` when one of the files is different now, or cannot be read. */
export function refuseChanged(workspace: Workspace, previewed: PreviewedFiles | undefined): void {
  for (const { path, before } of previewed ?? []) {
    if (digestNow(workspace, path) !== before) throw changedSincePreview(path);
  }
}

/** The same for the bytes that a tool has read of one file; null when there is none. */
export function refuseOther(
  previewed: PreviewedFiles | undefined,
  { names }: WorkspacePath,
  bytes: Uint8Array | null,
): void {
  const path = names.join('/');
  const seen = previewed?.find((file) => file.path === path);
  if (seen !== undefined && seen.before !== digestOrNone(bytes)) throw changedSincePreview(path);
}

export const digestOrNone = (bytes: Uint8Array | null): PreviewedFile['before'] =>
  bytes === null ? null : contentDigest(bytes);

/** The bytes of a file that a tool may replace; null when there is none. Throws a `ToolFault` for any other entry. */
export function currentBytes(workspace: Workspace, path: WorkspacePath, bytesMax?: number): Buffer | null {
  try {
    if (withParent(workspace, path, findReplaceable) === null) return null;
  } catch (error) {
    // A tool may make the missing directories.
    if (error instanceof ToolFault && error.code === 'not_found') return null;
    throw error;
  }
  return readWhole(workspace, path, bytesMax).bytes;
}

function digestNow(workspace: Workspace, path: string): PreviewedFile['before'] | undefined {
  try {
    return digestOrNone(currentBytes(workspace, workspace.parse(path)));
  } catch {
    // What was a file, or nothing, is something else now.
    return undefined;
  }
}

const changedSincePreview = (path: string): ToolFault =>
  new ToolFault(
    'changed_since_preview',
    `${JSON.stringify(path)} has changed since the preview with which a person allowed this call, so the call was not run. ` +
      'Read the file again, and make the call again if it is still needed: a person then sees what it would do now',
    { data: { path }, nextAction: 'Read the file again, and make the call again.' },
  );
