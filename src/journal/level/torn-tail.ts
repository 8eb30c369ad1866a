// Torn tails: a crash may tear the last write of a log. That write was never acknowledged, and LevelDB drops it silently.
// refold reports it to the operator and records it in `torn-tails.jsonl`.
import type { Buffer } from 'node:buffer';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SessionId } from '../../../schemas/ids.ts';
import { TORN_TAILS_KEPT } from '../../../schemas/limits.ts';
import { readTorn } from './log-format.ts';
import { sessionsWritten } from './write-batch.ts';

/** A last write that a crash tore and that was cut off. */
export interface TornTail {
  /** The name of its log. */
  readonly file: string;
  /** Where it began in the log, and how many bytes of it were left. */
  readonly offset: number;
  readonly bytes: number;
  /** The session ids that are readable in it: possibly not all, and possibly altered. */
  readonly sessions: readonly string[];
}

const TORN_TAILS = 'torn-tails.jsonl';
/** The maximum number of sessions recorded for one torn write. */
const NAMED_MAX = 16;

export const tornTailAt = (file: string, log: Buffer, offset: number): TornTail => ({
  file,
  offset,
  bytes: log.length - offset,
  sessions: sessionsWritten(readTorn(log, offset)).slice(0, NAMED_MAX),
});

/** Records torn tails in a file in the directory of the journal. */
export async function recordTornTails(directory: string, found: readonly TornTail[]): Promise<void> {
  if (found.length === 0) return;
  const all = [...(await readTornTails(directory)), ...found].slice(-TORN_TAILS_KEPT);
  const text = all.map((tail) => `${JSON.stringify(tail)}\n`).join('');
  // A failure is ignored: this opening reports the torn tails in any case.
  await writeFile(join(directory, TORN_TAILS), text, { mode: 0o600 }).catch(() => undefined);
}

/** The recorded torn tails, oldest first. */
export async function readTornTails(directory: string): Promise<readonly TornTail[]> {
  const text = await readFile(join(directory, TORN_TAILS), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [, file, offset, bytes, named = ''] = LINE.exec(line) ?? [];
    if (file === undefined) return [];
    const sessions = [...named.matchAll(/"([^"]+)"/g)].flatMap(([, id]) => (SessionId.is(id) ? [id] : []));
    return [{ file, offset: Number(offset), bytes: Number(bytes), sessions }];
  });
}

// Older lines have no sessions.
const LINE = /^\{"file":"([\w.]+)","offset":(\d+),"bytes":(\d+)(?:,"sessions":\[([^\]]*)\])?\}$/;

export function describeTornTail({ file, offset, bytes, sessions }: TornTail): string {
  const named = sessions.length === 0 ? '' : `. Sessions named in what is left of it: ${sessions.join(', ')}`;
  return `a crash tore the last write of ${file} of the journal (${bytes} bytes at ${offset}); it was never acknowledged and was cut off${named}`;
}
