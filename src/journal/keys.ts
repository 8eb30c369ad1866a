// The layout of the journal in an ordered key-value store. The first letter of a key names its table:
//
//   d, d <session>                    what the journal lost to damage, if anything (salvage/damage-record.ts)
//   e <hash of session and event id>  position of the event
//   g <session>                       genesis text
//   m                                 [layout, number of sessions]
//   s <session> 00 <first position>   a stretch: events of one append with their digests, as one value
//   t                                 the trail: the sessions that earlier commits wrote to (commit-trail.ts)
//   v <session>                       version, and whether the session owes effects
//
// Ids are ASCII and contain no byte below 0x21, so the zero byte after a session id ends it: the keys of two
// sessions do not mix when one id is a prefix of the other. Positions are encoded so that byte order is stream order.
// Layout 1 uses other letters where it stores values in another form (salvage/layout-1.ts), so the two cannot be confused.
import { Buffer } from 'node:buffer';
import { digestText } from '../../schemas/canonical.ts';
import { type EventId, type Position, SessionId } from '../../schemas/ids.ts';
import type { KeyRange } from './store.ts';
import { decodeNumber, encodeNumber } from './stored-numbers.ts';

/** The number of this layout. A store of layout 1 is converted when it is opened; any other layout is refused. */
export const LAYOUT = 2;

/** Two ids may share a hash, by chance or on purpose. Look-ups compare the event itself, so this costs only time. */
const HASH_HEX = 16;
const DIGEST_PREFIX = 'sha256:'.length;

export const GENESIS_LETTER = 'g';
export const META_LETTER = 'm';
export const STRETCH_LETTER = 's';
export const HEAD_LETTER = 'v';

export const META_KEY: Uint8Array = ascii(META_LETTER);
export const TRAIL_KEY: Uint8Array = ascii('t');
/** Every possible key. */
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

/** The stretches of a session that begin at a position or after it. */
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

/** The session and the first position of a stretch, from its key; null when the key is not a stretch key. */
export function placeOfStretch(key: Uint8Array): StretchPlace | null {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const end = bytes.indexOf(0);
  if (end === -1 || bytes.toString('latin1', 0, 1) !== STRETCH_LETTER) return null;
  const session = bytes.toString('latin1', 1, end);
  const first = decodeNumber(bytes.subarray(end + 1));
  return SessionId.is(session) && first !== null ? { session, first: first as Position } : null;
}

/** The session whose genesis, stretch or head has this key; null for any other key. */
export function sessionIn(key: Uint8Array): SessionId | null {
  const letter = String.fromCodePoint(key[0] ?? 0);
  if (letter === STRETCH_LETTER) return placeOfStretch(key)?.session ?? null;
  return letter === HEAD_LETTER || letter === GENESIS_LETTER ? sessionOfKey(key) : null;
}

/** The session in a key that consists of a letter and a session id; null when it is not valid. */
export function sessionOfKey(key: Uint8Array): SessionId | null {
  const session = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1').slice(1);
  return SessionId.is(session) ? session : null;
}

function ascii(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
