// Turns the operations of a patch into changes of files, in memory. Operations see what earlier ones of the same
// patch did. The first fault refuses the whole patch: nothing has been written when it is thrown.
import { FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import { ToolFault, recoding } from '../outcome.ts';
import { withDirectory } from '../workspace/directory.ts';
import { type WorkspacePath, refuseProtected } from '../workspace/path-name.ts';
import { type Attributes, attributesOf, findReplaceable } from '../workspace/replace-file.ts';
import { type Workspace, decodeUtf8, readWhole, withParent } from '../workspace/workspace.ts';
import { applyHunks } from './apply-hunks.ts';
import type { PatchOperation } from './parse-patch.ts';

/** A file before and after the patch; null where there is none. */
export interface FileChange {
  readonly path: WorkspacePath;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  /** What the written file keeps: of itself, or of the file it was moved from. */
  readonly like: Attributes | null;
}

export interface StagedPatch {
  /** Sorted by path; files that come out as they were are left out. */
  readonly changes: readonly FileChange[];
  readonly counts: Readonly<Record<'add' | 'update' | 'delete' | 'move', number>>;
}

export function stagePatch(workspace: Workspace, operations: readonly PatchOperation[]): StagedPatch {
  const files = new Map<string, FileChange>();
  const counts = { add: 0, update: 0, delete: 0, move: 0 };
  const look = (path: WorkspacePath): FileChange => files.get(path.names.join('/')) ?? readChange(workspace, path);
  const put = (change: FileChange): void => void files.set(change.path.names.join('/'), change);

  for (const operation of operations) {
    const path = writablePath(workspace, operation.path);
    counts[operation.kind] += 1;
    if (operation.kind === 'update' && operation.moveTo !== null) counts.move += 1;
    stageOperation(operation, path, { look, put, parse: (raw) => writablePath(workspace, raw) });
  }
  const changes = [...files.values()].filter(({ before, after }) => !sameBytes(before, after));
  changes.sort((a, b) => (a.path.names.join('/') < b.path.names.join('/') ? -1 : 1));
  return { changes, counts };
}

interface Stage {
  look(path: WorkspacePath): FileChange;
  put(change: FileChange): void;
  parse(raw: string): WorkspacePath;
}

function stageOperation(operation: PatchOperation, path: WorkspacePath, stage: Stage): void {
  const change = stage.look(path);
  switch (operation.kind) {
    case 'add':
      if (change.after !== null) throw refused('add_target_exists', `${path.shown} exists; update it instead`);
      stage.put({ ...change, after: Buffer.from(operation.lines.join('\n'), 'utf8') });
      return;
    case 'delete':
      if (change.after === null) throw refused('delete_target_not_found', `${path.shown} does not exist`);
      stage.put({ ...change, after: null });
      return;
    case 'update': {
      const after = updatedBytes(operation, change);
      if (operation.moveTo === null) {
        stage.put({ ...change, after });
        return;
      }
      stageMove(change, after, stage.parse(operation.moveTo), stage);
    }
  }
}

function updatedBytes(operation: Extract<PatchOperation, { kind: 'update' }>, change: FileChange): Buffer {
  const shown = change.path.shown;
  if (change.after === null) throw refused('update_target_not_found', `${shown} does not exist; add it instead`);
  const text = decodeUtf8(change.after);
  if (text === null) throw refused('update_target_non_utf8', `${shown} is not UTF-8 text and cannot be patched`);
  const after = Buffer.from(applyHunks(text, operation.hunks, shown), 'utf8');
  if (after.length > FILE_BYTES_MAX) throw refused('file_too_large', `${shown} would exceed ${FILE_BYTES_MAX} bytes`);
  return after;
}

function stageMove(from: FileChange, after: Buffer, to: WorkspacePath, stage: Stage): void {
  const target = stage.look(to);
  if (target.after !== null)
    throw refused('move_target_exists', `${to.shown} exists; delete it first or choose another`);
  stage.put({ ...from, after: null });
  stage.put({ ...stage.look(to), after, like: from.like });
}

function writablePath(workspace: Workspace, raw: string): WorkspacePath {
  return recoding({ forbidden: 'path_forbidden' }, () => {
    const path = workspace.parse(raw);
    if (path.names.length === 0) throw refused('invalid_path', 'a patch must name files, not the workspace itself');
    refuseProtected(path);
    return path;
  });
}

const readCodes = { forbidden: 'path_forbidden', not_directory: 'invalid_path', is_directory: 'invalid_path' };

function readChange(workspace: Workspace, path: WorkspacePath): FileChange {
  return recoding(readCodes, () => {
    const stats = findEntry(workspace, path);
    if (stats === null) return { path, before: null, after: null, like: null };
    const { bytes, stats: opened } = readWhole(workspace, path);
    return { path, before: bytes, after: bytes, like: attributesOf(opened) };
  });
}

function findEntry(workspace: Workspace, path: WorkspacePath): ReturnType<typeof findReplaceable> {
  try {
    return withParent(workspace, path, findReplaceable);
  } catch (error) {
    // A missing directory is made when the patch is written, as long as nothing else stands in its place.
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
