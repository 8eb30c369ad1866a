// A directory that gets its name only when it is complete: until then it has another name and a mark, so that nobody takes it
// for a whole one, and a later attempt may delete it.
import { readdir, realpath, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { makeDirectory, syncDirectory } from '../files/directories.ts';
import { codeOf, storageCode } from '../files/file-failure.ts';
import { CommandFailure } from './output.ts';

const MARK = 'UNFINISHED';

export interface Unfinished {
  readonly directory: string;
  /** Gives the directory its name. */
  finish(): Promise<void>;
}

/** Begins to make `path`, which must not exist or be empty. */
export async function beginDirectory(path: string): Promise<Unfinished> {
  const names = await namesIn(path);
  if (names !== null && names.length > 0) {
    throw new CommandFailure('invalid_shape', `${path} is not empty; name a directory that does not exist`);
  }
  const directory = `${path}.partial`;
  const left = await namesIn(directory);
  if (left !== null && left.length > 0 && !left.includes(MARK)) {
    throw new CommandFailure(
      'invalid_shape',
      `${directory} is in the way, and was not left by an earlier attempt; move it`,
    );
  }
  await rm(directory, { recursive: true, force: true });
  await makeDirectory(directory);
  await writeFile(join(directory, MARK), 'This directory is not complete. Do not use it.\n', { mode: 0o600 });
  return {
    directory,
    async finish() {
      await rm(join(directory, MARK));
      await syncDirectory(directory);
      if (names !== null) await rmdir(path);
      await rename(directory, path);
      await syncDirectory(dirname(path));
    },
  };
}

/** A copy inside its original would be lost with it, and would be in the way of the engine. */
export async function refuseInside(original: string, target: string): Promise<void> {
  const parent = await realpath(dirname(resolve(target))).catch(() => dirname(resolve(target)));
  const below = relative(await realpath(original), join(parent, basename(target)));
  if (below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) return;
  throw new CommandFailure(
    'invalid_shape',
    `${target} is inside ${original}, of which it would be a copy; name a place outside it`,
  );
}

/** Runs work that fills such a directory, for `path`; on a full disk, its failure says what to do. */
export async function tellFull<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (storageCode(`${codeOf(error)} ${error instanceof Error ? error.message : ''}`) !== 'storage_full') throw error;
    const next = 'free some space there, or name another place, and run it again';
    throw new CommandFailure('storage_full', `the disk is full, so ${path} was not made; ${next}`);
  }
}

/** Whether it was left by an attempt that did not finish. */
export const isUnfinished = (path: string): Promise<boolean> =>
  stat(join(path, MARK)).then(
    () => true,
    () => false,
  );

async function namesIn(path: string): Promise<readonly string[] | null> {
  try {
    return await readdir(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    if (codeOf(error) === 'ENOTDIR') throw new CommandFailure('invalid_shape', `${path} is not a directory`);
    throw error;
  }
}
