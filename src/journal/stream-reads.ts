// Reads streams from one view of the store. Head, records, index and genesis are written together, so when they disagree,
// the files are damaged: the session is then refused as `damaged`, and no record is skipped.
import type { EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import { READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { unknownSession } from './append-rules.ts';
import type { JournalRecord, SessionHead } from './journal.ts';
import {
  HEAD_RANGE,
  LAYOUT,
  META_KEY,
  WHOLE_RANGE,
  eventKey,
  genesisKey,
  headKey,
  placeOfStretch,
  sessionOfKey,
  streamRange,
  stretchRange,
  stretchesFrom,
} from './keys.ts';
import { Refusal, refuse } from './refusal.ts';
import { decodeNumber } from './stored-numbers.ts';
import { decodeGenesis, decodeHead, decodeMeta, decodeStretch } from './stored-values.ts';
import type { Put, StoreView } from './store.ts';

/** The head of a stream, or null when the session does not exist. */
export async function readHead(view: StoreView, session: SessionId): Promise<SessionHead | null> {
  const [bytes, [last]] = await Promise.all([
    view.get(headKey(session)),
    view.scan(streamRange(session), { limit: 1, reverse: true }),
  ]);
  if (bytes === undefined) {
    if (last !== undefined) refuse('damaged', `session ${session} has records and no head`);
    if ((await view.get(genesisKey(session))) !== undefined) {
      refuse('damaged', `session ${session} has a genesis and no head`);
    }
    return null;
  }
  const head = decodeHead(bytes);
  if (head === null) return refuse('damaged', `the head of session ${session} does not decode`);
  const stretch = last === undefined ? null : stretchAt(session, last);
  const held = stretch === null ? 0 : stretch.first + stretch.records.length;
  if (held !== head.version) {
    refuse('damaged', `the head of session ${session} is at version ${head.version}, but its records end at ${held}`);
  }
  return { session_id: session, version: head.version, owing: head.owing };
}

export async function requireHead(view: StoreView, session: SessionId): Promise<SessionHead> {
  const head = await readHead(view, session);
  if (head === null) throw new Refusal(unknownSession(session));
  return head;
}

export async function readGenesis(view: StoreView, session: SessionId): Promise<string> {
  const bytes = await view.get(genesisKey(session));
  if (bytes === undefined) {
    await requireHead(view, session);
    return refuse('damaged', `session ${session} has no genesis`);
  }
  return decodeGenesis(bytes) ?? refuse('damaged', `the genesis of session ${session} does not decode`);
}

export async function readRecords(
  view: StoreView,
  session: SessionId,
  from: Position,
  limit: number,
): Promise<readonly JournalRecord[]> {
  const bytes = await view.get(headKey(session));
  // Only a read that reaches the end compares the head with the stream. When the head cannot be read, `requireHead` refuses
  // with the reason.
  const { version } = (bytes === undefined ? null : decodeHead(bytes)) ?? (await requireHead(view, session));
  const end = Math.min(from + Math.min(limit, READ_PAGE_RECORDS), version) as Position;
  if (end > from) return await recordsBetween(view, session, from, { end, version });
  const beyond = await view.scan(stretchesFrom(session, version as number as Position), { limit: 1 });
  if (beyond.length > 0) await requireHead(view, session);
  return [];
}

interface Until {
  readonly end: Position;
  readonly version: Version;
}

/** The records from `from` to `end`; refuses when one is missing, or when the stream continues after its version. */
async function recordsBetween(
  view: StoreView,
  session: SessionId,
  from: Position,
  { end, version }: Until,
): Promise<readonly JournalRecord[]> {
  const records: JournalRecord[] = [];
  let next: number = from;
  if (from > 0) {
    // The stretch that contains a record may begin before it.
    const before = stretchRange(session, 0 as Position, (from + 1) as Position);
    const [last] = await view.scan(before, { limit: 1, reverse: true });
    if (last === undefined) return refuse('damaged', `session ${session} has no record ${from}`);
    const stretch = stretchAt(session, last);
    records.push(...stretch.records.slice(from - stretch.first));
    next = from + records.length;
    if (records.length === 0) refuse('damaged', `session ${session} has no record ${from}`);
  }
  const toEnd = end === (version as number);
  if (next < end || toEnd) {
    const range = toEnd ? stretchesFrom(session, next as Position) : stretchRange(session, next as Position, end);
    for (const entry of await view.scan(range, { limit: end - next + 1 })) {
      const stretch = stretchAt(session, entry);
      // Keys come in order, so any other position means that this one is missing.
      if (stretch.first !== next) refuse('damaged', `session ${session} has no record ${next}`);
      records.push(...stretch.records);
      next += stretch.records.length;
    }
  }
  if (next < end) refuse('damaged', `session ${session} has no record ${next}`);
  if (next > version) await requireHead(view, session);
  return records.slice(0, end - from);
}

interface Stretch {
  readonly first: Position;
  readonly records: readonly JournalRecord[];
}

function stretchAt(session: SessionId, { key, value }: Put): Stretch {
  const place = placeOfStretch(key);
  if (place === null) return refuse('damaged', `a key of session ${session} does not name a position`);
  const records = decodeStretch(value);
  if (records === null) return refuse('damaged', `record ${place.first} of session ${session} does not decode`);
  return { first: place.first, records };
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
    const [record] = await recordsBetween(view, session, position as Position, until);
    if (record?.event_id === event) return position as Position;
  }
  // Two ids may share a hash, by chance or by a client's long search; the later event then overwrote the entry of the
  // earlier one. An id without an entry is not in the stream, but an id with one may be anywhere in it.
  for (let from = 0; from < version;) {
    const page = await readRecords(view, session, from as Position, READ_PAGE_RECORDS);
    const index = page.findIndex(({ event_id }) => event_id === event);
    if (index !== -1) return (from + index) as Position;
    from += page.length;
  }
  return null;
}

export async function readSessions(view: StoreView): Promise<readonly SessionHead[]> {
  const sessionCount = await readSessionCount(view);
  const entries = await view.scan(HEAD_RANGE, {});
  if (entries.length !== sessionCount) {
    refuse('damaged', `the journal counts ${sessionCount} sessions, but has ${entries.length} heads`);
  }
  return entries.map(({ key, value }) => {
    const session = sessionOfKey(key);
    if (session === null) return refuse('damaged', 'the key of a head does not name a session');
    const head = decodeHead(value);
    if (head === null) return refuse('damaged', `the head of session ${session} does not decode`);
    return { session_id: session, version: head.version, owing: head.owing };
  });
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
  if (meta.layout !== LAYOUT) {
    refuse(
      'storage_failed',
      `the journal has layout ${meta.layout}; this engine reads layout ${LAYOUT} only; use the refold version that wrote it`,
    );
  }
  return meta.sessionCount;
}
