// Verifies the files of a LevelDB database before it is opened. LevelDB keeps a checksum beside every block, but its
// binding for Node verifies none in tables: most flipped bits come back as silently wrong values, and some fail an
// assertion in native code that ends the process. Of a damaged log it drops what it cannot read, acknowledged writes
// among it, and says nothing. Only its manifest it verifies itself.
import type { Buffer } from 'node:buffer';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './file-failure.ts';
import type { KeySpan } from './key-spans.ts';
import { findManifest } from './level-current.ts';
import { isFollowed, isWholeToTheEnd, readLog } from './level-log.ts';
import { type LiveFiles, readManifest } from './level-manifest.ts';
import { type TableFault, tableFault } from './level-table.ts';
import { type TornTail, closedLog } from './level-tail.ts';
import { refuse } from './refusal.ts';

export interface LevelFile {
  readonly name: string;
  readonly path: string;
}

export interface TableFile extends LevelFile {
  readonly span: KeySpan;
}

export interface DamagedTable extends TableFault {
  readonly name: string;
}

export interface VerifiedFiles {
  /** Those that can be read at least in part. */
  readonly tables: readonly TableFile[];
  readonly logs: readonly LevelFile[];
  readonly damaged: readonly DamagedTable[];
  /** Last writes that a crash tore: they were never acknowledged, and LevelDB drops them. */
  readonly torn: readonly TornTail[];
}

const NOTHING: VerifiedFiles = { tables: [], logs: [], damaged: [], torn: [] };
const NEXT = 'restore the data directory from a backup, or import exports of its sessions into another one';

/**
 * Which files a database is made of, and which of its tables are damaged. Refuses it as `damaged` when a log is, because
 * nobody can tell whose writes were in it, or when the manifest is and so it cannot be told which tables there are.
 */
export async function verifyLevelFiles(directory: string): Promise<VerifiedFiles> {
  const found = await findManifest(directory);
  if (found === null) return NOTHING;
  const live = readManifest(found.bytes);
  if (live.faultAt !== null && isWholeToTheEnd(found.bytes, live.faultAt)) {
    refuse('damaged', `${found.name} of the journal: the edit at ${live.faultAt} does not have its length; ${NEXT}`);
  }
  const { logs, torn } = await verifyLogs(directory, live);
  const { tables, damaged } = await verifyTables(directory, live);
  const [first] = damaged;
  if (first !== undefined && !live.isWhole) {
    refuse('damaged', `${first.name} of the journal: ${first.message}, and ${found.name} is torn; ${NEXT}`);
  }
  return { tables, logs, damaged, torn };
}

async function verifyLogs(directory: string, live: LiveFiles): Promise<Pick<VerifiedFiles, 'logs' | 'torn'>> {
  const whole = await closedLog(directory);
  const logs: LevelFile[] = [];
  const torn: TornTail[] = [];
  for (const name of (await readdir(directory)).sort()) {
    const [, digits] = /^(\d+)\.log$/.exec(name) ?? [];
    if (digits === undefined || !live.isLiveLog(Number(digits))) continue;
    const path = join(directory, name);
    const bytes = await readIfThere(path);
    if (bytes === null) continue;
    const { faultAt } = readLog(bytes);
    const fault = logFault(bytes, faultAt, whole?.file === name && whole.size === bytes.length);
    if (fault !== null) refuse('damaged', `${name} of the journal: ${fault}; ${NEXT}`);
    if (faultAt !== null) torn.push({ file: name, offset: faultAt, bytes: bytes.length - faultAt });
    logs.push({ name, path });
  }
  return { logs, torn };
}

async function verifyTables(directory: string, live: LiveFiles): Promise<Pick<VerifiedFiles, 'tables' | 'damaged'>> {
  const names = new Map<number, string>();
  for (const name of await readdir(directory)) {
    const [, digits] = /^(\d+)\.(?:ldb|sst)$/.exec(name) ?? [];
    if (digits !== undefined) names.set(Number(digits), name);
  }
  const tables: TableFile[] = [];
  const damaged: DamagedTable[] = [];
  for (const [number, span] of live.tables) {
    const name = names.get(number) ?? `${String(number).padStart(6, '0')}.ldb`;
    const path = join(directory, name);
    const bytes = await readIfThere(path);
    const fault = bytes === null ? { message: 'it is missing', lost: [span] } : tableFault(bytes, span);
    if (fault !== null) damaged.push({ name, ...fault });
    if (bytes !== null) tables.push({ name, path, span });
  }
  return { tables, damaged };
}

/** What is wrong with a log that has its first fault there, or null. */
function logFault(log: Buffer, faultAt: number | null, wasClosed: boolean): string | null {
  if (faultAt === null) return null;
  if (wasClosed) return `the write at ${faultAt} does not have its checksum, and it had when the journal was closed`;
  if (isWholeToTheEnd(log, faultAt)) return `the write at ${faultAt} does not have its length`;
  return isFollowed(log, faultAt) ? `the write at ${faultAt} does not have its checksum, and others follow it` : null;
}

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    if (!(error instanceof Error) || codeOf(error) === null) throw error;
    return refuse('storage_failed', `verifying the journal: ${error.message}`);
  }
}
