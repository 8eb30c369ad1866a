// Verifies the files of a LevelDB database before it is opened. LevelDB keeps a checksum beside every block, but its
// binding for Node verifies none in tables: most flipped bits come back as silently wrong values, and some fail an
// assertion in native code that ends the process. Of a damaged log it drops what it cannot read, acknowledged writes
// among it, and says nothing. Of a manifest that is zeroed at its end it takes an older state, and deletes what it then
// takes for leftovers.
import { Buffer } from 'node:buffer';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './file-failure.ts';
import type { KeySpan } from './key-spans.ts';
import { type ClosedLogs, readClosed } from './level-closed.ts';
import { type Manifest, findManifest } from './level-current.ts';
import { type LogContents, canBeTorn, readLog } from './level-log.ts';
import { type LiveFiles, readManifest } from './level-manifest.ts';
import { type TableFault, spanOfTable, tableFault } from './level-table.ts';
import { type TornTail, tornTailAt } from './level-tail.ts';
import { refuse } from './refusal.ts';

interface LevelFile {
  readonly name: string;
  readonly path: string;
}

export interface TableFile extends LevelFile {
  readonly span: KeySpan;
}

export interface LogFile extends LogContents, LevelFile {
  /** Where what is lost behind its last whole record begins, if anything is. */
  readonly lostFrom: number | null;
}

export interface FileFault {
  readonly name: string;
  readonly message: string;
}

export interface VerifiedFiles {
  /** Those that can be read at least in part. */
  readonly tables: readonly TableFile[];
  /** In the order of their writing. */
  readonly logs: readonly LogFile[];
  readonly closed: ClosedLogs | null;
  /** What LevelDB must not be given: the journal has to be rebuilt from what can be read. */
  readonly faults: readonly FileFault[];
  /** Where keys of tables may be lost. */
  readonly lost: readonly KeySpan[];
  /** Last writes that a crash tore: they were never acknowledged, and LevelDB drops them. */
  readonly torn: readonly TornTail[];
}

const NOTHING: VerifiedFiles = { tables: [], logs: [], closed: null, faults: [], lost: [], torn: [] };

/** Which files a database is made of, and what is wrong with them. */
export async function verifyLevelFiles(directory: string): Promise<VerifiedFiles> {
  const found = await findManifest(directory);
  if (found === null) return NOTHING;
  const { live, fault } = readLive(found);
  const closed = await readClosed(directory);
  const { logs, torn, faults: ofLogs } = await verifyLogs(directory, live, closed);
  const { tables, lost, faults: ofTables } = await verifyTables(directory, live);
  const ofManifest = fault === null ? [] : [{ name: found.name, message: fault }];
  return { tables, logs, closed, torn, lost, faults: [...ofManifest, ...ofTables, ...ofLogs] };
}

/** What the manifest says is in use; null when it cannot be trusted, and every file that is there is read. */
function readLive({ bytes }: Manifest): { readonly live: LiveFiles | null; readonly fault: string | null } {
  if (bytes === null) return { live: null, fault: 'it names no manifest that is whole' };
  const live = readManifest(bytes);
  return live.fault === null ? { live, fault: null } : { live: null, fault: live.fault };
}

type VerifiedLogs = Pick<VerifiedFiles, 'logs' | 'torn' | 'faults'>;

async function verifyLogs(directory: string, live: LiveFiles | null, closed: ClosedLogs | null): Promise<VerifiedLogs> {
  const isLive = (name: string): boolean => live === null || live.isLiveLog(Number.parseInt(name, 10));
  const read: { readonly name: string; readonly bytes: Buffer; readonly contents: LogContents }[] = [];
  for (const name of (await readdir(directory)).filter((file) => /^\d+\.log$/.test(file)).sort(byNumber)) {
    const bytes = isLive(name) ? await readIfThere(join(directory, name)) : null;
    if (bytes !== null) read.push({ name, bytes, contents: readLog(bytes) });
  }
  const logs: LogFile[] = [];
  const torn: TornTail[] = [];
  const faults: FileFault[] = [];
  for (const [name, size] of closed?.sizes ?? []) {
    const gone = size > 0 && isLive(name) && read.every((log) => log.name !== name);
    if (gone) faults.push({ name, message: 'it is missing' });
  }
  const last = read.findLastIndex(({ contents }) => contents.records.length > 0);
  for (const [index, { name, bytes, contents }] of read.entries()) {
    const { records, faults: found } = contents;
    const size = closed?.sizes.get(name) ?? bytes.length;
    const tail = found.at(-1);
    const tailAt = tail?.end === bytes.length && !tail.isMended ? tail.at : null;
    // A log is begun only when the one before it is whole: behind what was torn no other write can be.
    const wasWhole = closed?.sizes.has(name) === true || index < last;
    const isTorn = tailAt !== null && !wasWhole && canBeTorn(bytes, tailAt);
    if (isTorn) torn.push(tornTailAt(name, bytes, tailAt));
    const lostFrom = isTorn ? null : (tailAt ?? (size > bytes.length ? bytes.length : null));
    logs.push({ name, path: join(directory, name), records, faults: found, lostFrom });
    const [first] = isTorn ? found.slice(0, -1) : found;
    if (first !== undefined) {
      const known = wasWhole && first.at === tailAt ? ', and it had when the journal was closed' : '';
      faults.push({ name, message: `the write at ${first.at} does not have its checksum or its length${known}` });
    } else if (lostFrom !== null) {
      faults.push({ name, message: `it ends at ${bytes.length}, and had ${size} bytes when the journal was closed` });
    }
  }
  return { logs, torn, faults };
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
    const bytes = await readIfThere(path);
    const span = live?.tables.get(number) ?? spanOfTable(bytes ?? Buffer.alloc(0));
    if (span === null)
      return refuse(
        'damaged',
        `${name} of the journal cannot be read, and no manifest tells whether it was in use; ${NEXT}`,
      );
    const fault: TableFault | null =
      bytes === null ? { message: 'it is missing', lost: [span] } : tableFault(bytes, span);
    if (fault !== null) {
      faults.push({ name, message: fault.message });
      lost.push(...fault.lost);
    }
    if (bytes !== null) tables.push({ name, path, span });
  }
  return { tables, lost, faults };
}

export const NEXT = 'restore the data directory from a backup, or import exports of its sessions into another one';

const byNumber = (a: string, b: string): number => Number.parseInt(a, 10) - Number.parseInt(b, 10);

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    if (!(error instanceof Error) || codeOf(error) === null) throw error;
    return refuse('storage_failed', `verifying the journal: ${error.message}`);
  }
}
