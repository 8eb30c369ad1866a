// Verifies the files of a LevelDB database before it is opened. LevelDB stores a checksum with every block, but its binding
// for Node does not verify the checksums in tables: most flipped bits are returned as wrong values without an error, and
// some fail an assertion in native code, which ends the process. From a damaged log LevelDB drops what it cannot read,
// including acknowledged writes, without an error. From a manifest that is zeroed at its end it restores an older state, and
// deletes the files that this state does not name.
import { Buffer } from 'node:buffer';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readFileOrNull } from './read-file-or-null.ts';
import type { KeySpan } from './key-spans.ts';
import { readClosed } from './closed-file.ts';
import { type Manifest, findManifest } from './current-file.ts';
import { type FileFault, type VerifiedLogs, verifyLogs } from './verify-logs.ts';
import { type LiveFiles, readManifest } from './manifest.ts';
import { type TableFault, spanOfTable, verifyTable } from './table.ts';
import { refuse } from '../refusal.ts';

export interface TableFile {
  readonly name: string;
  readonly path: string;
  readonly span: KeySpan;
}

export interface VerifiedFiles extends VerifiedLogs {
  /** The tables that can be read at least in part. */
  readonly tables: readonly TableFile[];
  /** Spans in which keys of tables may be lost. */
  readonly lost: readonly KeySpan[];
  /** Damage that LevelDB must not read: the journal has to be rebuilt from the readable parts. */
  readonly faults: readonly FileFault[];
}

const NOTHING: VerifiedFiles = {
  tables: [],
  lost: [],
  logs: [],
  isOneMissing: false,
  closed: null,
  faults: [],
  torn: [],
};

/** The files that a database consists of, and what is wrong with them. */
export async function verifyLevelFiles(directory: string): Promise<VerifiedFiles> {
  const found = await findManifest(directory);
  if (found === null) return NOTHING;
  const { live, fault } = readLive(found);
  const logs = await verifyLogs(directory, live, await readClosed(directory));
  const { tables, lost, faults: ofTables } = await verifyTables(directory, live);
  const ofManifest = fault === null ? [] : [{ name: found.name, message: fault }];
  return { ...logs, tables, lost, faults: [...ofManifest, ...ofTables, ...logs.faults] };
}

/** The files in use according to the manifest; null when it cannot be trusted: then every file in the directory is read. */
function readLive({ bytes }: Manifest): { readonly live: LiveFiles | null; readonly fault: string | null } {
  if (bytes === null) return { live: null, fault: 'it does not name an undamaged manifest' };
  const live = readManifest(bytes);
  return live.fault === null ? { live, fault: null } : { live: null, fault: live.fault };
}

async function verifyTables(
  directory: string,
  live: LiveFiles | null,
): Promise<Pick<VerifiedFiles, 'tables' | 'lost' | 'faults'>> {
  const names = new Map<number, string>();
  for (const name of (await readdir(directory)).sort()) {
    if (/^\d+\.(?:ldb|sst)$/.test(name)) names.set(Number.parseInt(name, 10), name);
  }
  const tables: TableFile[] = [];
  const lost: KeySpan[] = [];
  const faults: FileFault[] = [];
  for (const number of live?.tables.keys() ?? names.keys()) {
    const name = names.get(number) ?? `${String(number).padStart(6, '0')}.ldb`;
    const path = join(directory, name);
    const bytes = await readFileOrNull(path, 'verifying the journal');
    const span = live?.tables.get(number) ?? spanOfTable(bytes ?? Buffer.alloc(0));
    if (span === null) {
      return refuse(
        'damaged',
        `${name} of the journal cannot be read, and no manifest states whether it was in use; ${RESTORE_ADVICE}`,
      );
    }
    const fault: TableFault | null =
      bytes === null ? { message: 'it is missing', lost: [span] } : verifyTable(bytes, span);
    if (fault !== null) {
      faults.push({ name, message: fault.message });
      lost.push(...fault.lost);
    }
    if (bytes !== null) tables.push({ name, path, span });
  }
  return { tables, lost, faults };
}

/** The advice to the operator about a journal that cannot be rebuilt. */
export const RESTORE_ADVICE =
  'restore the data directory from a backup, or import exports of its sessions into another data directory';
