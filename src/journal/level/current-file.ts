// Finds the manifest of a LevelDB database, which the file CURRENT names. When CURRENT is missing, LevelDB creates a new
// database and deletes the tables of the old one; when it is damaged, LevelDB does not open the database. Except
// for a moment during an opening there is exactly one manifest, so CURRENT can be restored.
import type { Buffer } from 'node:buffer';
import { open, readFile, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '../../files/directories.ts';
import { codeOf, withRemedy } from '../../files/file-failure.ts';
import { readManifest } from './manifest.ts';
import { refuseWhenOpen } from './lock.ts';
import { refuse } from '../refusal.ts';

export interface Manifest {
  readonly name: string;
  /** Null when no manifest is usable. */
  readonly bytes: Buffer | null;
}

/** Null when there is no database yet. */
export async function findManifest(directory: string): Promise<Manifest | null> {
  try {
    return await readNamed(directory);
  } catch (error) {
    // A path that is not a directory is reported by LevelDB itself.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
    if (!(error instanceof Error) || codeOf(error) === null) throw error;
    return refuse('storage_failed', `verifying the journal: ${withRemedy(error.message)}`);
  }
}

async function readNamed(directory: string): Promise<Manifest | null> {
  const names = await readdir(directory);
  const current = names.includes('CURRENT') ? await readFile(join(directory, 'CURRENT'), 'latin1') : '';
  const named = /^(MANIFEST-\d+)\n$/.exec(current)?.[1];
  if (named !== undefined && names.includes(named)) {
    return { name: named, bytes: await readFile(join(directory, named)) };
  }
  // A database whose creation was interrupted has neither tables nor logs.
  if (!names.some((name) => /^\d+\.(?:ldb|sst|log)$/.test(name))) return null;
  const manifests = names.filter((name) => /^MANIFEST-\d+$/.test(name));
  const [only] = manifests;
  const bytes = only === undefined || manifests.length > 1 ? null : await readFile(join(directory, only));
  if (only === undefined || bytes === null || readManifest(bytes).fault !== null)
    return { name: 'CURRENT', bytes: null };
  await refuseWhenOpen(directory);
  await writeCurrent(directory, only);
  return { name: only, bytes };
}

async function writeCurrent(directory: string, manifest: string): Promise<void> {
  const temporary = join(directory, 'CURRENT.tmp');
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(`${manifest}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(directory, 'CURRENT'));
  await syncDirectory(directory);
}
