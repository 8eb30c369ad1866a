// Which logs of a LevelDB database are in use, and what is wrong with them. A crash may tear the last write of the last
// log; anything else was whole once, and is damaged.
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
  /** Where what is lost behind its last whole record begins, if anything is. */
  readonly lostFrom: number | null;
}

export interface VerifiedLogs {
  /** In the order of their writing. */
  readonly logs: readonly LogFile[];
  /** Whether one is missing that was in use, and not empty. */
  readonly isOneGone: boolean;
  /** What was put on record when the journal was closed, if nothing was written since. */
  readonly closed: ClosedLogs | null;
  readonly faults: readonly FileFault[];
  /** Last writes that a crash tore: they were never acknowledged, and LevelDB drops them. */
  readonly torn: readonly TornTail[];
}

/** Without a word of which files are in use, all logs that are there are. */
export async function verifyLogs(
  directory: string,
  live: LiveFiles | null,
  said: ClosedLogs | null,
): Promise<VerifiedLogs> {
  const isLive = (name: string): boolean => live === null || live.isLiveLog(Number.parseInt(name, 10));
  const names = (await readdir(directory)).filter((name) => /^\d+\.log$/.test(name) && isLive(name));
  const read: ReadLog[] = [];
  for (const name of names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))) {
    const bytes = await readFileOrNull(join(directory, name), 'verifying the journal');
    if (bytes !== null) read.push({ name, bytes, contents: readLog(bytes) });
  }
  const oldest = live === null || live.firstLog === 0 ? [] : [`${String(live.firstLog).padStart(6, '0')}.log`];
  const known = [...(said?.sizes.keys() ?? [])].filter(isLive);
  const inUse = [...new Set([...names, ...oldest, ...known])];
  const closed = said !== null && inUse.every((name) => said.sizes.has(name)) ? said : null;
  const gone = inUse.filter((name) => !names.includes(name) && closed?.sizes.get(name) !== 0);
  const last = read.findLastIndex(({ contents }) => contents.records.length > 0);
  const judged = read.map((log, index) => {
    const closedSize = closed?.sizes.get(log.name) ?? null;
    // A log is begun only when the one before it is whole: behind what was torn no other write can be.
    return judgeLog(log, closedSize, index < last || closedSize !== null);
  });
  return {
    logs: judged.map(({ log }) => log),
    isOneGone: gone.length > 0,
    closed,
    faults: [
      ...gone.map((name) => ({ name, message: 'it is missing' })),
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
  const tailAt = tail?.end === bytes.length && !tail.isMended ? tail.at : null;
  const torn = tailAt !== null && !wasWhole && canBeTorn(bytes, tailAt) ? tornTailAt(name, bytes, tailAt) : null;
  const cutAt = closedSize !== null && closedSize > bytes.length ? bytes.length : null;
  const log = { name, records, faults, lostFrom: torn === null ? (tailAt ?? cutAt) : null };
  const [first] = torn === null ? faults : faults.slice(0, -1);
  if (first !== undefined) {
    const known = closedSize !== null && first.at === tailAt ? ', and it had when the journal was closed' : '';
    const message = `the write at ${first.at} does not have its checksum or its length${known}`;
    return { log, torn, fault: { name, message } };
  }
  const message = `it ends at ${bytes.length}, and had ${closedSize} bytes when the journal was closed`;
  return { log, torn, fault: cutAt === null ? null : { name, message } };
}
