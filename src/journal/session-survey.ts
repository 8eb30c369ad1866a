// Decides, in a store that was rebuilt from what could be read, which sessions are whole. It rests on three facts of the
// journal: a genesis, a record and an index entry never change once they are written; positions have no gaps; and
// nothing is deleted. So a record that is there is right, and a session is whole when its genesis and all of its records
// are there and its end is known: by a head that cannot be an older one, or by a place behind its last record where
// nothing can have been lost. Of a whole session, head and index are made again from the records.
import { Buffer } from 'node:buffer';
import { type Position, SessionId, type Version } from '../../schemas/ids.ts';
import { DAMAGED_SESSIONS_MAX, READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { type LostPositions, putLost, readDamage } from './damage-record.ts';
import {
  type KeySpan,
  type SessionSpan,
  intersectSessions,
  mergeSessions,
  sessionsHold,
  sessionsIn,
  spansHold,
} from './key-spans.ts';
import {
  HEAD_RANGE,
  META_KEY,
  eventIdKey,
  genesisKey,
  headKey,
  positionOfKey,
  recordKey,
  recordRange,
} from './keys.ts';
import { refuse } from './refusal.ts';
import { decodeHead, decodeMeta, decodeRecord, encodeHead, encodeMeta, encodePosition } from './stored-values.ts';
import type { Put, Store, StoreView } from './store.ts';

/** Where keys may be lost, or may be there in an older version. */
export interface Losses {
  readonly spans: readonly KeySpan[];
  /** Whether a key is in the log, so that no table can have held a newer version of it. */
  readonly isLogged: (key: Uint8Array) => boolean;
}

const inDoubt = ({ spans, isLogged }: Losses, key: Uint8Array): boolean => spansHold(spans, key) && !isLogged(key);

/** Puts heads, indexes and losses in order; gives where sessions may have been of which nothing is left. */
export async function surveySessions(store: Store, losses: Losses): Promise<readonly SessionSpan[]> {
  const indexed = sessionsIn(losses.spans, 'i');
  const before = await store.view(readDamage);
  const lostBefore = before?.sessions ?? new Map<SessionId, LostPositions>();
  let damaged = lostBefore.size;
  for await (const id of sessionsTouched(store, losses)) {
    const lost = await surveySession(store, id, { losses, indexed: sessionsHold(indexed, id) });
    if (lost === null) continue;
    if (!lostBefore.has(id)) damaged += 1;
    // The record of it is read back whole at every opening, under one more key.
    if (damaged >= DAMAGED_SESSIONS_MAX) refuse('damaged', `more than ${damaged} sessions of the journal are damaged`);
    await store.write([putLost(id, widest(lost, lostBefore.get(id) ?? lost))]);
  }
  return [...(before?.vanished ?? []), ...(await countSessions(store, losses))];
}

function widest(a: LostPositions, b: LostPositions): LostPositions {
  const last = a.last === null || b.last === null ? null : Math.max(a.last, b.last);
  return { first: Math.min(a.first, b.first), last };
}

/** Every session of which anything is there and something may be lost. */
async function* sessionsTouched(store: Store, { spans }: Losses): AsyncGenerator<SessionId> {
  for (const { first, last } of mergeSessions(LETTERS.flatMap((letter) => sessionsIn(spans, letter)))) {
    for (let from = first; ;) {
      const id = await store.view((view) => nextSession(view, from));
      if (id === null || (last !== null && id > last)) break;
      yield id;
      from = `${id}\x01`;
    }
  }
}

/** The first letters of the keys of a session. */
const LETTERS = ['g', 'h', 'i', 'r'];

/** The first session, in order, of which anything is there. */
async function nextSession(view: StoreView, from: string): Promise<SessionId | null> {
  let next: SessionId | null = null;
  for (const letter of LETTERS) {
    const range = { gte: bytes(letter + from), lt: bytes(String.fromCodePoint(letter.charCodeAt(0) + 1)) };
    const [entry] = await view.scan(range, { limit: 1 });
    if (entry === undefined) continue;
    const id = Buffer.from(entry.key).toString('latin1').slice(1).split('\0', 1)[0];
    if (!SessionId.is(id)) return refuse('damaged', 'a key of the journal names no session');
    if (next === null || id < next) next = id;
  }
  return next;
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

interface Survey {
  readonly losses: Losses;
  /** Whether entries of its index may be lost. */
  readonly indexed: boolean;
}

/** What a session lost, or null when it is whole; its head and its index are in order then. */
async function surveySession(store: Store, id: SessionId, survey: Survey): Promise<LostPositions | null> {
  const [genesis, headBytes] = await store.view((view) => view.getMany([genesisKey(id), headKey(id)]));
  const head = headBytes === undefined ? null : decodeHead(headBytes);
  const missing: number[] = genesis === undefined ? [-1] : [];
  const { next, gaps } = await surveyRecords(store, id, survey);
  if (gaps !== null) missing.push(gaps.first, gaps.last);
  const version = endOf(id, head?.version ?? null, { next, losses: survey.losses });
  if (version === null) missing.push(next);
  else if (version !== next) missing.push(Math.min(version, next), Math.max(version, next) - 1);
  if (head === null || head.version !== version || missing.length > 0) {
    // Owing, so that it is looked at when the engine starts: that is when damage is told, and costs a whole one nothing.
    const known = Math.max(version ?? 0, next, head?.version ?? 0) as Version;
    await store.write([{ key: headKey(id), value: encodeHead({ version: known, owing: true }) }]);
  }
  if (missing.length === 0) return null;
  return { first: Math.min(...missing), last: version === null ? null : Math.max(...missing) };
}

/** The version of a session of which such a head is there, or null when its last records may be lost. */
function endOf(
  id: SessionId,
  head: number | null,
  { next, losses }: { readonly next: number; readonly losses: Losses },
): number | null {
  if (head !== null && !inDoubt(losses, headKey(id))) return head;
  return inDoubt(losses, recordKey(id, next as Position)) || (head ?? 0) > next ? null : next;
}

interface Records {
  /** The position behind the last record. */
  readonly next: number;
  readonly gaps: { readonly first: number; readonly last: number } | null;
}

async function surveyRecords(store: Store, id: SessionId, { indexed }: Survey): Promise<Records> {
  let next = 0;
  const gaps: number[] = [];
  for (;;) {
    const range = recordRange(id, next as Position);
    const page = await store.view((view) => view.scan(range, { limit: READ_PAGE_RECORDS }));
    const puts: Put[] = [];
    for (const { key, value } of page) {
      const position = positionOfKey(id, key);
      if (position === null) return refuse('damaged', `a record of session ${id} has no position`);
      if (position > next) gaps.push(next, position - 1);
      next = position + 1;
      const event = indexed ? decodeRecord(value)?.event_id : undefined;
      if (event !== undefined) puts.push({ key: eventIdKey(id, event), value: encodePosition(position) });
      else if (indexed) gaps.push(position, position);
    }
    if (puts.length > 0) await store.write(puts);
    if (page.length < READ_PAGE_RECORDS) break;
  }
  return { next, gaps: gaps.length === 0 ? null : { first: Math.min(...gaps), last: Math.max(...gaps) } };
}

/** Writes how many sessions there are; gives where others may have been. */
async function countSessions(store: Store, losses: Losses): Promise<readonly SessionSpan[]> {
  const metaBytes = await store.view((view) => view.get(META_KEY));
  const meta = metaBytes === undefined || inDoubt(losses, META_KEY) ? null : decodeMeta(metaBytes);
  let count = 0;
  for (let from = HEAD_RANGE.gte; ;) {
    const range = { gte: from, lt: HEAD_RANGE.lt };
    const page = await store.view((view) => view.scan(range, { limit: READ_PAGE_RECORDS }));
    count += page.length;
    const last = page.at(-1);
    if (last === undefined) break;
    from = Buffer.concat([last.key, bytes('\0')]);
  }
  if (count === 0) refuse('damaged', 'nothing that can be read of the journal names a session');
  await store.write([{ key: META_KEY, value: encodeMeta(count) }]);
  if (meta?.sessionCount === count) return [];
  // Genesis and head are written first, and together.
  const vanished = intersectSessions(sessionsIn(losses.spans, 'g'), sessionsIn(losses.spans, 'h'));
  if (meta !== null && (count > meta.sessionCount || vanished.length === 0)) {
    refuse('damaged', `the journal held ${meta.sessionCount} sessions, and ${count} are there`);
  }
  return vanished;
}
