// Sessions, events, commits and heads for tests.
import { digestText } from '../../../schemas/canonical.ts';
import { type EventId, type Position, SessionId, type Version } from '../../../schemas/ids.ts';
import { versionAfter } from '../../../schemas/record.ts';
import type { HeadFacts, Tombstone } from '../../../schemas/session-head.ts';
import type { Snapshot } from '../../../schemas/snapshot.ts';
import { must } from '../../../src/client/must.ts';
import type { Journal, JournalCommit, JournalEvent, StoredPackage, StoredPage } from '../../../src/journal/journal.ts';

export function session(name: string): SessionId {
  if (!SessionId.is(name)) throw new Error(`not a session id: ${name}`);
  return name;
}

export const eventId = (text: string): EventId => text as EventId;
export const version = (count: number): Version => count as Version;
export const position = (index: number): Position => index as Position;

/** The head of a session that owes nothing and waits for nothing. */
export const idleHead: HeadFacts = {
  owing: false,
  wake_at_ms: null,
  card: { title: null, status: 'idle', parent: null, last_activity_ms: 0, outcome: null },
};

/** The head of a session that owes an effect, with every fact set. */
export const owingHead: HeadFacts = {
  owing: true,
  wake_at_ms: 1_700_000_060_000,
  card: {
    title: 'Ask ä € 𝄞 about it',
    status: 'running',
    parent: session('parent'),
    last_activity_ms: 1_700_000_000_000,
    outcome: 'completed',
  },
};

export const headOf = (owing: boolean): HeadFacts => (owing ? owingHead : idleHead);

/** A text in the place of a tool package, under its digest. A journal reads neither. */
export const storedPackage = (text: string): StoredPackage => ({ digest: digestText(text), text });

/** A text in the place of a page of a transcript, under its digest. */
export const storedPage = (text: string): StoredPage => ({
  digest: digestText(text),
  bytes: new TextEncoder().encode(text),
});

/** The package of every session that `createSample` creates. */
export const samplePackage = storedPackage('{"tools":[],"note":"ä €"}');

/** A genesis text that names a tool package. */
export const genesisNaming = (id: SessionId, { digest }: StoredPackage): string =>
  JSON.stringify({ session_id: id, tool_package_digest: digest });

/** Creates a session with `samplePackage` and `idleHead`. */
export const createSample = (journal: Journal, id: SessionId, genesis = '{}'): ReturnType<Journal['create']> =>
  journal.create(id, genesis, samplePackage, idleHead);

/** An event that is derived from its id. */
export const storedEvent = (id: string, text = `{"event_id":"${id}","note":"ä €  ${id}"}`): JournalEvent => ({
  text,
  event_id: eventId(id),
});

/** One commit of these events, whose digests are derived from its last event. */
export function commitWith(at: number, events: readonly JournalEvent[]): JournalCommit {
  const last = events.at(-1)?.event_id ?? '';
  return {
    position: position(at),
    events,
    state_digest: digestText(`state ${last}`),
    chain: digestText(`chain ${last}`),
  };
}

/** One commit of events that are derived from their ids. */
export const commitAt = (at: number, ...ids: readonly string[]): JournalCommit =>
  commitWith(
    at,
    ids.map((id) => storedEvent(id)),
  );

/** A commit for each of these ids, from a position on. */
export const singleCommits = (at: number, ...ids: readonly string[]): readonly JournalCommit[] =>
  ids.map((id, index) => commitAt(at + index, id));

/** A snapshot that is derived from its session, version and text; it matches no stream. */
export const snapshotOf = (name: string, at: number, state = `{"at":${at}}`): Snapshot => ({
  session_id: session(name),
  version: version(at),
  state_digest: digestText(state),
  chain: digestText(`chain ${name} ${at}`),
  state,
});

/** A tombstone whose chain value is derived from its session. */
export const tombstoneOf = (id: SessionId, at: number): Tombstone => ({
  session_id: id,
  version: version(at),
  chain: digestText(`chain ${id}`),
  deleted_at_ms: 1_700_000_000_000,
});

/** The number of events in commits that follow each other from position 0 on. */
export function lengthOf(commits: readonly JournalCommit[]): number {
  const last = commits.at(-1);
  return last === undefined ? 0 : versionAfter(last);
}

/** Every commit of a stream, read page by page. */
export async function readAll(journal: Journal, id: SessionId, page = 1_000): Promise<readonly JournalCommit[]> {
  const commits: JournalCommit[] = [];
  for (;;) {
    const next = await must(journal.read(id, position(lengthOf(commits)), page));
    if (next.length === 0) return commits;
    commits.push(...next);
  }
}

export const idsIn = (commits: readonly JournalCommit[]): readonly string[] =>
  commits.flatMap(({ events }) => events.map(({ event_id }) => event_id));

/** The ids of a stream, in order. */
export const readIds = async (journal: Journal, id: SessionId): Promise<readonly string[]> =>
  idsIn(await readAll(journal, id));

/** A small random number generator (mulberry32) with a seed, so that a failure can be repeated. */
export function numbersFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
