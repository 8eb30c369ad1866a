// The end of LevelDB's log. A crash may tear the last write, which nobody was told of; LevelDB drops it without a word.
// Here it is put on record.
import type { Buffer } from 'node:buffer';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SessionId } from '../../../schemas/ids.ts';
import { TORN_TAILS_KEPT } from '../../../schemas/limits.ts';
import { readTorn } from './log-format.ts';
import { sessionsWritten } from './write-batch.ts';

/** A last write that a crash tore, and that is cut off. */
export interface TornTail {
  /** The log it was in. */
  readonly file: string;
  /** Where it began, and what was left of it, in bytes. */
  readonly offset: number;
  readonly bytes: number;
  /** The sessions that can still be read in it: perhaps not all, and perhaps not as they were. */
  readonly sessions: readonly string[];
}

const TORN_TAILS = 'torn-tails.jsonl';
/** Sessions that are named of one torn write. */
const NAMED_MAX = 16;

export const tornTailAt = (file: string, log: Buffer, offset: number): TornTail => ({
  file,
  offset,
  bytes: log.length - offset,
  sessions: sessionsWritten(readTorn(log, offset)).slice(0, NAMED_MAX),
});

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
    const [, file, offset, bytes, named = ''] = LINE.exec(line) ?? [];
    if (file === undefined) return [];
    const sessions = [...named.matchAll(/"([^"]+)"/g)].flatMap(([, id]) => (SessionId.is(id) ? [id] : []));
    return [{ file, offset: Number(offset), bytes: Number(bytes), sessions }];
  });
}

// Older ones name no sessions.
const LINE = /^\{"file":"([\w.]+)","offset":(\d+),"bytes":(\d+)(?:,"sessions":\[([^\]]*)\])?\}$/;

export function describeTornTail({ file, offset, bytes, sessions }: TornTail): string {
  const named = sessions.length === 0 ? '' : `; what is left of it names ${sessions.join(', ')}`;
  return `the last write of ${file} of the journal (${bytes} bytes at ${offset}) was torn by a crash and is cut off; it was never acknowledged${named}`;
}
