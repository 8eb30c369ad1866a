// The file VERIFIED: the tables whose checksums were verified, what the file system said of each of them then, and when.
// A table that the file system says was not written to since, and that was verified not long ago, is not read before the
// journal answers (docs/storage.md, "Which tables an opening reads").
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TABLE_TRUST_MS_MAX } from '../../../schemas/limits.ts';
import { codeOf } from '../../files/file-failure.ts';
import { readChecksummed, writeChecksummed } from './checksummed-file.ts';

const VERIFIED = 'VERIFIED';
/** A file system counts time in ticks: a change within the tick of the last one leaves no trace. No tick is as long as this. */
const TICK_MS = 1_000;

/** What the file system says of a file; a write to it, and a copy of it, change some of this. */
export interface TableStamp {
  /** Size, inode, and the times of the last change of content and of inode in nanoseconds: `utimes` sets the first only. */
  readonly text: string;
  readonly changedMs: number;
}

export interface VerifiedTable {
  readonly stamp: string;
  /** When its bytes were read. */
  readonly atMs: number;
}

/** By the name of the table. */
export type VerifiedTables = ReadonlyMap<string, VerifiedTable>;

/** Null when the file does not exist or cannot be examined. */
export async function stampOf(path: string): Promise<TableStamp | null> {
  try {
    const { size, ino, mtimeNs, ctimeNs, ctimeMs } = await stat(path, { bigint: true });
    return { text: [size, ino, mtimeNs, ctimeNs].join(' '), changedMs: Number(ctimeMs) };
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return null;
  }
}

/** What is to be remembered of a table that was read between two stamps, from `atMs` on; null when nothing is. */
export function verifiedBetween(
  before: TableStamp | null,
  after: TableStamp | null,
  atMs: number,
): VerifiedTable | null {
  if (before === null || before.text !== after?.text || atMs - before.changedMs < TICK_MS) return null;
  return { stamp: before.text, atMs };
}

/** Whether a table need not be read before the journal answers. */
export function isTrusted(table: VerifiedTable | undefined, stamp: TableStamp | null, nowMs: number): boolean {
  // A clock that was set back since the table was read does not say how long ago that was.
  return table !== undefined && table.stamp === stamp?.text && Math.abs(nowMs - table.atMs) < TABLE_TRUST_MS_MAX;
}

/** None when the file is missing, torn, altered or of another form. */
export async function readVerified(directory: string): Promise<VerifiedTables> {
  const value = await readChecksummed(join(directory, VERIFIED));
  const tables = new Map<string, VerifiedTable>();
  for (const row of Array.isArray(value) ? (value as readonly unknown[]) : []) {
    if (isRow(row)) tables.set(row[0], { stamp: row[1], atMs: row[2] });
  }
  return tables;
}

export async function writeVerified(directory: string, tables: VerifiedTables): Promise<void> {
  const rows = [...tables].map(([name, { stamp, atMs }]) => [name, stamp, atMs]);
  // Without the file the next opening reads every table.
  await writeChecksummed(join(directory, VERIFIED), rows).catch(() => forgetVerified(directory));
}

export async function forgetVerified(directory: string): Promise<void> {
  await rm(join(directory, VERIFIED), { force: true }).catch(() => undefined);
}

const isRow = (row: unknown): row is readonly [string, string, number] =>
  Array.isArray(row) &&
  row.length === 3 &&
  typeof row[0] === 'string' &&
  typeof row[1] === 'string' &&
  Number.isSafeInteger(row[2]);
