// Reads streams from one view of the store. Head, records, index and genesis are written together, so when they disagree,
// the files are damaged: the session is then refused as `damaged`, and no record is skipped.
import type { Digest, EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import type { Tombstone } from '../../schemas/session-head.ts';
import { READ_PAGE_BYTES, READ_PAGE_EVENTS } from '../../schemas/limits.ts';
import { versionAfter } from '../../schemas/record.ts';
import { copyIncomplete, packageLost, sessionDeleted, sessionExists, unknownSession } from './append-rules.ts';
import type { JournalCommit, SessionHead } from './journal.ts';
import {
  META_KEY,
  WHOLE_RANGE,
  eventKey,
  genesisKey,
  headKey,
  packageKey,
  tombstoneKey,
  tombstonesAfter,
  sessionOfKey,
  placeOfCommit,
  streamRange,
  commitRange,
  commitsFrom,
} from './keys.ts';
import { checkLayout } from './layout.ts';
import { Refusal, refuse } from './refusal.ts';
import { decodeNumber } from './stored-numbers.ts';
import {
  type StoredGenesis,
  decodeText,
  decodeStoredGenesis,
  decodeHead,
  decodeMeta,
  decodeCommit,
  decodeTombstone,
} from './stored-values.ts';
import type { Put, StoreView } from './store.ts';

/** The head of a stream, or null when the session never existed; refuses when it was deleted. */
export async function readHead(view: StoreView, session: SessionId): Promise<SessionHead | null> {
  const [bytes, [last]] = await Promise.all([
    view.get(headKey(session)),
    view.scan(streamRange(session), { limit: 1, reverse: true }),
  ]);
  if (bytes === undefined) {
    if ((await view.get(tombstoneKey(session))) !== undefined) throw new Refusal(sessionDeleted(session));
    if (last !== undefined) refuse('damaged', `session ${session} has commits and no head`);
    if ((await view.get(genesisKey(session))) !== undefined) {
      refuse('damaged', `session ${session} has a genesis and no head`);
    }
    return null;
  }
  const head = decodeHead(bytes);
  if (head === null) return refuse('damaged', `the head of session ${session} does not decode`);
  const commit = last === undefined ? null : commitAt(session, last);
  const held = commit === null ? 0 : versionAfter(commit);
  if (held !== (head.version as number)) {
    refuse('damaged', `the head of session ${session} is at version ${head.version}, but its commits end at ${held}`);
  }
  return { session_id: session, ...head };
}

export async function requireHead(view: StoreView, session: SessionId): Promise<SessionHead> {
  const head = await readHead(view, session);
  if (head === null) throw new Refusal(unknownSession(session));
  return head;
}

export async function readTombstones(
  view: StoreView,
  after: SessionId | null,
  limit: number,
): Promise<readonly Tombstone[]> {
  const entries = await view.scan(tombstonesAfter(after), { limit });
  return entries.map(({ key, value }) => {
    const session = sessionOfKey(key);
    const tombstone = session === null ? null : decodeTombstone(session, value);
    return tombstone ?? refuse('damaged', `the tombstone of session ${session ?? '(unreadable)'} does not decode`);
  });
}

export async function readGenesis(view: StoreView, session: SessionId): Promise<string> {
  const { text, isComplete } = await readStoredGenesis(view, session);
  if (!isComplete) throw new Refusal(copyIncomplete(session));
  return text;
}

export async function readGenesisOfCopy(view: StoreView, session: SessionId): Promise<string> {
  const { text, isComplete } = await readStoredGenesis(view, session);
  if (isComplete) throw new Refusal(sessionExists(session));
  return text;
}

export async function readStoredGenesis(view: StoreView, session: SessionId): Promise<StoredGenesis> {
  const bytes = await view.get(genesisKey(session));
  if (bytes === undefined) {
    await requireHead(view, session);
    return refuse('damaged', `session ${session} has no genesis`);
  }
  return decodeStoredGenesis(bytes) ?? refuse('damaged', `the genesis of session ${session} does not decode`);
}

/** The text of a tool package. */
export async function readPackage(view: StoreView, digest: Digest): Promise<string> {
  const bytes = await view.get(packageKey(digest));
  if (bytes === undefined) throw new Refusal(packageLost(digest));
  return decodeText(bytes) ?? refuse('damaged', `the tool package ${digest} does not decode`);
}

export async function readCommits(
  view: StoreView,
  session: SessionId,
  from: Position,
  limit: number,
): Promise<readonly JournalCommit[]> {
  const bytes = await view.get(headKey(session));
  // Only a read that reaches the end compares the head with the stream. When the head cannot be read, `requireHead` refuses
  // with the reason.
  const { version } = (bytes === undefined ? null : decodeHead(bytes)) ?? (await requireHead(view, session));
  const end = Math.min(from + Math.min(limit, READ_PAGE_EVENTS), version) as Position;
  if (end > from) return await commitsBetween(view, session, from, { end, version });
  const beyond = await view.scan(commitsFrom(session, version as number as Position), { limit: 1 });
  if (beyond.length > 0) await requireHead(view, session);
  return [];
}

interface Until {
  readonly end: Position;
  readonly version: Version;
}

/**
 * The commits with the events from `from` to `end`, or until they have READ_PAGE_BYTES; refuses when one is missing, or when
 * the stream continues after its version.
 */
async function commitsBetween(
  view: StoreView,
  session: SessionId,
  from: Position,
  { end, version }: Until,
): Promise<readonly JournalCommit[]> {
  const commits: JournalCommit[] = [];
  let next: number = 0;
  let room = READ_PAGE_BYTES;
  const add = (commit: JournalCommit, { value }: Put): void => {
    commits.push(commit);
    next = versionAfter(commit);
    room -= value.length;
  };
  if (from > 0) {
    // The commit that contains an event may begin before it.
    const before = commitRange(session, 0 as Position, (from + 1) as Position);
    const [last] = await view.scan(before, { limit: 1, reverse: true });
    if (last !== undefined) add(commitAt(session, last), last);
    if (next <= from) refuse('damaged', `session ${session} has no event ${from}`);
  }
  const toEnd = end === (version as number);
  if (room > 0 && (next < end || toEnd)) {
    const range = toEnd ? commitsFrom(session, next as Position) : commitRange(session, next as Position, end);
    for (const entry of await view.scan(range, { limit: end - next + 1, bytesMax: room })) {
      const commit = commitAt(session, entry);
      // Keys come in order, so any other position means that this one is missing.
      if (commit.position !== (next as Position)) refuse('damaged', `session ${session} has no event ${next}`);
      add(commit, entry);
    }
  }
  if (room > 0 && next < end) refuse('damaged', `session ${session} has no event ${next}`);
  if (next > version) await requireHead(view, session);
  return commits;
}

function commitAt(session: SessionId, { key, value }: Put): JournalCommit {
  const place = placeOfCommit(key);
  if (place === null) return refuse('damaged', `a key of session ${session} does not name a position`);
  return (
    decodeCommit(place.first, value) ??
    refuse('damaged', `the commit at position ${place.first} of session ${session} does not decode`)
  );
}

export async function findEvent(view: StoreView, session: SessionId, event: EventId): Promise<Position | null> {
  const [{ version }, bytes] = await Promise.all([requireHead(view, session), view.get(eventKey(session, event))]);
  return bytes === undefined ? null : await locateEvent(view, { session, event, version }, bytes);
}

interface Sought {
  readonly session: SessionId;
  readonly event: EventId;
  /** The version of its stream. */
  readonly version: Version;
}

/** The position of an event whose hash has an index entry. The entry may belong to another event with the same hash. */
export async function locateEvent(
  view: StoreView,
  { session, event, version }: Sought,
  indexed: Uint8Array,
): Promise<Position | null> {
  const position = decodeNumber(indexed);
  if (position !== null && position < version) {
    const until = { end: (position + 1) as Position, version };
    const [commit] = await commitsBetween(view, session, position as Position, until);
    if (commit?.events[position - commit.position]?.event_id === event) return position as Position;
  }
  // Two ids may share a hash, by chance or by a client's long search; the later event then overwrote the entry of the
  // earlier one. An id without an entry is not in the stream, but an id with one may be anywhere in it.
  for (let from = 0; from < version;) {
    for (const { position: first, events } of await readCommits(view, session, from as Position, READ_PAGE_EVENTS)) {
      const index = events.findIndex(({ event_id }) => event_id === event);
      if (index !== -1) return (first + index) as Position;
      from = first + events.length;
    }
  }
  return null;
}

/** The layout that a store states, or null. */
export async function readLayout(view: StoreView): Promise<number | null> {
  const bytes = await view.get(META_KEY);
  return bytes === undefined ? null : (decodeMeta(bytes)?.layout ?? null);
}

/** The number of sessions in the store; refuses a store that is not a journal of this layout. */
export async function readSessionCount(view: StoreView): Promise<number> {
  const bytes = await view.get(META_KEY);
  if (bytes === undefined) {
    const entries = await view.scan(WHOLE_RANGE, { limit: 1 });
    if (entries.length > 0) refuse('damaged', 'the store is not a journal, or its layout record is missing');
    return 0;
  }
  const meta = decodeMeta(bytes);
  if (meta === null) return refuse('damaged', 'the layout record of the journal does not decode');
  checkLayout(meta.layout);
  return meta.sessionCount;
}
