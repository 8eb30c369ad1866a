// Layout 1 of the journal, which is read only to convert it. Its differences from the current layout:
//
//   h <session>                                      [version, owing]
//   i <session> 00 <event id>                        position of the event; not converted, the index is rebuilt
//   r <session> 00 <position, 8 bytes, high first>   [offset of the event id in the text, text, digests]
import { Buffer } from 'node:buffer';
import { Decoder } from 'cbor-x';
import { type Digest, EventId, Position, SessionId, Version } from '../../../schemas/ids.ts';
import type { JournalRecord } from '../journal.ts';
import { type StretchPlace } from '../keys.ts';
import type { StoredHead } from '../stored-values.ts';

export const LAYOUT_1 = { layout: 1, head: 'h', index: 'i', record: 'r' } as const;

const POSITION_BYTES = 8;
const DIGEST_BYTES = 32;
const ID_FIELD = '"event_id":';

const cbor = new Decoder({ useRecords: false, mapsAsObjects: true });

export const headKey1 = (session: SessionId): Uint8Array => Buffer.from(`${LAYOUT_1.head}${session}`, 'latin1');

export function recordKey1(session: SessionId, position: Position): Uint8Array {
  const at = Buffer.alloc(POSITION_BYTES);
  at.writeBigUInt64BE(BigInt(position));
  return Buffer.concat([Buffer.from(`${LAYOUT_1.record}${session}\0`, 'latin1'), at]);
}

/** The session and the position of the record with this key; null when it is not a record key. */
export function placeOfRecord1(key: Buffer): StretchPlace | null {
  const end = key.indexOf(0);
  if (end === -1 || key.length !== end + 1 + POSITION_BYTES) return null;
  const session = key.toString('latin1', 1, end);
  const first = Number(key.readBigUInt64BE(end + 1));
  return SessionId.is(session) && Position.is(first) ? { session, first } : null;
}

export function decodeHead1(bytes: Uint8Array): StoredHead | null {
  const [version, owing] = itemsOf(bytes, 2);
  return Version.is(version) && typeof owing === 'boolean' ? { version, owing } : null;
}

export function decodeRecord1(bytes: Uint8Array): JournalRecord | null {
  // The oldest records have their two digests as two items.
  const three = itemsOf(bytes, 3);
  const [id, event, ...digests] = three.length === 3 ? three : itemsOf(bytes, 4);
  const hex = digests.map(hexOf).join('');
  if (typeof event !== 'string' || !event.isWellFormed() || hex.length !== 4 * DIGEST_BYTES) return null;
  const event_id = typeof id === 'number' ? eventIdAt(event, id) : id;
  if (!EventId.is(event_id)) return null;
  const [state_digest, chain] = [hex.slice(0, 2 * DIGEST_BYTES), hex.slice(2 * DIGEST_BYTES)].map(
    (half) => `sha256:${half}` as Digest,
  ) as [Digest, Digest];
  return { event, event_id, state_digest, chain };
}

function itemsOf(bytes: Uint8Array, count: number): readonly unknown[] {
  try {
    const value: unknown = cbor.decode(bytes);
    return Array.isArray(value) && value.length === count ? value : [];
  } catch {
    return [];
  }
}

const hexOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex') : '';

function eventIdAt(event: string, at: number): unknown {
  const start = at + ID_FIELD.length;
  if (!event.startsWith(`${ID_FIELD}"`, at)) return null;
  for (let end = event.indexOf('"', start + 1); end !== -1; end = event.indexOf('"', end + 1)) {
    try {
      return JSON.parse(event.slice(start, end + 1));
    } catch {
      // This quotation mark is a part of the id.
    }
  }
  return null;
}
