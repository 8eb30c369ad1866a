// Reads a journal whose disk is full. LevelDB writes when it opens: it turns the log into a table and begins new files. So it
// opens a copy on another disk, in which the tables are links to the originals. Nothing in the journal itself is changed.
import { copyFile, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { codeOf } from '../../files/file-failure.ts';
import { Refusal, refuse } from '../refusal.ts';
import type { Store } from '../store.ts';
import { openLevelStore } from './store.ts';

/** Directories that are often on different disks. */
const PLACES: readonly string[] = [tmpdir(), '/dev/shm', '/run'];

/** Opens the database in `directory` for reading; `full` is thrown when no place has space for the copy. */
export async function openReadOnlyStore(directory: string, full: Refusal): Promise<Store> {
  for (const place of new Set(PLACES)) {
    const copy = await mkdtemp(join(place, 'refold-read-only-')).catch(() => null);
    if (copy === null) continue;
    const remove = (): Promise<void> => rm(copy, { recursive: true, force: true });
    try {
      await fillCopy(resolve(directory), copy);
      const store = await openLevelStore(copy);
      const check = (): never => refuse(full.rejection.code, full.rejection.message);
      const write = async (): Promise<never> => check();
      return { ...store, isReadOnly: true, check, write, compact: write, close: () => store.close().finally(remove) };
    } catch (error) {
      await remove();
      const isFull = error instanceof Refusal && error.rejection.code === 'storage_full';
      if (!isFull && codeOf(error) === null) throw error;
    }
  }
  throw full;
}

async function fillCopy(directory: string, copy: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const [from, to] = [join(directory, name), join(copy, name)];
    if (/^\d+\.(?:ldb|sst)$/.test(name)) await symlink(from, to);
    else if (/^(?:\d+\.log|MANIFEST-\d+|CURRENT)$/.test(name)) await copyFile(from, to);
  }
}
