// The layout of the journal in an ordered key-value store. The first letter of a key names its table:
//
//   d, d <session>                    what the journal lost to damage, if anything (salvage/damage-record.ts)
//   e <hash of session and event id>  position of the event
//   g <session>                       genesis text
//   m                                 [layout, number of sessions]
//   o <session>                       the session owes (head-index.ts)
//   p <digest, 32 bytes>              text of a tool package
//   q <digest, 32 bytes>              a sealed page of a transcript
//   s <session> 00 <first position>   a commit
//   t                                 the trail: the sessions that earlier commits wrote to (commit-trail.ts)
//   v <session>                       the head: version, what the session owes, its next time, its card
//   w <time> <session>                the next time that the session waits for (head-index.ts)
//   x <session>                       the tombstone of a deleted session
//   y <session>                       the deleted session still has entries to remove (session-sweep.ts)
//
// Ids are ASCII and contain no byte below 0x21, so the zero byte after a session id ends it: the keys of two
// sessions do not mix when one id is a prefix of the other. Positions are encoded so that byte order is stream order.
import { Buffer } from 'node:buffer';
import { digestText } from '../../schemas/canonical.ts';
import { type Digest, type EventId, type Position, SessionId } from '../../schemas/ids.ts';
import type { Wake } from './journal.ts';
import type { KeyRange } from './store.ts';
import { decodeNumber, decodeWhole, encodeNumber, readNumber } from './stored-numbers.ts';

/** The number of this layout. A store of any other layout is refused (layout.ts). */
export const LAYOUT = 3;

/** Two ids may share a hash, by chance or on purpose. Look-ups compare the event itself, so this costs only time. */
const HASH_HEX = 16;
const DIGEST_PREFIX = 'sha256:'.length;
const DIGEST_BYTES = 32;

export const GENESIS_LETTER = 'g';
export const META_LETTER = 'm';
export const PACKAGE_LETTER = 'p';
export const PAGE_LETTER = 'q';
export const COMMIT_LETTER = 's';
export const HEAD_LETTER = 'v';
const OWING_LETTER = 'o';
const WAKE_LETTER = 'w';
export const TOMBSTONE_LETTER = 'x';
/** The record of what a rebuild lost (salvage/damage-record.ts). */
export const DAMAGE_LETTER = 'd';
const SWEEP_LETTER = 'y';

export const META_KEY: Uint8Array = ascii(META_LETTER);
export const TRAIL_KEY: Uint8Array = ascii('t');
/** Every possible key. */
export const WHOLE_RANGE: KeyRange = { gte: Buffer.of(0x00), lt: Buffer.of(0xff) };
/** Every head, by session. */
export const HEAD_RANGE: KeyRange = { gte: ascii(HEAD_LETTER), lt: ascii('w') };

export const genesisKey = (session: SessionId): Uint8Array => ascii(`${GENESIS_LETTER}${session}`);
export const headKey = (session: SessionId): Uint8Array => ascii(`${HEAD_LETTER}${session}`);

/** What a rebuild lost of a session. */
export const lostKey = (session: SessionId): Uint8Array => ascii(`${DAMAGE_LETTER}${session}`);

export const owingKey = (session: SessionId): Uint8Array => ascii(`${OWING_LETTER}${session}`);

/** The heads of the sessions after this one. */
export const sessionsAfter = (session: SessionId): KeyRange => ({
  gte: ascii(`${HEAD_LETTER}${session}\0`),
  lt: HEAD_RANGE.lt,
});

/** The sessions that owe, after this one. */
export const owingAfter = (session: SessionId | null): KeyRange => ({
  gte: ascii(session === null ? OWING_LETTER : `${OWING_LETTER}${session}\0`),
  lt: ascii('p'),
});

export const tombstoneKey = (session: SessionId): Uint8Array => ascii(`${TOMBSTONE_LETTER}${session}`);

/** The tombstones of the sessions after this one. */
export const tombstonesAfter = (session: SessionId | null): KeyRange => ({
  gte: ascii(session === null ? TOMBSTONE_LETTER : `${TOMBSTONE_LETTER}${session}\0`),
  lt: ascii(SWEEP_LETTER),
});

export const sweepKey = (session: SessionId): Uint8Array => ascii(`${SWEEP_LETTER}${session}`);

/** Every deleted session that still has entries to remove. */
export const SWEEP_RANGE: KeyRange = { gte: ascii(SWEEP_LETTER), lt: ascii('z') };

/** Times are encoded like positions, so byte order is their order. */
export const wakeKey = (atMs: number, session: SessionId): Uint8Array =>
  Buffer.concat([ascii(WAKE_LETTER), encodeNumber(atMs), ascii(session)]);

/** The times up to `untilMs`, after a known one. */
export const wakesBetween = (after: Wake | null, untilMs: number): KeyRange => ({
  gte: after === null ? ascii(WAKE_LETTER) : Buffer.concat([wakeKey(after.at_ms, after.session_id), ascii('\0')]),
  // No session id has a byte above 0x7e.
  lt: Buffer.concat([ascii(WAKE_LETTER), encodeNumber(untilMs), Buffer.of(0xff)]),
});

/** The time and the session in the key of a time; null when it does not decode. */
export function wakeOfKey(key: Uint8Array): Wake | null {
  const wake = decodeWhole(key.subarray(1), (reader) => {
    const at_ms = readNumber(reader);
    let session = '';
    while (!reader.atEnd) session += String.fromCodePoint(reader.byte());
    return { at_ms, session };
  });
  return wake !== null && SessionId.is(wake.session) ? { at_ms: wake.at_ms, session_id: wake.session } : null;
}

export const eventKey = (session: SessionId, event: EventId): Uint8Array =>
  Buffer.from(`65${digestText(`${session}\0${event}`).slice(DIGEST_PREFIX, DIGEST_PREFIX + HASH_HEX)}`, 'hex');

export const packageKey = (digest: Digest): Uint8Array => digestKey(PACKAGE_LETTER, digest);

export const pageKey = (digest: Digest): Uint8Array => digestKey(PAGE_LETTER, digest);

/** The pages after this one. */
export const pagesAfter = (digest: Digest | null): KeyRange => ({
  gte: digest === null ? ascii(PAGE_LETTER) : Buffer.concat([pageKey(digest), Buffer.of(0)]),
  lt: ascii('r'),
});

const digestKey = (letter: string, digest: Digest): Uint8Array =>
  Buffer.concat([ascii(letter), Buffer.from(digest.slice(DIGEST_PREFIX), 'hex')]);

/** The digest in the key of a tool package or a page; null when the key is neither. */
export function digestInKey(key: Uint8Array): Digest | null {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const letter = bytes.toString('latin1', 0, 1);
  if (bytes.length !== 1 + DIGEST_BYTES || (letter !== PACKAGE_LETTER && letter !== PAGE_LETTER)) return null;
  return `sha256:${bytes.toString('hex', 1)}` as Digest;
}

export const commitKey = (session: SessionId, first: Position): Uint8Array =>
  Buffer.concat([ascii(`${COMMIT_LETTER}${session}\0`), encodeNumber(first)]);

/** The commits of a session that begin at one of these positions. */
export const commitRange = (session: SessionId, from: Position, to: Position): KeyRange => ({
  gte: commitKey(session, from),
  lt: commitKey(session, to),
});

/** The commits of a session that begin at a position or after it. */
export const commitsFrom = (session: SessionId, from: Position): KeyRange => ({
  gte: commitKey(session, from),
  lt: streamRange(session).lt,
});

/** Every commit of a session. */
export const streamRange = (session: SessionId): KeyRange => ({
  gte: ascii(`${COMMIT_LETTER}${session}\0`),
  lt: ascii(`${COMMIT_LETTER}${session}\x01`),
});

export interface CommitPlace {
  readonly session: SessionId;
  readonly first: Position;
}

/** The session and the first position of a commit, from its key; null when the key is not one of a commit. */
export function placeOfCommit(key: Uint8Array): CommitPlace | null {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const end = bytes.indexOf(0);
  if (end === -1 || bytes.toString('latin1', 0, 1) !== COMMIT_LETTER) return null;
  const session = bytes.toString('latin1', 1, end);
  const first = decodeNumber(bytes.subarray(end + 1));
  return SessionId.is(session) && first !== null ? { session, first: first as Position } : null;
}

/** The session whose genesis, commit or head has this key; null for any other key. */
export function sessionIn(key: Uint8Array): SessionId | null {
  const letter = String.fromCodePoint(key[0] ?? 0);
  if (letter === COMMIT_LETTER) return placeOfCommit(key)?.session ?? null;
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
