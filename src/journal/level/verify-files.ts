// Verifies the files of a LevelDB database before it is opened. LevelDB stores a checksum with every block, but its binding
// for Node does not verify the checksums in tables: most flipped bits are returned as wrong values without an error, and
// some fail an assertion in native code, which ends the process. From a damaged log LevelDB drops what it cannot read,
// including acknowledged writes, without an error. From a manifest that is zeroed at its end it restores an older state, and
// deletes the files that this state does not name.
import { Buffer } from 'node:buffer';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, backgroundClock } from '../../clock.ts';
import { readFileOrNull } from './read-file-or-null.ts';
import type { KeySpan } from './key-spans.ts';
import { readClosed } from './closed-file.ts';
import { type Manifest, findManifest } from './current-file.ts';
import { type FileFault, type VerifiedLogs, verifyLogs } from './verify-logs.ts';
import { type LiveFiles, readManifest } from './manifest.ts';
import { type TableFault, spanOfTable, verifyTable } from './table.ts';
import { type VerifiedTable, type VerifiedTables, isTrusted, stampOf, verifiedBetween } from './verified-tables.ts';
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
  /** The whole tables, with when they were read: those that were trusted, before this verification. */
  readonly verified: VerifiedTables;
}

const NOTHING: VerifiedFiles = {
  tables: [],
  lost: [],
  logs: [],
  isOneMissing: false,
  closed: null,
  faults: [],
  torn: [],
  verified: new Map(),
};

export interface Verification {
  /** Tables that were verified before; each that is unchanged since, and was verified not long ago, is not read. */
  readonly trusted: VerifiedTables;
  readonly clock: Clock;
}

const READING_ALL: Verification = { trusted: new Map(), clock: backgroundClock };

/** The files that a database consists of, and what is wrong with them. */
export async function verifyLevelFiles(directory: string, how = READING_ALL): Promise<VerifiedFiles> {
  const found = await findManifest(directory);
  if (found === null) return NOTHING;
  const { live, fault } = readLive(found);
  const logs = await verifyLogs(directory, live, await readClosed(directory));
  const { faults: ofTables, ...ofLive } = await verifyTables(directory, live, how);
  const ofManifest = fault === null ? [] : [{ name: found.name, message: fault }];
  return { ...logs, ...ofLive, faults: [...ofManifest, ...ofTables, ...logs.faults] };
}

/** The files in use according to the manifest; null when it cannot be trusted: then every file in the directory is read. */
function readLive({ bytes }: Manifest): { readonly live: LiveFiles | null; readonly fault: string | null } {
  if (bytes === null) return { live: null, fault: 'it does not name an undamaged manifest' };
  const live = readManifest(bytes);
  return live.fault === null ? { live, fault: null } : { live: null, fault: live.fault };
}

/** The tables that the manifest names now; none when it cannot be read, as while an open database replaces it. */
export async function tablesNow(directory: string): Promise<readonly TableFile[]> {
  const current = await readFile(join(directory, 'CURRENT'), 'latin1').catch(() => '');
  const manifest = await readFile(join(directory, current.trim() || 'CURRENT')).catch(() => Buffer.alloc(0));
  const names = await tableNames(directory).catch(() => new Map<number, string>());
  return [...readManifest(manifest).tables].map(([number, span]) =>
    tableFile(directory, names.get(number) ?? nameOfTable(number), span),
  );
}

async function verifyTables(
  directory: string,
  live: LiveFiles | null,
  { trusted, clock }: Verification,
): Promise<Pick<VerifiedFiles, 'tables' | 'lost' | 'faults' | 'verified'>> {
  const names = await tableNames(directory);
  const tables: TableFile[] = [];
  const lost: KeySpan[] = [];
  const faults: FileFault[] = [];
  const verified = new Map<string, VerifiedTable>();
  const numbers = [...(live?.tables.keys() ?? names.keys())];
  const stamped = await Promise.all(
    numbers.map(async (number) => {
      const name = names.get(number) ?? nameOfTable(number);
      return { number, name, before: await stampOf(join(directory, name)) };
    }),
  );
  for (const { number, name, before } of stamped) {
    const known = live?.tables.get(number);
    const last = trusted.get(name);
    const atMs = clock.now();
    if (known !== undefined && last !== undefined && isTrusted(last, before, atMs)) {
      tables.push(tableFile(directory, name, known));
      verified.set(name, last);
      continue;
    }
    const bytes = await readFileOrNull(join(directory, name), 'verifying the journal');
    const span = known ?? spanOfTable(bytes ?? Buffer.alloc(0));
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
    if (bytes !== null) tables.push(tableFile(directory, name, span));
    const whole = fault === null ? verifiedBetween(before, await stampOf(join(directory, name)), atMs) : null;
    if (whole !== null) verified.set(name, whole);
  }
  return { tables, lost, faults, verified };
}

async function tableNames(directory: string): Promise<ReadonlyMap<number, string>> {
  const names = (await readdir(directory)).filter((name) => /^\d+\.(?:ldb|sst)$/.test(name)).sort();
  return new Map(names.map((name) => [Number.parseInt(name, 10), name]));
}

const nameOfTable = (number: number): string => `${String(number).padStart(6, '0')}.ldb`;

const tableFile = (directory: string, name: string, span: KeySpan): TableFile => ({
  name,
  path: join(directory, name),
  span,
});

/** The advice to the operator about a journal that cannot be rebuilt. */
export const RESTORE_ADVICE =
  'restore the data directory from a backup, or import exports of its sessions into another data directory';
