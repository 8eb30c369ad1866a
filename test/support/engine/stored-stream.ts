// Stores streams in a journal as an engine would have recorded them.
import { canonicalText, digestText } from '../../../schemas/canonical.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Digest, Position, SessionId } from '../../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX } from '../../../schemas/limits.ts';
import { type StreamRecord, versionAfter } from '../../../schemas/record.ts';
import type { Snapshot } from '../../../schemas/snapshot.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { must } from '../../../src/client/must.ts';
import { genesisChain, initialState, nextChain, stateDigest } from '../../../src/core/index.ts';
import type { Origin } from '../../../src/core/initial-state.ts';
import { headFacts } from '../../../src/core/session-head.ts';
import { makeSnapshot } from '../../../src/core/snapshot.ts';
import { createStream } from '../../../src/engine/sessions/create-stream.ts';
import type { Journal, JournalCommit } from '../../../src/journal/journal.ts';
import { accepted } from '../session.ts';

/** The state of a stream after some of its events, and the chain value after the last commit that is complete by then. */
export interface Folded {
  readonly state: SessionState;
  readonly chain: Digest;
}

export interface StoredStream {
  readonly id: SessionId;
  readonly origin: Origin;
  /** After 0, 1, 2, … events. */
  readonly folded: readonly Folded[];
  readonly events: readonly IngressEvent[];
  readonly commits: readonly JournalCommit[];
}

/** A stream whose commits have these numbers of events, in turn, from the first number again after the last. */
export function recordStream(
  { genesis, tool_package }: Origin,
  events: readonly IngressEvent[],
  sizes: readonly number[] = [1],
): StoredStream {
  let state = initialState(genesis, tool_package);
  let chain = genesisChain(state);
  const folded: Folded[] = [{ state, chain }];
  const commits: JournalCommit[] = [];
  for (let at = 0; at < events.length;) {
    const size = sizes[commits.length % sizes.length] as number;
    const stored = events.slice(at, at + size).map((event) => {
      state = accepted(state, event);
      folded.push({ state, chain });
      return { text: canonicalText(event), event_id: event.event_id };
    });
    const state_digest = stateDigest(state);
    chain = nextChain(
      chain,
      stored.map(({ text }) => digestText(text)),
      state_digest,
    );
    folded.splice(-1, 1, { state, chain });
    commits.push({ position: at as Position, events: stored, state_digest, chain });
    at += stored.length;
  }
  return { id: genesis.session_id, origin: { genesis, tool_package }, folded, events, commits };
}

/** Creates the session and appends its commits, many in one write. */
export async function storeStream(journal: Journal, { id, origin, folded, commits }: StoredStream): Promise<void> {
  await must(createStream(journal, origin));
  let pending: JournalCommit[] = [];
  let events = 0;
  for (const commit of commits) {
    pending.push(commit);
    events += commit.events.length;
    const end = versionAfter(commit);
    if (events < EVENTS_PER_COMMIT_MAX && end < folded.length - 1) continue;
    await must(journal.append(id, pending, headFacts((folded[end] as Folded).state)));
    [pending, events] = [[], 0];
  }
}

/** The stream as it is exported. */
export function recordsOf({ origin, folded, events, commits }: StoredStream): readonly StreamRecord[] {
  const { genesis, tool_package } = origin;
  const { state, chain } = folded[0] as Folded;
  return [
    { kind: 'package', digest: genesis.tool_package_digest, tool_package },
    { kind: 'genesis', format: 2, genesis, state_digest: stateDigest(state), chain },
    ...commits.map((commit): StreamRecord => {
      const { position, state_digest, chain: link } = commit;
      return {
        kind: 'commit',
        position,
        events: events.slice(position, versionAfter(commit)),
        state_digest,
        chain: link,
      };
    }),
  ];
}

/** The versions at which commits end, in order. */
export const endsOf = ({ commits }: StoredStream): readonly number[] => commits.map(versionAfter);

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
