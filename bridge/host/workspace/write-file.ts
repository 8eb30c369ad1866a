// host.fs.write_file: writes a whole file.
import type { JsonObject } from '../../../schemas/json.ts';
import { PREVIEW_FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import { optionalChoice, optionalFlag, requiredText } from '../arguments.ts';
import { type HostOutcome, withFaultCodes, succeeded } from '../outcome.ts';
import { refuseWrites } from '../git/refuse-git.ts';
import { currentBytes, refuseOther } from '../preview/previewed-files.ts';
import type { HostCallContext, HostParts } from '../tool.ts';
import { refuseNewMarks } from '../secret-mark.ts';
import { bytesOf, changedFile, preimageOf } from '../undo/record-change.ts';
import type { WorkspacePath } from './path-name.ts';
import { attributesOf, existsFault, findReplaceable, makeDirectories, replaceFile } from './replace-file.ts';
import { refuseOffer } from './runner-files.ts';
import { type Workspace, withParent } from './workspace.ts';

export function writeFileTool(args: JsonObject, { workspace }: HostParts, { previewed }: HostCallContext): HostOutcome {
  const { path, bytes, exclusive, createsParents } = readArguments(args, workspace);
  refuseNewMarks(bytes, () => bytesOf(preimageOf(workspace, path)), path.shown);
  refuseOffer(path, bytes);
  if (previewed !== undefined) refuseOther(previewed, path, currentBytes(workspace, path));
  const parentsMade = createsParents
    ? makeDirectories(workspace.root, path.names.slice(0, -1), workspace.owner).length
    : 0;
  const before = preimageOf(workspace, path);
  const created = withFaultCodes(PARENT_CODES, () =>
    withParent(workspace, path, (directory, name) => {
      const previous = findReplaceable(directory, name);
      if (previous !== null && exclusive) throw existsFault(path.shown);
      const attributes = previous === null ? workspace.owner : attributesOf(previous);
      replaceFile(directory, name, bytes, { attributes, exclusive });
      return previous === null;
    }),
  );
  const data = { path: path.shown, written_bytes: bytes.length, created };
  const text = `Wrote ${bytes.length} bytes to ${path.shown} (${created ? 'created' : 'replaced'}).`;
  return { ...succeeded(text, data), changes: [changedFile(path, before, bytes, parentsMade)] };
}

const PARENT_CODES = { not_found: 'parent_not_found' };

interface WriteArguments {
  readonly path: WorkspacePath;
  readonly bytes: Buffer;
  readonly exclusive: boolean;
  readonly createsParents: boolean;
}

function readArguments(args: JsonObject, workspace: Workspace): WriteArguments {
  const path = workspace.parse(requiredText(args, 'path'));
  const bytes = Buffer.from(requiredText(args, 'text'), 'utf8');
  const exclusive = optionalChoice(args, 'mode', ['overwrite', 'create_new']) === 'create_new';
  refuseWrites(workspace, [path]);
  return { path, bytes, exclusive, createsParents: optionalFlag(args, 'create_parents') };
}

/** What the call would write. Throws a `ToolFault` when it would fail, and for a file too large for a preview. */
export function stageWrite(
  args: JsonObject,
  { workspace }: Pick<HostParts, 'workspace'>,
): { readonly path: WorkspacePath; readonly before: Buffer | null; readonly after: Buffer } {
  const { path, bytes, exclusive, createsParents } = readArguments(args, workspace);
  if (!createsParents) withFaultCodes(PARENT_CODES, () => withParent(workspace, path, findReplaceable));
  const before = currentBytes(workspace, path, PREVIEW_FILE_BYTES_MAX);
  if (before !== null && exclusive) throw existsFault(path.shown);
  refuseNewMarks(bytes, () => before, path.shown);
  refuseOffer(path, bytes);
  return { path, before, after: bytes };
}
