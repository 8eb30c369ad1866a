// The file CLOSED, which a clean stop writes into the directory of the journal: the names and sizes of the logs, and the
// sessions that they wrote to. A log that was whole then and is not now was damaged later, not torn by a crash, and
// the sessions of all its writes are known.
import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SessionId, Version } from '../../../schemas/ids.ts';
import { codeOf } from '../../files/file-failure.ts';
import { HEAD_LETTER, TOMBSTONE_LETTER, sessionOfKey } from '../keys.ts';
import { readChecksummed, writeChecksummed } from './checksummed-file.ts';
import { readLog } from './log-format.ts';
import type { NewestEntry } from './newest-entries.ts';
import { addWrites, spanOfBatch } from './write-batch.ts';
import { decodeHead, decodeTombstone } from '../stored-values.ts';

const CLOSED = 'CLOSED';

export interface ClosedLogs {
  /** The sizes of the logs, by name. */
  readonly sizes: ReadonlyMap<string, number>;
  /** The sequence number of the first write in them, and the one after the last write; equal when there are no writes. */
  readonly first: number;
  readonly end: number;
  /** The sessions they wrote to, with their versions. */
  readonly sessions: ReadonlyMap<SessionId, Version>;
}

/** Null after a crash. */
export async function readClosed(directory: string): Promise<ClosedLogs | null> {
  const written = await readChecksummed(join(directory, CLOSED));
  if (!isWritten(written)) return null;
  const { sizes, first, end, sessions } = written;
  return { sizes: new Map(sizes), first, end, sessions: new Map(sessions) };
}

interface Written {
  readonly sizes: readonly (readonly [string, number])[];
  readonly first: number;
  readonly end: number;
  readonly sessions: readonly (readonly [SessionId, Version])[];
}

const isWritten = (value: unknown): value is Written => {
  const { sizes, first, end, sessions } = (value ?? {}) as Partial<Written>;
  return isPairs(sizes) && isPairs(sessions) && Number.isSafeInteger(first) && Number.isSafeInteger(end);
};

const isPairs = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((pair: unknown) => Array.isArray(pair) && typeof pair[0] === 'string' && Number.isSafeInteger(pair[1]));

/** Writes the file when all logs are whole. Without it the next opening treats the logs as those of a crash. */
export async function markClosed(directory: string): Promise<void> {
  try {
    const written = await readLogs(directory);
    if (written === null) return;
    await writeChecksummed(join(directory, CLOSED), written);
  } catch (error) {
    if (codeOf(error) === null && !(error instanceof RangeError)) throw error;
  }
}

/** Removes the file, before the first write after a clean stop. */
export async function forgetClosed(directory: string): Promise<void> {
  // When this fails, the file still does not apply: it does not name the log that the opening began.
  await rm(join(directory, CLOSED), { force: true }).catch(() => undefined);
}

async function readLogs(directory: string): Promise<Written | null> {
  const sizes: [string, number][] = [];
  const newest = new Map<string, NewestEntry>();
  let [first, end] = [Number.MAX_SAFE_INTEGER, 0];
  for (const name of (await readdir(directory)).filter((file) => /^\d+\.log$/.test(file)).sort()) {
    const log = await readFile(join(directory, name));
    const { records, faults } = readLog(log);
    if (faults.length > 0) return null;
    sizes.push([name, log.length]);
    for (const { bytes } of records) {
      const span = spanOfBatch(bytes);
      [first, end] = [Math.min(first, span.first), Math.max(end, span.end)];
      addWrites(bytes, newest);
    }
  }
  const sessions = [...newest.values()].flatMap(({ key, value }): [SessionId, Version][] => {
    const letter = key.toString('latin1', 0, 1);
    const session = letter === HEAD_LETTER || letter === TOMBSTONE_LETTER ? sessionOfKey(key) : null;
    if (session === null || value === null) return [];
    if (letter === HEAD_LETTER) return versionIn(session, decodeHead(value)?.version);
    // A deletion counts as one more event, as in the trail.
    const last = decodeTombstone(session, value);
    return versionIn(session, last === null ? undefined : (last.version ?? 0) + 1);
  });
  return sizes.length === 0 ? null : { sizes, first: Math.min(first, end), end, sessions };
}

const versionIn = (session: SessionId, version: number | undefined): [SessionId, Version][] =>
  version === undefined ? [] : [[session, version as Version]];
