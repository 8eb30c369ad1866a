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
import { type TornTail, closedLog } from './level-tail.ts';
import { refuse } from './refusal.ts';

/**
 * Refuses a database as `damaged` when a table or a log is. A last write that is torn is none of it, unless the log was
 * whole when the database was closed: a crash leaves one behind, it was never acknowledged, and LevelDB drops it. These are given back.
 */
export async function verifyLevelFiles(directory: string): Promise<readonly TornTail[]> {
  const current = await readIfThere(join(directory, 'CURRENT'));
  // A name that is none, and a file that is missing, LevelDB itself reports.
  const manifestName = /^(MANIFEST-\d+)\n$/.exec(current?.toString('latin1') ?? '')?.[1];
  if (manifestName === undefined) return [];
  const manifest = await readIfThere(join(directory, manifestName));
  if (manifest === null) return [];
  const live = readManifest(manifest);
  const whole = await closedLog(directory);
  const torn: TornTail[] = [];
  for (const name of await readdir(directory)) {
    const kind = kindOf(name, live);
    const bytes = kind === null ? null : await readIfThere(join(directory, name));
    if (bytes === null) continue;
    const { faultAt } = kind === 'log' ? readLog(bytes) : { faultAt: null };
    const fault =
      kind === 'log'
        ? logFault(bytes, faultAt, whole?.file === name && whole.size === bytes.length)
        : tableFault(bytes);
    if (fault !== null) refuse('damaged', `${name} of the journal: ${fault}; restore it from a backup or an export`);
    if (faultAt !== null) torn.push({ file: name, offset: faultAt, bytes: bytes.length - faultAt });
  }
  return torn;
}

/** What a file holds of the database, or null for one that holds nothing of it. */
function kindOf(name: string, live: LiveFiles): 'log' | 'table' | null {
  const [, digits = '', kind] = /^(\d+)\.(ldb|sst|log)$/.exec(name) ?? [];
  const number = Number(digits);
  if (kind === 'log') return live.isLiveLog(number) ? 'log' : null;
  return kind !== undefined && live.tables.has(number) ? 'table' : null;
}

/** What is wrong with a log that has its first fault there, or null. */
function logFault(log: Buffer, faultAt: number | null, wasClosed: boolean): string | null {
  if (faultAt === null) return null;
  if (wasClosed) return `the write at ${faultAt} does not have its checksum, and it had when the journal was closed`;
  return isFollowed(log, faultAt) ? `the write at ${faultAt} does not have its checksum, and others follow it` : null;
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
