// Reads files of the journal that may be missing.
import type { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { codeOf, fileFailure } from '../../files/file-failure.ts';
import { Refusal } from '../refusal.ts';

/** The content of a file; null when the file does not exist. */
export async function readFileOrNull(path: string, doing: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new Refusal(fileFailure(doing, error));
  }
}
