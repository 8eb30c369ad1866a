// Stores streams in a journal as an engine would have recorded them.
import { canonicalText, digestText } from '../../../schemas/canonical.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { Digest, SessionId, Version } from '../../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX } from '../../../schemas/limits.ts';
import type { Snapshot } from '../../../schemas/snapshot.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { must } from '../../../src/client/must.ts';
import { genesisChain, initialState, nextChain, stateDigest } from '../../../src/core/index.ts';
import { makeSnapshot } from '../../../src/core/snapshot.ts';
import type { Journal, JournalRecord } from '../../../src/journal/journal.ts';
import { accepted } from '../session.ts';

/** The state and chain of a stream after some of its events. */
export interface Folded {
  readonly state: SessionState;
  readonly chain: Digest;
}

export interface StoredStream {
  readonly id: SessionId;
  /** After 0, 1, 2, … events. */
  readonly folded: readonly Folded[];
  readonly records: readonly JournalRecord[];
}

export function recordStream(genesis: Genesis, events: readonly IngressEvent[]): StoredStream {
  const folded: Folded[] = [{ state: initialState(genesis), chain: genesisChain(genesis) }];
  const records: JournalRecord[] = [];
  for (const event of events) {
    const before = lastOf(folded);
    const state = accepted(before.state, event);
    const text = canonicalText(event);
    const state_digest = stateDigest(state);
    const chain = nextChain(before.chain, digestText(text), state_digest);
    records.push({ event: text, event_id: event.event_id, state_digest, chain });
    folded.push({ state, chain });
  }
  return { id: genesis.session_id, folded, records };
}

export async function storeStream(journal: Journal, genesis: Genesis, { id, records }: StoredStream): Promise<void> {
  await must(journal.create(id, canonicalText(genesis)));
  for (let at = 0; at < records.length; at += EVENTS_PER_APPEND_MAX) {
    await must(journal.append(id, at as Version, records.slice(at, at + EVENTS_PER_APPEND_MAX), false));
  }
}

/** The snapshot of a stream at a version. */
export function snapshotAt({ folded }: StoredStream, version: number): Snapshot {
  const { state, chain } = folded[version] ?? lastOf(folded);
  const snapshot = makeSnapshot(state, chain);
  if (snapshot === null) throw new Error(`cannot make a snapshot at ${version}`);
  return snapshot;
}

export function lastOf<T>(values: readonly T[]): T {
  const last = values.at(-1);
  if (last === undefined) throw new Error('the list is empty');
  return last;
}
