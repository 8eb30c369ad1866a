// Directories that survive a power cut: a new entry is on disk only after the directory that contains it is synced.
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const PRIVATE = { mode: 0o700 };

/** Creates a directory and its missing parents, with mode 0700, and syncs the directories that contain them. */
export async function makeDirectory(path: string): Promise<void> {
  const making = missing(resolve(path));
  let step = making.next();
  while (step.done !== true) step = making.next(await tryToMake(step.value));
  for (const made of step.value.toReversed()) await syncDirectory(dirname(made));
}

/** Like {@link makeDirectory}, but synchronous and without a sync: for directories that need not survive a power cut. */
export function makeDirectoryNow(path: string): void {
  const making = missing(resolve(path));
  let step = making.next();
  while (step.done !== true) step = making.next(tryToMakeNow(step.value));
}

/** The result of an attempt to create one directory; another process may have created it before. */
type Attempt = 'made' | 'exists' | NodeJS.ErrnoException;

/**
 * Yields the directories to try, one after the other, and returns those that were created, the outermost first. Node's
 * recursive mkdir never ends where the kernel returns ENOENT for a new entry in an existing directory, as in /proc.
 */
function* missing(path: string): Generator<string, readonly string[], Attempt> {
  const above = dirname(path);
  let made: readonly string[] = [];
  let attempt = yield path;
  if (isNoSuch(attempt) && above !== path) {
    made = yield* missing(above);
    attempt = yield path;
    if (isNoSuch(attempt)) throw cannotCreateIn(above, attempt);
  }
  if (attempt === 'exists') return made;
  if (attempt === 'made') return [...made, path];
  throw attempt;
}

const isNoSuch = (attempt: Attempt): attempt is NodeJS.ErrnoException =>
  typeof attempt === 'object' && attempt.code === 'ENOENT';

const cannotCreateIn = (directory: string, { code, syscall, path }: NodeJS.ErrnoException): Error =>
  Object.assign(new Error(`cannot create a directory in ${directory}; choose another path`), { code, syscall, path });

async function tryToMake(path: string): Promise<Attempt> {
  try {
    await mkdir(path, PRIVATE);
    return 'made';
  } catch (error) {
    const stats = await stat(path).catch(() => null);
    return stats?.isDirectory() === true ? 'exists' : (error as NodeJS.ErrnoException);
  }
}

function tryToMakeNow(path: string): Attempt {
  try {
    mkdirSync(path, PRIVATE);
    return 'made';
  } catch (error) {
    return isDirectory(path) ? 'exists' : (error as NodeJS.ErrnoException);
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
