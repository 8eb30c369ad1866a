// Compares a fork with the session it was forked from, where that session is available.
import { isLeft } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { Digest, SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { newLineageCheck } from '../../core/lineage.ts';
import { commandFailureOf } from '../output.ts';
import { type Source, sessionSource } from './source.ts';

export interface LineageChecked {
  readonly session_id: SessionId;
  readonly position: number;
  readonly chain: Digest;
  /** False when the source is not available. */
  readonly compared: boolean;
  readonly fault: { readonly position: number; readonly what: 'lineage'; readonly message: string } | null;
}

interface ForkAt {
  readonly genesis: Genesis;
  /** How many events the fork has. */
  readonly events: number;
}

/** Null when the stream is not a fork. The source is searched for in the same data directory and among `siblings`. */
export async function checkLineage(
  { genesis, events }: ForkAt,
  fork: Source,
  siblings: readonly Source[],
): Promise<LineageChecked | null> {
  const { forked_from: from } = genesis;
  if (from === undefined) return null;
  if (events < (from.position as number)) {
    const message = `it shares ${from.position} events with ${from.session_id}, but only ${events} are left`;
    return { ...from, compared: false, fault: { position: events, what: 'lineage', message } };
  }
  const source = await findSource(from.session_id, fork, siblings);
  if (source === null) return { ...from, compared: false, fault: null };
  const check = newLineageCheck(genesis);
  const [sources, forks] = [source.records(), fork.records()];
  try {
    while (check.add(await nextOf(sources), await nextOf(forks)));
  } catch (error) {
    // An unreadable source is no evidence against its fork; the source gets a separate verdict.
    if (commandFailureOf(error) === null) throw error;
    return { ...from, compared: false, fault: null };
  } finally {
    await sources.return(undefined);
    await forks.return(undefined);
  }
  const fault = check.fault();
  return { ...from, compared: true, fault: fault === null ? null : { what: 'lineage', ...fault } };
}

export function lineageLines(lineage: LineageChecked | null): readonly string[] {
  if (lineage === null) return [];
  const { session_id, position, compared } = lineage;
  const how = compared ? `the same ${position} events and chain value` : 'the source is not available, so not compared';
  return [paint.dim(`fork of ${session_id} after ${position} events: ${how}`)];
}

async function findSource(id: SessionId, fork: Source, siblings: readonly Source[]): Promise<Source | null> {
  const { client } = fork;
  if (client !== null && !isLeft(await client.records(id, undefined, 1)())) return sessionSource(client, id);
  for (const sibling of siblings) if ((await sessionOf(sibling)) === id) return sibling;
  return null;
}

/** The session of a source; null when its genesis record cannot be read. */
async function sessionOf(source: Source): Promise<SessionId | null> {
  const records = source.records();
  try {
    for await (const record of records) {
      if (record.kind === 'genesis') return record.genesis.session_id;
      if (record.kind === 'commit') return null;
    }
    return null;
  } catch {
    return null;
  } finally {
    await records.return(undefined);
  }
}

async function nextOf(records: AsyncGenerator<StreamRecord, void>): Promise<StreamRecord | null> {
  const next = await records.next();
  return next.done === true ? null : next.value;
}
