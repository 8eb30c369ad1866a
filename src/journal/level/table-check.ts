// Reads tables again while the journal is open: first those that its opening did not read, then, at long intervals, all in
// use. Only this finds bits that changed on the disk without a trace in the file system.
import type { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { TABLE_CHECK_BYTES } from '../../../schemas/limits.ts';
import { type Clock, sleep } from '../../clock.ts';
import { codeOf, reasonOf } from '../../files/file-failure.ts';
import type { KeySpan } from './key-spans.ts';
import { verifyingTable } from './table.ts';
import { type VerifiedTable, forgetVerified, stampOf, verifiedBetween, writeVerified } from './verified-tables.ts';
import { type TableFile, type VerifiedFiles, tablesNow } from './verify-files.ts';
import type { FileFault } from './verify-logs.ts';

/** The check begins after this time: an opening that is closed again soon is not burdened with it. */
const BEGIN_MS = 1_000;
/** The rest after each step: the check takes a small part of the time of its thread. */
const REST_MS = 10;
/** After this time all tables are read again; shorter than the time for which an opening trusts a table. */
const AGAIN_MS = 43_200_000;

export interface TableCheck {
  /** Ends the check; resolves when it no longer reads. */
  stop(): Promise<void>;
}

interface Checked {
  readonly directory: string;
  readonly files: VerifiedFiles;
  /** What `files` verified from then on is not read again in the first round. */
  readonly sinceMs: number;
  readonly clock: Clock;
  /** Whether another directory took the place of the journal's: nothing is written into it. */
  readonly isLost: () => boolean;
  /** Called with the first damage found, which ends the check. */
  readonly onDamage: (fault: FileFault) => void;
}

export function startTableCheck({ directory, files, sinceMs, clock, isLost, onDamage }: Checked): TableCheck {
  const stopping = new AbortController();
  const { signal } = stopping;
  let { verified } = files;

  /** False when the check ends. */
  async function round(tables: readonly TableFile[], fromMs: number): Promise<boolean> {
    const found = new Map<string, VerifiedTable>();
    for (const table of tables) {
      const last = verified.get(table.name);
      const one = last !== undefined && last.atMs >= fromMs ? last : await readAgain(table, clock, signal);
      if (signal.aborted) return false;
      if (one === null) continue;
      if ('message' in one) {
        // The next opening reads every table, and rebuilds the journal.
        await forgetVerified(directory);
        onDamage(one);
        return false;
      }
      found.set(table.name, one);
    }
    verified = found;
    if (signal.aborted || isLost()) return false;
    await writeVerified(directory, verified);
    return true;
  }

  const running = (async () => {
    await sleep(clock, BEGIN_MS, signal);
    let goesOn = await round(files.tables, sinceMs);
    while (goesOn) {
      await sleep(clock, AGAIN_MS, signal);
      goesOn = !signal.aborted && (await round(await tablesNow(directory), clock.now()));
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

/** Null when the table is gone or cannot be remembered. */
async function readAgain(
  { name, path, span }: TableFile,
  clock: Clock,
  signal: AbortSignal,
): Promise<VerifiedTable | FileFault | null> {
  const before = await stampOf(path);
  const atMs = clock.now();
  let bytes: Buffer;
  try {
    bytes = await readFile(path, { signal });
  } catch (error) {
    // LevelDB deletes a table that it merged into others. Whatever else stops this reading may stop no other.
    if (codeOf(error) === null && !signal.aborted) throw error;
    return codeOf(error) === 'EIO' ? { name, message: reasonOf(error) } : null;
  }
  const message = await verifyInSteps({ bytes, span, clock, signal });
  return message === null ? verifiedBetween(before, await stampOf(path), atMs) : { name, message };
}

async function verifyInSteps({ bytes, span, clock, signal }: Steps): Promise<string | null> {
  const verifying = verifyingTable(bytes, span);
  for (let read = 0; !signal.aborted;) {
    const step = verifying.next();
    if (step.done === true) return step.value?.message ?? null;
    read += step.value;
    if (read < TABLE_CHECK_BYTES) continue;
    read = 0;
    await sleep(clock, REST_MS, signal);
  }
  return null;
}

interface Steps {
  readonly bytes: Buffer;
  readonly span: KeySpan;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}
