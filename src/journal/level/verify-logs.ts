// Finds the logs of a LevelDB database that are in use, and what is wrong with them. A crash may tear the last write of the
// last log; every other incomplete write was whole before and is damaged now.
import type { Buffer } from 'node:buffer';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readFileOrNull } from './read-file-or-null.ts';
import type { ClosedLogs } from './closed-file.ts';
import { type LogContents, canBeTorn, readLog } from './log-format.ts';
import type { LiveFiles } from './manifest.ts';
import { type TornTail, tornTailAt } from './torn-tail.ts';

export interface FileFault {
  readonly name: string;
  readonly message: string;
}

export interface LogFile extends LogContents {
  readonly name: string;
  /** The offset from which writes after the last whole record are lost; null when none are. */
  readonly lostFrom: number | null;
}

export interface VerifiedLogs {
  /** In the order in which they were written. */
  readonly logs: readonly LogFile[];
  /** Whether a log is missing that was in use and not empty. */
  readonly isOneMissing: boolean;
  /** What the file CLOSED states; null when it does not apply to these logs. */
  readonly closed: ClosedLogs | null;
  readonly faults: readonly FileFault[];
  /** Last writes that a crash tore. They were never acknowledged, and LevelDB drops them. */
  readonly torn: readonly TornTail[];
}

/** Without a usable manifest (`live` null) all logs in the directory count as in use. */
export async function verifyLogs(
  directory: string,
  live: LiveFiles | null,
  closedFile: ClosedLogs | null,
): Promise<VerifiedLogs> {
  const isLive = (name: string): boolean => live === null || live.isLiveLog(Number.parseInt(name, 10));
  const names = (await readdir(directory)).filter((name) => /^\d+\.log$/.test(name) && isLive(name));
  const read: ReadLog[] = [];
  for (const name of names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))) {
    const bytes = await readFileOrNull(join(directory, name), 'verifying the journal');
    if (bytes !== null) read.push({ name, bytes, contents: readLog(bytes) });
  }
  const oldest = live === null || live.firstLog === 0 ? [] : [`${String(live.firstLog).padStart(6, '0')}.log`];
  // A log that CLOSED does not name was begun later: the logs that it names may be in tables since, and deleted.
  const closed =
    closedFile !== null && [...names, ...oldest].every((name) => closedFile.sizes.has(name)) ? closedFile : null;
  const inUse = new Set([...names, ...oldest, ...[...(closed?.sizes.keys() ?? [])].filter(isLive)]);
  // An open database always has a log. Which one it was, only a manifest or CLOSED could tell.
  if (live === null && inUse.size === 0) inUse.add('the log');
  const missing = [...inUse].filter((name) => !names.includes(name) && closed?.sizes.get(name) !== 0);
  const last = read.findLastIndex(({ contents }) => contents.records.length > 0);
  const judged = read.map((log, index) => {
    const closedSize = closed?.sizes.get(log.name) ?? null;
    // A new log begins only when the log before it is whole, so no write follows a torn one.
    return judgeLog(log, closedSize, index < last || closedSize !== null);
  });
  return {
    logs: judged.map(({ log }) => log),
    isOneMissing: missing.length > 0,
    closed,
    faults: [
      ...missing.map((name) => ({ name, message: 'it is missing' })),
      ...judged.flatMap(({ fault }) => fault ?? []),
    ],
    torn: judged.flatMap(({ torn }) => torn ?? []),
  };
}

interface ReadLog {
  readonly name: string;
  readonly bytes: Buffer;
  readonly contents: LogContents;
}

interface JudgedLog {
  readonly log: LogFile;
  readonly fault: FileFault | null;
  readonly torn: TornTail | null;
}

function judgeLog({ name, bytes, contents }: ReadLog, closedSize: number | null, wasWhole: boolean): JudgedLog {
  const { records, faults } = contents;
  const tail = faults.at(-1);
  const tailAt = tail?.end === bytes.length && !tail.isReadable ? tail.at : null;
  const torn = tailAt !== null && !wasWhole && canBeTorn(bytes, tailAt) ? tornTailAt(name, bytes, tailAt) : null;
  const cutAt = closedSize !== null && closedSize > bytes.length ? bytes.length : null;
  const log = { name, records, faults, lostFrom: torn === null ? (tailAt ?? cutAt) : null };
  const [first] = torn === null ? faults : faults.slice(0, -1);
  if (first !== undefined) {
    const known =
      closedSize !== null && first.at === tailAt ? ', although it was whole when the journal was closed' : '';
    const message = `the checksum or the length of the write at ${first.at} does not match${known}`;
    return { log, torn, fault: { name, message } };
  }
  const message = `it has ${bytes.length} bytes, but had ${closedSize} when the journal was closed`;
  return { log, torn, fault: cutAt === null ? null : { name, message } };
}
