// Writes the log of one long session to disk with the bytes that the engine would write, in larger writes.
import { canonicalText, digestText } from '../schemas/canonical.ts';
import type { Genesis } from '../schemas/genesis.ts';
import type { Version } from '../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX, SNAPSHOT_EVERY_EVENTS } from '../schemas/limits.ts';
import type { Snapshot } from '../schemas/snapshot.ts';
import { genesisChain, nextChain, stateDigest } from '../src/core/index.ts';
import { makeSnapshot } from '../src/core/snapshot.ts';
import type { Journal, JournalRecord } from '../src/journal/journal.ts';
import { openLevelJournal } from '../src/journal/level-journal.ts';
import type { Bench } from './figure.ts';
import { must } from '../src/client/must.ts';
import { recordStream } from './stream.ts';

export interface LongLog {
  readonly directory: string;
  readonly genesis: Genesis;
  readonly events: number;
}

/** Writes the log. Returns a snapshot followed by as many events as may lie between two snapshots. */
export async function writeLog(bench: Bench, { directory, genesis, events }: LongLog): Promise<Snapshot> {
  const journal = await must(openLevelJournal(directory));
  const { session_id } = genesis;
  await must(journal.create(session_id, canonicalText(genesis)));
  let chain = genesisChain(genesis);
  let page: JournalRecord[] = [];
  let written = 0;
  let snapshot: Snapshot | null = null;
  for (const { event, state } of recordStream(genesis, events)) {
    const text = canonicalText(event);
    const state_digest = stateDigest(state);
    chain = nextChain(chain, digestText(text), state_digest);
    page.push({ event: text, event_id: event.event_id, state_digest, chain });
    if (state.version === events - SNAPSHOT_EVERY_EVENTS) snapshot = makeSnapshot(state, chain);
    if (page.length < EVENTS_PER_APPEND_MAX) continue;
    written = await appendPage(journal, session_id, { page, written });
    page = [];
    if (written % (80 * EVENTS_PER_APPEND_MAX) === 0) bench.progress(`replay: wrote ${written} of ${events} events`);
  }
  await appendPage(journal, session_id, { page, written });
  await journal.close();
  if (snapshot === null) throw new RangeError('the log is too short for a snapshot of it');
  return snapshot;
}

interface Pending {
  readonly page: readonly JournalRecord[];
  readonly written: number;
}

async function appendPage(journal: Journal, id: Genesis['session_id'], { page, written }: Pending): Promise<number> {
  if (page.length === 0) return written;
  return await must(journal.append(id, written as Version, page, true));
}
