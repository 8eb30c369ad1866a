// Writes the log of one long session to disk with the bytes that the engine would write, in larger writes.
import { canonicalText, digestText } from '../schemas/canonical.ts';
import type { IngressEvent } from '../schemas/event.ts';
import type { Genesis } from '../schemas/genesis.ts';
import type { Digest, Position } from '../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX, SNAPSHOT_EVERY_EVENTS } from '../schemas/limits.ts';
import type { Snapshot } from '../schemas/snapshot.ts';
import type { SessionState } from '../schemas/state.ts';
import { genesisChain, nextChain, stateDigest } from '../src/core/index.ts';
import { initialState } from '../src/core/initial-state.ts';
import { headFacts } from '../src/core/session-head.ts';
import { makeSnapshot } from '../src/core/snapshot.ts';
import { createStream } from '../src/engine/sessions/create-stream.ts';
import type { JournalCommit } from '../src/journal/journal.ts';
import { openLevelJournal } from '../src/journal/level-journal.ts';
import { benchPackage } from './tools.ts';
import type { Bench } from './figure.ts';
import { must } from '../src/client/must.ts';
import { recordStream } from './stream.ts';

export interface LongLog {
  readonly directory: string;
  readonly genesis: Genesis;
  readonly events: number;
}

/** Commits in one write: some hundred events. */
const WRITTEN_TOGETHER = EVENTS_PER_COMMIT_MAX / 4;

/** Writes the log. Returns a snapshot followed by about as many events as may lie between two snapshots. */
export async function writeLog(bench: Bench, { directory, genesis, events }: LongLog): Promise<Snapshot> {
  const journal = await must(openLevelJournal(directory));
  await must(createStream(journal, { genesis, tool_package: benchPackage() }));
  let chain = genesisChain(initialState(genesis, benchPackage()));
  let written: JournalCommit[] = [];
  let snapshot: Snapshot | null = null;
  let told = 0;
  let head = headFacts(initialState(genesis, benchPackage()));
  const write = async (): Promise<void> => {
    if (written.length > 0) await must(journal.append(genesis.session_id, written, head));
    written = [];
  };
  for (const { texts, state } of commitsOf(genesis, events)) {
    const commit = commitOf(texts, state, chain);
    written.push(commit);
    ({ chain } = commit);
    head = headFacts(state);
    if (snapshot === null && state.version >= events - SNAPSHOT_EVERY_EVENTS) snapshot = makeSnapshot(state, chain);
    if (written.length >= WRITTEN_TOGETHER) await write();
    if (state.version - told < PROGRESS_EVENTS) continue;
    told = state.version;
    bench.progress(`replay: wrote ${told} of ${events} events`);
  }
  await write();
  await journal.close();
  if (snapshot === null) throw new RangeError('the log is too short for a snapshot of it');
  return snapshot;
}

const PROGRESS_EVENTS = 20_000;

interface Together {
  readonly texts: readonly IngressEvent[];
  readonly state: SessionState;
}

/** The events as an engine commits them: the reports on a batch together, everything else alone. */
function* commitsOf(genesis: Genesis, events: number): Generator<Together> {
  let texts: IngressEvent[] = [];
  let last: SessionState | null = null;
  for (const { event, state } of recordStream(genesis, events)) {
    texts.push(event);
    last = state;
    if (event.kind === 'ToolCallStarted' || event.kind === 'ToolCallSettled') continue;
    yield { texts, state };
    [texts, last] = [[], null];
  }
  if (last !== null) yield { texts, state: last };
}

function commitOf(made: readonly IngressEvent[], state: SessionState, before: Digest): JournalCommit {
  const events = made.map((event) => ({ text: canonicalText(event), event_id: event.event_id }));
  const state_digest = stateDigest(state);
  const chain = nextChain(
    before,
    events.map(({ text }) => digestText(text)),
    state_digest,
  );
  return { position: (state.version - events.length) as Position, events, state_digest, chain };
}
