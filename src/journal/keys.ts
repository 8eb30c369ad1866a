// The layout of the journal in an ordered key-value store. A key begins with the letter of its table:
//
//   m                                            [layout, number of sessions]
//   g <session>                                  genesis text
//   h <session>                                  [version, owing]
//   i <session> 00 <event id>                    position of the event
//   r <session> 00 <position, 8 bytes, high first>   [where the event id is in the text, text, digests]
//
// Ids are ASCII and hold no byte below 0x21, so the zero byte after a session ends it: no session's keys lie among
// those of another whose id it begins. Positions have a fixed width, so byte order is stream order.
import { Buffer } from 'node:buffer';
import { type EventId, Position, SessionId } from '../../schemas/ids.ts';
import type { KeyRange } from './store.ts';

/** The number of this layout; a store of any other is not touched. */
export const LAYOUT = 1;

const POSITION_BYTES = 8;

export const META_KEY: Uint8Array = ascii('m');
/** Every key there can be. */
export const WHOLE_RANGE: KeyRange = { gte: Buffer.of(0x00), lt: Buffer.of(0xff) };
/** Every head, by session. */
export const HEAD_RANGE: KeyRange = { gte: ascii('h'), lt: ascii('i') };

export const genesisKey = (session: SessionId): Uint8Array => ascii(`g${session}`);
export const headKey = (session: SessionId): Uint8Array => ascii(`h${session}`);
export const eventIdKey = (session: SessionId, event: EventId): Uint8Array => ascii(`i${session}\0${event}`);

export function recordKey(session: SessionId, position: Position): Uint8Array {
  const prefix = ascii(`r${session}\0`);
  const key = Buffer.alloc(prefix.length + POSITION_BYTES);
  key.set(prefix);
  key.writeBigUInt64BE(BigInt(position), prefix.length);
  return key;
}

/** The records of a session from a position on. */
export const recordRange = (session: SessionId, from: Position): KeyRange => ({
  gte: recordKey(session, from),
  lt: ascii(`r${session}\x01`),
});

/** The position in the key of a record, or null when the key is not one of a record of this session. */
export function positionOfKey(session: SessionId, key: Uint8Array): Position | null {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  const prefix = ascii(`r${session}\0`);
  if (bytes.length !== prefix.length + POSITION_BYTES || !bytes.subarray(0, prefix.length).equals(prefix)) return null;
  const position = Number(bytes.readBigUInt64BE(prefix.length));
  return Position.is(position) ? position : null;
}

/** The session in the key of a head, or null when the key is not one of a head. */
export function sessionOfKey(key: Uint8Array): SessionId | null {
  const session = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1').slice(1);
  return SessionId.is(session) ? session : null;
}

function ascii(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
