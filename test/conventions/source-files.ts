// The text files of the repository, as the checks of this folder read them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface SourceFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every file under version control or new in the work tree; paths only, sorted. */
export const repositoryPaths = (): readonly string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  })
    .split('\n')
    .filter((path) => path !== '')
    .sort();

/** The files whose path matches and that exist in the work tree. */
export const sourceFiles = (matches: RegExp): readonly SourceFile[] =>
  repositoryPaths()
    .filter((path) => matches.test(path))
    .flatMap((path) => {
      const text = readIfPresent(`${ROOT}${path}`);
      return text === null ? [] : [{ path, text }];
    });

// A file that was deleted and not yet committed is still listed.
function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** `path:line` of an offset in a file's text. */
export const placeOf = ({ path, text }: SourceFile, offset: number): string =>
  `${path}:${text.slice(0, offset).split('\n').length}`;
