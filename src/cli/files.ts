// Reads the files that commands take, and describes why a file cannot be read or written.
import { readFile, stat } from 'node:fs/promises';
import { reasonOf } from '../files/file-failure.ts';
import { CommandFailure } from './output.ts';

/** The text of a file of at most `bytesMax` bytes. Ends the command when it cannot be read. */
export async function readText(path: string, bytesMax: number): Promise<string> {
  const unreadable = (error: unknown): never => {
    throw cannotRead(path, error);
  };
  const { size } = await stat(path).catch(unreadable);
  if (size > bytesMax) unreadable(new Error(`it has ${size} bytes; the limit is ${bytesMax}`));
  return await readFile(path, 'utf8').catch(unreadable);
}

/** `words` overrides the words for a code of the platform. */
export const cannotRead = (path: string, error: unknown, words?: Readonly<Record<string, string>>): CommandFailure =>
  new CommandFailure('file_unreadable', `cannot read ${path}: ${reasonOf(error, words)}`);

export const cannotWrite = (path: string, error: unknown): CommandFailure =>
  new CommandFailure('file_unwritable', `cannot write ${path}: ${reasonOf(error, { ENOENT: 'no such directory' })}`);
