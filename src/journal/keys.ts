// The layout of the journal in an ordered key-value store. A key begins with the letter of its table:
//
//   d, d <session>                    what damage took of the journal, if any ever did (damage-record.ts)
//   e <hash of session and event id>  position of the event
//   g <session>                       genesis text
//   m                                 [layout, number of sessions]
//   s <session> 00 <first position>   a stretch of the stream: the events of one append, with their digests
//   t                                 the trail: what the commits before the last one wrote to (trail.ts)
//   v <session>                       version, and whether the session owes effects
//
// Ids are ASCII and hold no byte below 0x21, so the zero byte after a session ends it: no session's keys lie among
// those of another whose id it begins. Positions are written so that byte order is stream order. Layout 1 has other
// letters for what it holds in another form (layout-1.ts), so that the two are never taken for each other.
import { Buffer } from 'node:buffer';
import { digestText } from '../../schemas/canonical.ts';
import { type EventId, type Position, SessionId } from '../../schemas/ids.ts';
import type { KeyRange } from './store.ts';
import { decodeNumber, encodeNumber } from './stored-numbers.ts';

/** The number of this layout. A store of layout 1 is converted when it is opened, and one of any other is not touched. */
export const LAYOUT = 2;

/** A hash may be shared, by chance or on purpose: what it leads to is compared, and costs time and nothing else. */
const HASH_HEX = 16;
const DIGEST_PREFIX = 'sha256:'.length;

export const GENESIS_LETTER = 'g';
export const META_LETTER = 'm';
export const STRETCH_LETTER = 's';
export const HEAD_LETTER = 'v';

export const META_KEY: Uint8Array = ascii(META_LETTER);
export const TRAIL_KEY: Uint8Array = ascii('t');
/** Every key there can be. */
export const WHOLE_RANGE: KeyRange = { gte: Buffer.of(0x00), lt: Buffer.of(0xff) };
/** Every head, by session. */
export const HEAD_RANGE: KeyRange = { gte: ascii(HEAD_LETTER), lt: ascii('w') };

export const genesisKey = (session: SessionId): Uint8Array => ascii(`${GENESIS_LETTER}${session}`);
export const headKey = (session: SessionId): Uint8Array => ascii(`${HEAD_LETTER}${session}`);

export const eventKey = (session: SessionId, event: EventId): Uint8Array =>
  Buffer.from(`65${digestText(`${session}\0${event}`).slice(DIGEST_PREFIX, DIGEST_PREFIX + HASH_HEX)}`, 'hex');

export const stretchKey = (session: SessionId, first: Position): Uint8Array =>
  Buffer.concat([ascii(`${STRETCH_LETTER}${session}\0`), encodeNumber(first)]);

/** The stretches of a session that begin at one of these positions. */
export const stretchRange = (session: SessionId, from: Position, to: Position): KeyRange => ({
  gte: stretchKey(session, from),
  lt: stretchKey(session, to),
});

/** The stretches of a session that begin at a position or behind it. */
export const stretchesFrom = (session: SessionId, from: Position): KeyRange => ({
  gte: stretchKey(session, from),
  lt: streamRange(session).lt,
});

/** Every stretch of a session. */
export const streamRange = (session: SessionId): KeyRange => ({
  gte: ascii(`${STRETCH_LETTER}${session}\0`),
  lt: ascii(`${STRETCH_LETTER}${session}\x01`),
});

export interface StretchPlace {
  readonly session: SessionId;
  readonly first: Position;
}

/** Where a stretch belongs by its key, or null when the key is not one of a stretch. */
export function placeOfStretch(key: Uint8Array): StretchPlace | null {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const end = bytes.indexOf(0);
  if (end === -1 || bytes.toString('latin1', 0, 1) !== STRETCH_LETTER) return null;
  const session = bytes.toString('latin1', 1, end);
  const first = decodeNumber(bytes.subarray(end + 1));
  return SessionId.is(session) && first !== null ? { session, first: first as Position } : null;
}

/** The session whose genesis, stretch or head has this key, or null when the key is of none. */
export function sessionIn(key: Uint8Array): SessionId | null {
  const letter = String.fromCodePoint(key[0] ?? 0);
  if (letter === STRETCH_LETTER) return placeOfStretch(key)?.session ?? null;
  return letter === HEAD_LETTER || letter === GENESIS_LETTER ? sessionOfKey(key) : null;
}

/** The session in a key that is its letter and a session, or null when the key is none. */
export function sessionOfKey(key: Uint8Array): SessionId | null {
  const session = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1').slice(1);
  return SessionId.is(session) ? session : null;
}

function ascii(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
