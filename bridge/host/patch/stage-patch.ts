// Turns the operations of a patch into file changes, in memory. Each operation sees the results of the earlier ones. The
// first fault refuses the whole patch, before anything is written.
import { PATCH_FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import { refuseWrites } from '../git/refuse-git.ts';
import { ToolFault, withFaultCodes } from '../outcome.ts';
import { refuseNewMarks } from '../secret-mark.ts';
import { withDirectory } from '../workspace/directory.ts';
import { type WorkspacePath, refuseProtected } from '../workspace/path-name.ts';
import { type Attributes, attributesOf, findReplaceable } from '../workspace/replace-file.ts';
import { refuseOffer } from '../workspace/runner-files.ts';
import { type Workspace, decodeUtf8, readWhole, withParent } from '../workspace/workspace.ts';
import { applyHunks } from './apply-hunks.ts';
import type { PatchOperation } from './parse-patch.ts';
import { type PatchWork, newPatchWork } from './patch-work.ts';

/** A file's bytes before and after the patch; null where there is no file. */
export interface StagedChange {
  readonly path: WorkspacePath;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  /** The attributes of the written file: those it had, or those of the file it was moved from. */
  readonly attributes: Attributes | null;
}

export interface StagedPatch {
  /** Sorted by path; files that do not change are left out. */
  readonly changes: readonly StagedChange[];
  readonly counts: Readonly<Record<'add' | 'update' | 'delete' | 'move', number>>;
}

export function stagePatch(workspace: Workspace, operations: readonly PatchOperation[]): StagedPatch {
  const files = new Map<string, StagedChange>();
  const work = newPatchWork();
  const counts = { add: 0, update: 0, delete: 0, move: 0 };
  const look = (path: WorkspacePath): StagedChange =>
    files.get(path.names.join('/')) ?? readChange(workspace, path, work);
  const put = (change: StagedChange): void => void files.set(change.path.names.join('/'), change);

  for (const operation of operations) {
    const path = writablePath(workspace, operation.path);
    counts[operation.kind] += 1;
    if (operation.kind === 'update' && operation.moveTo !== null) counts.move += 1;
    stageOperation(operation, path, { work, look, put, parse: (raw) => writablePath(workspace, raw) });
  }
  const changes = [...files.values()].filter(({ before, after }) => !sameBytes(before, after));
  changes.sort((a, b) => (a.path.names.join('/') < b.path.names.join('/') ? -1 : 1));
  withFaultCodes(readCodes, () => {
    refuseWrites(
      workspace,
      changes.map(({ path }) => path),
    );
    for (const { path, after } of changes) if (after !== null) refuseOffer(path, after);
  });
  return { changes, counts };
}

interface Stage {
  readonly work: PatchWork;
  look(path: WorkspacePath): StagedChange;
  put(change: StagedChange): void;
  parse(raw: string): WorkspacePath;
}

function stageOperation(operation: PatchOperation, path: WorkspacePath, stage: Stage): void {
  const change = stage.look(path);
  switch (operation.kind) {
    case 'add':
      if (change.after !== null)
        throw refused('add_target_exists', `${path.shown} already exists; use '*** Update File: ' instead`);
      stage.put({ ...change, after: addedBytes(operation.lines, path) });
      return;
    case 'delete':
      if (change.after === null)
        throw refused('delete_target_not_found', `${path.shown} does not exist; list its directory to see names`);
      stage.put({ ...change, after: null });
      return;
    case 'update': {
      const after = updatedBytes(operation, change, stage.work);
      if (operation.moveTo === null) {
        stage.put({ ...change, after });
        return;
      }
      stageMove(change, after, stage.parse(operation.moveTo), stage);
    }
  }
}

function addedBytes(lines: readonly string[], path: WorkspacePath): Buffer {
  const bytes = Buffer.from(lines.join('\n'), 'utf8');
  refuseNewMarks(bytes, () => null, path.shown);
  return bytes;
}

function updatedBytes(
  operation: Extract<PatchOperation, { kind: 'update' }>,
  change: StagedChange,
  work: PatchWork,
): Buffer {
  const shown = change.path.shown;
  if (change.after === null)
    throw refused('update_target_not_found', `${shown} does not exist; use '*** Add File: ' instead`);
  const text = decodeUtf8(change.after);
  if (text === null) throw refused('update_target_non_utf8', `${shown} is not UTF-8 text, so it cannot be patched`);
  const after = Buffer.from(applyHunks(text, operation.hunks, shown, work), 'utf8');
  refuseNewMarks(after, () => change.after, shown);
  if (after.length > PATCH_FILE_BYTES_MAX)
    throw refused('file_too_large', `${shown} would have more than ${PATCH_FILE_BYTES_MAX} bytes; keep files smaller`);
  return after;
}

function stageMove(from: StagedChange, after: Buffer, to: WorkspacePath, stage: Stage): void {
  const target = stage.look(to);
  if (target.after !== null)
    throw refused('move_target_exists', `${to.shown} already exists; delete it first, or choose another path`);
  stage.put({ ...from, after: null });
  stage.put({ ...stage.look(to), after, attributes: from.attributes });
}

function writablePath(workspace: Workspace, raw: string): WorkspacePath {
  return withFaultCodes({ forbidden: 'path_forbidden' }, () => {
    const path = workspace.parse(raw);
    if (path.names.length === 0)
      throw refused('invalid_path', 'the path is the workspace itself; a patch must name files');
    refuseProtected(path);
    return path;
  });
}

const readCodes = { forbidden: 'path_forbidden', not_directory: 'invalid_path', is_directory: 'invalid_path' };

function readChange(workspace: Workspace, path: WorkspacePath, work: PatchWork): StagedChange {
  return withFaultCodes(readCodes, () => {
    const stats = findEntry(workspace, path);
    if (stats === null) return { path, before: null, after: null, attributes: null };
    if (stats.size > PATCH_FILE_BYTES_MAX) {
      const sizes = `${path.shown} has ${stats.size} bytes; a patch changes files of at most ${PATCH_FILE_BYTES_MAX}`;
      throw refused('file_too_large', `${sizes}; change it with edit_file, or with a command`);
    }
    work.load(stats.size, path.shown);
    const { bytes, stats: opened } = readWhole(workspace, path);
    return { path, before: bytes, after: bytes, attributes: attributesOf(opened) };
  });
}

function findEntry(workspace: Workspace, path: WorkspacePath): ReturnType<typeof findReplaceable> {
  try {
    return withParent(workspace, path, findReplaceable);
  } catch (error) {
    // A missing directory is made when the patch is written, unless something else takes its name by then.
    if (error instanceof ToolFault && error.code === 'not_found') return null;
    throw error;
  }
}

/** The directories on the way to `names` that do not exist, outermost first. */
export function missingDirectories(workspace: Workspace, names: readonly string[]): readonly (readonly string[])[] {
  for (let depth = 1; depth <= names.length; depth += 1) {
    try {
      withDirectory(workspace.root, names.slice(0, depth), () => undefined);
    } catch (error) {
      if (!(error instanceof ToolFault) || error.code !== 'not_found') throw error;
      return names.slice(depth - 1).map((_, index) => names.slice(0, depth + index));
    }
  }
  return [];
}

const sameBytes = (a: Buffer | null, b: Buffer | null): boolean => a === b || (a !== null && b !== null && a.equals(b));

const refused = (code: string, message: string): ToolFault => new ToolFault(code, `${message}. Nothing was written`);
