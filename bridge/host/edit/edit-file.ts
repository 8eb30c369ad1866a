// host.fs.edit_file: replaces one passage of a file, or all its occurrences.
import type { JsonObject } from '../../../schemas/json.ts';
import { FILE_BYTES_MAX, PREVIEW_FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import { optionalFlag, requiredText } from '../arguments.ts';
import { refuseWrites } from '../git/refuse-git.ts';
import { type HostOutcome, ToolFault, withFaultCodes, succeeded } from '../outcome.ts';
import { adviceOnMark, refuseNewMarks } from '../secret-mark.ts';
import { refuseOther } from '../preview/previewed-files.ts';
import type { HostCallContext, HostParts } from '../tool.ts';
import { changedFile, preimageOf } from '../undo/record-change.ts';
import type { WorkspacePath } from '../workspace/path-name.ts';
import { attributesOf, findReplaceable, replaceFile } from '../workspace/replace-file.ts';
import { refuseOffer } from '../workspace/runner-files.ts';
import { decodeUtf8, readWhole, withParent } from '../workspace/workspace.ts';
import { type Edited, editText } from './edit-text.ts';

export function editFileTool(args: JsonObject, parts: HostParts, { previewed }: HostCallContext): HostOutcome {
  const { workspace } = parts;
  const { path, before: bytes, after, edited } = stageEdit(args, parts, FILE_BYTES_MAX);
  refuseOther(previewed, path, bytes);
  const before = preimageOf(workspace, path, bytes);
  withParent(workspace, path, (directory, name) => {
    const previous = findReplaceable(directory, name);
    const attributes = previous === null ? workspace.owner : attributesOf(previous);
    replaceFile(directory, name, after, { attributes });
  });
  const { replacements, fuzzy } = edited;
  const how = fuzzy ? '; matched ignoring differences in white space, quotes and dashes' : '';
  const message = `Updated ${path.shown} (${replacements} replacement${replacements === 1 ? '' : 's'}${how}).`;
  return {
    ...succeeded(message, { path: path.shown, replacements, fuzzy }),
    changes: [changedFile(path, before, after, 0)],
  };
}

interface StagedEdit {
  readonly path: WorkspacePath;
  readonly before: Buffer;
  readonly after: Buffer;
  readonly edited: Extract<Edited, { kind: 'edited' }>;
}

/** What the call would write. Throws a `ToolFault` when it would fail, and for a file of more than `bytesMax` bytes. */
export function stageEdit(
  args: JsonObject,
  { workspace }: Pick<HostParts, 'workspace'>,
  bytesMax = PREVIEW_FILE_BYTES_MAX,
): StagedEdit {
  const path = workspace.parse(requiredText(args, 'path'));
  const oldText = requiredText(args, 'old_string');
  const newText = requiredText(args, 'new_string');
  const all = optionalFlag(args, 'replace_all');
  if (oldText === '') {
    throw new ToolFault(
      'invalid_input_empty_old_string',
      'old_string is empty; give the text to replace, or write the whole file with write_file',
    );
  }
  if (oldText === newText) {
    throw new ToolFault(
      'edit_no_change',
      'old_string and new_string are the same, so there is nothing to change; give a different new_string',
    );
  }
  refuseWrites(workspace, [path]);
  const { bytes } = withFaultCodes({ not_found: 'path_not_found' }, () => readWhole(workspace, path, bytesMax));
  const text = decodeUtf8(bytes);
  if (text === null)
    throw new ToolFault(
      'invalid_utf8',
      `${path.shown} is not UTF-8 text, so it cannot be edited; change it with a command`,
    );
  const edited = requireEdited(editText(text, { oldText, newText, all }), path, oldText);
  const after = Buffer.from(edited.text, 'utf8');
  refuseNewMarks(after, () => bytes, path.shown);
  refuseOffer(path, after);
  return { path, before: bytes, after, edited };
}

function requireEdited(edited: Edited, path: WorkspacePath, oldText: string): Extract<Edited, { kind: 'edited' }> {
  if (edited.kind === 'edited') return edited;
  if (edited.kind === 'not_found') {
    throw new ToolFault(
      'edit_target_not_found',
      `old_string does not occur in ${path.shown}; read the file and copy the passage from it${adviceOnMark(oldText)}`,
      { data: { path: path.shown, replacements: 0 } },
    );
  }
  const { matches, lines, fuzzy } = edited;
  const places = lines.join(', ') + (lines.length < matches ? ', …' : '');
  throw new ToolFault(
    'ambiguous_matches',
    `old_string occurs ${matches} times in ${path.shown} (lines ${places}); ` +
      'add surrounding lines until it is unique, or set replace_all',
    { data: { path: path.shown, matches, fuzzy } },
  );
}
