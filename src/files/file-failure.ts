// What an error of the file system means to the caller, and how it is reported.
import { getSystemErrorMap } from 'node:util';
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';

/** The platform's code (such as `ENOENT`) of an error of the file system; null for any other error. */
export const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && 'syscall' in error && typeof error.code === 'string' ? error.code : null;

/**
 * Why a call of the file system or the network failed, in plain words and without the path, which the caller names; for any
 * other error, its message. `words` overrides the words for a code.
 */
export function reasonOf(error: unknown, words: Readonly<Record<string, string>> = {}): string {
  if (!(error instanceof Error)) return String(error);
  const { code = '', errno, message } = error as NodeJS.ErrnoException;
  // An error without a number does not come from the operating system, so its message is used.
  if (errno === undefined) return message;
  return words[code] ?? WORDS[code] ?? getSystemErrorMap().get(errno)?.[1] ?? message;
}

/** Like {@link reasonOf}, with the path of the file, for a caller that does not name it. */
export function whatFailed(error: unknown): string {
  const { path } = error as NodeJS.ErrnoException;
  return codeOf(error) === null || path === undefined ? reasonOf(error) : `${path}: ${reasonOf(error)}`;
}

/** Codes whose description by the platform is unclear. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EEXIST: 'it exists already',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is not a directory',
};

/** The rejection for an error of the file system while `doing`; throws any other error again. */
export function fileFailure(doing: string, error: unknown): Rejection {
  if (codeOf(error) === null) throw error;
  const message = error instanceof Error ? error.message : '';
  return reject(storageCode(`${codeOf(error)} ${message}`), '', `${doing}: ${withRemedy(message)}`);
}

/** The message of a failure, followed by what to do when the disk is not at fault. */
export function withRemedy(failure: string): string {
  const remedy = REMEDIES.find(([pattern]) => pattern.test(failure));
  return remedy === undefined ? failure : `${failure}; ${remedy[1]}`;
}

// The codes of Node, and the texts of strerror(3) that LevelDB passes on.
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/\bEACCES\b|\bEPERM\b|Permission denied|Operation not permitted/, 'run it as the user that owns these files'],
  [/\bEROFS\b|Read-only file system/, 'even a read needs a writable directory: work on a copy'],
];

/** `storage_full` when the message of a failure says that no space or quota is left, else `storage_failed`. */
export const storageCode = (failure: string): RejectionCode => (FULL.test(failure) ? 'storage_full' : 'storage_failed');

// The codes of Node, and the texts of strerror(3) that LevelDB passes on.
const FULL = /\bENOSPC\b|\bEDQUOT\b|No space left on device|Disk quota exceeded/;
