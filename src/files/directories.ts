// Directories that survive a power cut: a new entry is on disk only once the directory that holds it is synced.
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const PRIVATE = { mode: 0o700 };

/** Makes a directory and those above it that are missing, with mode 0700, and syncs what holds them. */
export async function makeDirectory(path: string): Promise<void> {
  const making = missing(resolve(path));
  let step = making.next();
  while (step.done !== true) step = making.next(await tryToMake(step.value));
  for (const made of step.value.toReversed()) await syncDirectory(dirname(made));
}

/** Likewise at once, and syncs nothing: for what need not survive a power cut. */
export function makeDirectoryNow(path: string): void {
  const making = missing(resolve(path));
  let step = making.next();
  while (step.done !== true) step = making.next(tryToMakeNow(step.value));
}

/** What became of an attempt to make one directory: somebody else may have made it before. */
type Attempt = 'made' | 'there' | NodeJS.ErrnoException;

/**
 * The directories to try, one after the other; gives those that were made, the outermost first. Node's own way of making
 * several tries for ever where the kernel says of a directory in one that is there that there is no such thing: in /proc.
 */
function* missing(path: string): Generator<string, readonly string[], Attempt> {
  const above = dirname(path);
  let made: readonly string[] = [];
  let attempt = yield path;
  if (isNoSuch(attempt) && above !== path) {
    made = yield* missing(above);
    attempt = yield path;
    if (isNoSuch(attempt)) throw noRoomIn(above, attempt);
  }
  if (attempt === 'there') return made;
  if (attempt === 'made') return [...made, path];
  throw attempt;
}

const isNoSuch = (attempt: Attempt): attempt is NodeJS.ErrnoException =>
  typeof attempt === 'object' && attempt.code === 'ENOENT';

const noRoomIn = (directory: string, { code, syscall, path }: NodeJS.ErrnoException): Error =>
  Object.assign(new Error(`no directory can be made in ${directory}; choose another place`), { code, syscall, path });

async function tryToMake(path: string): Promise<Attempt> {
  try {
    await mkdir(path, PRIVATE);
    return 'made';
  } catch (error) {
    const there = await stat(path).catch(() => null);
    return there?.isDirectory() === true ? 'there' : (error as NodeJS.ErrnoException);
  }
}

function tryToMakeNow(path: string): Attempt {
  try {
    mkdirSync(path, PRIVATE);
    return 'made';
  } catch (error) {
    return isDirectory(path) ? 'there' : (error as NodeJS.ErrnoException);
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
