// What a failure of the file system means to those who asked: a rejection, or a fault of ours.
import { getSystemErrorMap } from 'node:util';
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';

/** The platform's code (`ENOENT`) of what a call of the file system threw; null for anything else. */
export const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && 'syscall' in error && typeof error.code === 'string' ? error.code : null;

/**
 * Why a call of the file system or the network failed, in plain words and without the path, which whoever tells it has
 * named; of anything else, what it says itself. `words` goes before what is said of a code elsewhere.
 */
export function reasonOf(error: unknown, words: Readonly<Record<string, string>> = {}): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '', errno, message } = error as NodeJS.ErrnoException;
  // What bears a code and no number has words of its own.
  if (errno === undefined) return message;
  return words[code] ?? WORDS[code] ?? getSystemErrorMap().get(errno)?.[1] ?? message;
}

/** Likewise with the file that it was, for those who have not named it. */
export function whatFailed(error: unknown): string {
  const { path } = error as NodeJS.ErrnoException;
  return codeOf(error) === null || path === undefined ? reasonOf(error) : `${path}: ${reasonOf(error)}`;
}

/** Where the words of the platform are not those of people. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EEXIST: 'it is there already',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
};

/** The rejection for what was thrown while `doing`; throws again what the file system did not throw. */
export function fileFailure(doing: string, error: unknown): Rejection {
  if (codeOf(error) === null) throw error;
  const message = error instanceof Error ? error.message : '';
  return reject(storageCode(`${codeOf(error)} ${message}`), '', `${doing}: ${withRemedy(message)}`);
}

/** What a failure of the file system says, and what to do where no disk is at fault. */
export function withRemedy(failure: string): string {
  const remedy = REMEDIES.find(([pattern]) => pattern.test(failure));
  return remedy === undefined ? failure : `${failure}; ${remedy[1]}`;
}

// The codes of Node, and the texts of strerror(3) that LevelDB passes on.
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/\bEACCES\b|\bEPERM\b|Permission denied|Operation not permitted/, 'run it as the user whose files these are'],
  [/\bEROFS\b|Read-only file system/, 'even what only reads needs a directory that can be written: work on a copy'],
];

/** `storage_full` when a failure says that there is no space or no quota left, else `storage_failed`. */
export const storageCode = (failure: string): RejectionCode => (FULL.test(failure) ? 'storage_full' : 'storage_failed');

// The codes of Node, and the texts of strerror(3) that LevelDB passes on.
const FULL = /\bENOSPC\b|\bEDQUOT\b|No space left on device|Disk quota exceeded/;
