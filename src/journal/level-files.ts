// Verifies the files of a LevelDB database before it is opened. LevelDB keeps a checksum beside every block, but its
// binding for Node verifies none in tables: most flipped bits come back as silently wrong values, and some fail an
// assertion in native code that ends the process. Of a damaged log it drops what it cannot read, acknowledged writes
// among it, and says nothing. Only its manifest it verifies itself.
import type { Buffer } from 'node:buffer';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isFollowed, readLog } from './level-log.ts';
import { type LiveFiles, readManifest } from './level-manifest.ts';
import { tableFault } from './level-table.ts';
import { refuse } from './refusal.ts';

/**
 * Refuses a database as `damaged` when a table or a log is. A last write that is torn is none of it: a crash leaves
 * one behind, it was never acknowledged, and LevelDB drops it.
 */
export async function verifyLevelFiles(directory: string): Promise<void> {
  const current = await readIfThere(join(directory, 'CURRENT'));
  // A name that is none, and a file that is missing, LevelDB itself reports.
  const manifestName = /^(MANIFEST-\d+)\n$/.exec(current?.toString('latin1') ?? '')?.[1];
  if (manifestName === undefined) return;
  const manifest = await readIfThere(join(directory, manifestName));
  if (manifest === null) return;
  const live = readManifest(manifest);
  for (const name of await readdir(directory)) {
    const faultOf = checkFor(name, live);
    const bytes = faultOf === null ? null : await readIfThere(join(directory, name));
    const fault = bytes === null ? null : (faultOf?.(bytes) ?? null);
    if (fault !== null) refuse('damaged', `${name} of the journal: ${fault}; restore it from a backup or an export`);
  }
}

/** How to verify a file, or null for one that holds nothing of the database. */
function checkFor(name: string, live: LiveFiles): ((bytes: Buffer) => string | null) | null {
  const [, digits = '', kind] = /^(\d+)\.(ldb|sst|log)$/.exec(name) ?? [];
  const number = Number(digits);
  if (kind === 'log') return live.isLiveLog(number) ? logFault : null;
  return kind !== undefined && live.tables.has(number) ? tableFault : null;
}

/** What is wrong with a log, or null. */
function logFault(log: Buffer): string | null {
  const { faultAt } = readLog(log);
  if (faultAt === null || !isFollowed(log, faultAt)) return null;
  return `the write at ${faultAt} does not have its checksum, and others follow it`;
}

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    return refuse('storage_failed', `verifying the journal: ${error.message}`);
  }
}
