// A path argument, read lexically: which names lead from the workspace to it. No file system is asked. Because no
// component may be a symbolic link, removing `name/..` here means the same as walking it.
import { NAME_BYTES_MAX, PATH_CHARS_MAX, PATH_DEPTH_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';

export interface WorkspacePath {
  /** Names from the workspace downwards; none for the workspace itself. */
  readonly names: readonly string[];
  /** The same, as the model reads it: relative, without `./`, `.` for the workspace. */
  readonly shown: string;
}

/** Directories no tool may write below. Tools of the host's user run what lies there (hooks, config). */
const WRITE_PROTECTED: ReadonlySet<string> = new Set(['.git']);

/** Reads a relative path, or an absolute one that lies inside one of `roots` (spellings of the workspace). */
export function parsePath(raw: string, roots: readonly string[]): WorkspacePath {
  if (raw === '' || raw.includes('\0') || raw.length > PATH_CHARS_MAX) {
    throw new ToolFault('invalid_path', 'a path must have 1 to 4096 characters and no NUL; give a relative path');
  }
  const names: string[] = [];
  for (const name of relativePart(raw, roots).split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') names.push(name);
    else if (names.pop() === undefined) throw outside(raw);
  }
  if (names.length > PATH_DEPTH_MAX || names.some((name) => Buffer.byteLength(name) > NAME_BYTES_MAX)) {
    throw new ToolFault(
      'invalid_path',
      `a path has at most ${PATH_DEPTH_MAX} names of ${NAME_BYTES_MAX} bytes each; choose a shorter one`,
    );
  }
  return pathOf(names);
}

export const pathOf = (names: readonly string[]): WorkspacePath => ({
  names,
  shown: names.length === 0 ? '.' : showPath(names.join('/')),
});

/** A path as it may stand in a line of output: a name with a line break in it cannot pass for two lines. */
export const showPath = (path: string): string =>
  /[\p{Cc}\u2028\u2029]/u.test(path) ? JSON.stringify(path).replaceAll('\u007f', '\\u007f') : path;

/** Throws `forbidden` for what may be read but never written. */
export function refuseProtected(path: WorkspacePath): void {
  // Compared without case: some file systems fold it, and nobody needs a `.GIT` of their own.
  const name = path.names.find((part) => WRITE_PROTECTED.has(part.toLowerCase()));
  if (name === undefined) return;
  throw new ToolFault('forbidden', `${path.shown} lies in ${name}, which tools may read but never write`);
}

function relativePart(raw: string, roots: readonly string[]): string {
  if (!raw.startsWith('/')) return raw;
  const root = roots.find((candidate) => raw === candidate || raw.startsWith(`${candidate}/`));
  if (root === undefined) throw outside(raw);
  return raw.slice(root.length);
}

const outside = (raw: string): ToolFault =>
  new ToolFault('forbidden', `${showPath(raw)} lies outside the workspace; give a path relative to the workspace`);
