// Parses a path argument lexically into the names that lead to it from the workspace, without access to the file system.
// Because no component may be a symbolic link, removing `name/..` here gives the same result as walking it.
import { NAME_BYTES_MAX, PATH_CHARS_MAX, PATH_DEPTH_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';

export interface WorkspacePath {
  /** Names from the workspace downwards; none for the workspace itself. */
  readonly names: readonly string[];
  /** The same for the model: relative, without `./`; `.` is the workspace. */
  readonly shown: string;
}

/**
 * Working copies of git, Mercurial, Jujutsu, Sapling, Darcs, Pijul, Bazaar, Monotone, Fossil and repo: each of these programs
 * runs commands, or code, that the configuration in one names.
 */
export const REPOSITORY_NAMES: readonly string[] = [
  '.git',
  '.hg',
  '.jj',
  '.sl',
  '_darcs',
  '.pijul',
  '.bzr',
  '_MTN',
  '.fslckout',
  '_FOSSIL_',
  '.repo',
];

/** Whether an entry of this name makes the directory above it a repository, in which no tool may write. */
export const isRepositoryName = (name: string): boolean =>
  // Compared without case, because some file systems ignore it.
  FOLDED_NAMES.has(name.toLowerCase());

const FOLDED_NAMES: ReadonlySet<string> = new Set(REPOSITORY_NAMES.map((name) => name.toLowerCase()));

/** Parses a relative path, or an absolute one inside one of `roots` (the workspace's path, with and without links). */
export function parsePath(raw: string, roots: readonly string[]): WorkspacePath {
  if (raw === '' || raw.includes('\0') || raw.length > PATH_CHARS_MAX) {
    throw new ToolFault(
      'invalid_path',
      `a path must have 1 to ${PATH_CHARS_MAX} characters and no NUL; give a path relative to the workspace`,
    );
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
      `a path must have at most ${PATH_DEPTH_MAX} names of at most ${NAME_BYTES_MAX} bytes each; choose a shorter path`,
    );
  }
  return pathOf(names);
}

export const pathOf = (names: readonly string[]): WorkspacePath => ({
  names,
  shown: names.length === 0 ? '.' : showPath(names.join('/')),
});

/** A path for one line of output: one with control characters or bytes that are not UTF-8 is quoted, so that it has one line. */
export const showPath = (path: string): string =>
  /[\p{Cc}\p{Cs}\u2028\u2029]/u.test(path)
    ? JSON.stringify(path)
        .replaceAll('\u007f', '\\u007f')
        .replaceAll(/\\\\|\\udc([89a-f][0-9a-f])/g, (escape, byte?: string) =>
          byte === undefined ? escape : `\\x${byte}`,
        )
    : path;

/** Throws `forbidden` for a path that tools may read but must not write. */
export function refuseProtected(path: WorkspacePath): void {
  const name = path.names.find(isRepositoryName);
  if (name === undefined) return;
  throw new ToolFault(
    'forbidden',
    `${path.shown} lies in ${name}, which tools may read but must not write; choose another path`,
  );
}

function relativePart(raw: string, roots: readonly string[]): string {
  if (!raw.startsWith('/')) return raw;
  const root = roots.find((candidate) => raw === candidate || raw.startsWith(`${candidate}/`));
  if (root === undefined) throw outside(raw);
  return raw.slice(root.length);
}

const outside = (raw: string): ToolFault =>
  new ToolFault('forbidden', `${showPath(raw)} lies outside the workspace; give a path relative to the workspace`);
