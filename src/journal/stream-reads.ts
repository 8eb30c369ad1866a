// What the journal reads from one moment of its store. Head, records, index and genesis are written together, so
// whenever they do not fit each other the files are damaged: that is said, and nothing is skipped.
import type { EventId, Position, SessionId } from '../../schemas/ids.ts';
import { READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { unknownSession } from './append-rules.ts';
import type { JournalRecord, SessionHead } from './journal.ts';
import {
  HEAD_RANGE,
  LAYOUT,
  META_KEY,
  WHOLE_RANGE,
  eventIdKey,
  genesisKey,
  headKey,
  positionOfKey,
  recordKey,
  recordRange,
  sessionOfKey,
} from './keys.ts';
import { Refusal, refuse } from './refusal.ts';
import { decodeGenesis, decodeHead, decodeMeta, decodePosition, decodeRecord } from './stored-values.ts';
import type { Put, StoreView } from './store.ts';

/** The head of a stream, or null when there is none of that name. */
export async function readHead(view: StoreView, session: SessionId): Promise<SessionHead | null> {
  const [bytes, [last]] = await Promise.all([
    view.get(headKey(session)),
    view.scan(recordRange(session, 0 as Position), { limit: 1, reverse: true }),
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
  const held = last === undefined ? 0 : (positionOfKey(session, last.key) ?? NaN) + 1;
  if (held !== head.version) {
    refuse('damaged', `the head of session ${session} is at version ${head.version}, its records end at ${held}`);
  }
  return { session_id: session, version: head.version, owing: head.owing };
}

export async function requireHead(view: StoreView, session: SessionId): Promise<SessionHead> {
  const head = await readHead(view, session);
  if (head === null) throw new Refusal(unknownSession(session));
  return head;
}

export async function readGenesis(view: StoreView, session: SessionId): Promise<string> {
  await requireHead(view, session);
  const bytes = await view.get(genesisKey(session));
  if (bytes === undefined) return refuse('damaged', `session ${session} has no genesis`);
  return decodeGenesis(bytes) ?? refuse('damaged', `the genesis of session ${session} does not decode`);
}

export async function readRecords(
  view: StoreView,
  session: SessionId,
  from: Position,
  limit: number,
): Promise<readonly JournalRecord[]> {
  const { version } = await requireHead(view, session);
  const count = Math.min(limit, READ_PAGE_RECORDS, version - from);
  if (count <= 0) return [];
  const entries = await view.scan(recordRange(session, from), { limit: count });
  const records = entries.map((entry, index) => recordAt(session, from + index, entry));
  if (records.length < count) refuse('damaged', `session ${session} has no record ${from + records.length}`);
  return records;
}

function recordAt(session: SessionId, position: number, { key, value }: Put): JournalRecord {
  // The keys come in order, so any other position here means that this one is missing.
  if (positionOfKey(session, key) !== position) refuse('damaged', `session ${session} has no record ${position}`);
  return decodeRecord(value) ?? refuse('damaged', `record ${position} of session ${session} does not decode`);
}

export async function findEvent(view: StoreView, session: SessionId, event: EventId): Promise<Position | null> {
  const { version } = await requireHead(view, session);
  const bytes = await view.get(eventIdKey(session, event));
  if (bytes === undefined) return null;
  const position = decodePosition(bytes);
  if (position === null || position >= version) {
    return refuse('damaged', `the index of session ${session} gives no position for event ${event}`);
  }
  const value = await view.get(recordKey(session, position));
  if (value === undefined) return refuse('damaged', `session ${session} has no record ${position}`);
  if (decodeRecord(value)?.event_id !== event) {
    refuse('damaged', `record ${position} of session ${session} is not event ${event}`);
  }
  return position;
}

export async function readSessions(view: StoreView): Promise<readonly SessionHead[]> {
  const sessionCount = await readSessionCount(view);
  const entries = await view.scan(HEAD_RANGE, {});
  if (entries.length !== sessionCount) {
    refuse('damaged', `the journal holds ${sessionCount} sessions, and ${entries.length} heads`);
  }
  return entries.map(({ key, value }) => {
    const session = sessionOfKey(key);
    if (session === null) return refuse('damaged', 'the key of a head names no session');
    const head = decodeHead(value);
    if (head === null) return refuse('damaged', `the head of session ${session} does not decode`);
    return { session_id: session, version: head.version, owing: head.owing };
  });
}

/** How many sessions the store holds; refuses a store that is not one of a journal of this layout. */
export async function readSessionCount(view: StoreView): Promise<number> {
  const bytes = await view.get(META_KEY);
  if (bytes === undefined) {
    const entries = await view.scan(WHOLE_RANGE, { limit: 1 });
    if (entries.length > 0) refuse('damaged', 'the data directory holds no journal, or one without its first record');
    return 0;
  }
  const meta = decodeMeta(bytes);
  if (meta === null) return refuse('damaged', 'the first record of the journal does not decode');
  if (meta.layout !== LAYOUT) {
    refuse('storage_failed', `the journal has layout ${meta.layout}; this engine reads layout ${LAYOUT} only`);
  }
  return meta.sessionCount;
}
