// The end of LevelDB's log. A crash may tear the last write, which nobody was told of; LevelDB drops it without a word.
// Here it is put on record, and told apart from damage to a last write that was whole: a journal that was closed says
// so in a file of its own, and a log that was whole then and has kept its length was not torn afterwards.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TORN_TAILS_KEPT } from '../../schemas/limits.ts';
import { codeOf } from './file-failure.ts';
import { readLog } from './level-log.ts';

/** A last write that a crash tore, and that is cut off. */
export interface TornTail {
  /** The log it was in. */
  readonly file: string;
  /** Where it began, and what was left of it, in bytes. */
  readonly offset: number;
  readonly bytes: number;
}

const CLOSED = 'CLOSED';
const TORN_TAILS = 'torn-tails.jsonl';

/** A log that was whole when the journal was closed. */
export interface WholeLog {
  readonly file: string;
  readonly size: number;
}

/** Null after a crash. Every opening begins another log, so that what an earlier closing said is about none. */
export async function closedLog(directory: string): Promise<WholeLog | null> {
  const text = await readFile(join(directory, CLOSED), 'utf8').catch(() => '');
  const [, file, size] = /^(\d+\.log) (\d+)\n$/.exec(text) ?? [];
  return file === undefined ? null : { file, size: Number(size) };
}

/** Puts the newest log on record as whole, if it is. Without it a log is read as if a crash had left it. */
export async function markClosed(directory: string): Promise<void> {
  try {
    const logs = (await readdir(directory)).filter((name) => /^\d+\.log$/.test(name)).sort();
    const newest = logs.at(-1);
    if (newest === undefined) return;
    const log = await readFile(join(directory, newest));
    if (readLog(log).faultAt !== null) return;
    await writeFile(join(directory, CLOSED), `${newest} ${log.length}\n`, { mode: 0o600 });
  } catch (error) {
    if (codeOf(error) === null) throw error;
  }
}

/** Puts torn tails on record beside the journal. */
export async function recordTornTails(directory: string, found: readonly TornTail[]): Promise<void> {
  if (found.length === 0) return;
  const all = [...(await readTornTails(directory)), ...found].slice(-TORN_TAILS_KEPT);
  const text = all.map((tail) => `${JSON.stringify(tail)}\n`).join('');
  // It is told at this opening in any case.
  await writeFile(join(directory, TORN_TAILS), text, { mode: 0o600 }).catch(() => undefined);
}

/** The torn tails on record, oldest first. */
export async function readTornTails(directory: string): Promise<readonly TornTail[]> {
  const text = await readFile(join(directory, TORN_TAILS), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [, file, offset, bytes] = /^\{"file":"([\w.]+)","offset":(\d+),"bytes":(\d+)\}$/.exec(line) ?? [];
    return file === undefined ? [] : [{ file, offset: Number(offset), bytes: Number(bytes) }];
  });
}

export const describeTornTail = ({ file, offset, bytes }: TornTail): string =>
  `the last write of ${file} of the journal (${bytes} bytes at ${offset}) was torn by a crash and is cut off; it was never acknowledged`;
