// What a failure of the file system means to those who asked: a rejection, or a fault of ours.
import type { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';
import { Refusal } from './refusal.ts';

/** The platform's code (`ENOENT`) of what a call of the file system threw; null for anything else. */
export const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && 'syscall' in error && typeof error.code === 'string' ? error.code : null;

/** The rejection for what was thrown while `doing`; throws again what the file system did not throw. */
export function fileFailure(doing: string, error: unknown): Rejection {
  if (codeOf(error) === null) throw error;
  const message = error instanceof Error ? error.message : '';
  return reject(storageCode(`${codeOf(error)} ${message}`), '', `${doing}: ${message}`);
}

/** `storage_full` when a failure says that there is no space or no quota left, else `storage_failed`. */
export const storageCode = (failure: string): RejectionCode => (FULL.test(failure) ? 'storage_full' : 'storage_failed');

// The codes of Node, and the texts of strerror(3) that LevelDB passes on.
const FULL = /\bENOSPC\b|\bEDQUOT\b|No space left on device|Disk quota exceeded/;

/** Null when there is no such file. */
export async function readIfThere(path: string, doing: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new Refusal(fileFailure(doing, error));
  }
}
