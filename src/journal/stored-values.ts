// The values of the journal's store. CBOR (RFC 8949) is only their container: nothing here is ever hashed. Whatever
// a store gives back is taken for garbage until it has exactly the expected shape; the readers give null, and never
// throw, because a flipped bit on a disk is no fault of ours.
import { Buffer } from 'node:buffer';
import { Encoder } from 'cbor-x';
import { type Digest, EventId, Position, Version } from '../../schemas/ids.ts';
import { invariant } from '../../schemas/rejection.ts';
import { Snapshot } from '../../schemas/snapshot.ts';
import type { JournalRecord } from './journal.ts';
import { LAYOUT } from './keys.ts';

const DIGEST_BYTES = 32;
const DIGEST_PREFIX = 'sha256:';

// Stateless: no value needs another to be read, so records can be lost, copied and read one by one.
const cbor = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false });

export function encodeRecord(record: JournalRecord): Uint8Array {
  invariant(record.event.isWellFormed(), `the text of event ${record.event_id} is not well-formed`);
  return cbor.encode([record.event_id, record.event, digestBytes(record.state_digest), digestBytes(record.chain)]);
}

export function decodeRecord(bytes: Uint8Array): JournalRecord | null {
  const value = decodeValue(bytes);
  if (!Array.isArray(value) || value.length !== 4) return null;
  const [event_id, event, state, link] = value as readonly unknown[];
  const state_digest = digestOf(state);
  const chain = digestOf(link);
  if (!EventId.is(event_id) || !isText(event) || state_digest === null || chain === null) return null;
  return { event, event_id, state_digest, chain };
}

export interface StoredHead {
  readonly version: Version;
  readonly owing: boolean;
}

export const encodeHead = ({ version, owing }: StoredHead): Uint8Array => cbor.encode([version, owing]);

export function decodeHead(bytes: Uint8Array): StoredHead | null {
  const value = decodeValue(bytes);
  if (!Array.isArray(value) || value.length !== 2) return null;
  const [version, owing] = value as readonly unknown[];
  return Version.is(version) && typeof owing === 'boolean' ? { version, owing } : null;
}

export const encodePosition = (position: Position): Uint8Array => cbor.encode(position);

export function decodePosition(bytes: Uint8Array): Position | null {
  const value = decodeValue(bytes);
  return Position.is(value) ? value : null;
}

export function encodeGenesis(text: string): Uint8Array {
  invariant(text.isWellFormed(), 'the text of a genesis is not well-formed');
  return cbor.encode(text);
}

export function decodeGenesis(bytes: Uint8Array): string | null {
  const value = decodeValue(bytes);
  return isText(value) ? value : null;
}

export const encodeMeta = (sessionCount: number): Uint8Array => cbor.encode([LAYOUT, sessionCount]);

/** The layout a store is in and how many sessions it holds. */
export function decodeMeta(bytes: Uint8Array): { readonly layout: number; readonly sessionCount: number } | null {
  const value = decodeValue(bytes);
  if (!Array.isArray(value) || value.length !== 2) return null;
  const [layout, sessionCount] = value as readonly unknown[];
  return Version.is(layout) && Version.is(sessionCount) ? { layout, sessionCount } : null;
}

/** The number of the form in which snapshots are kept. */
const SNAPSHOT_FORM = 1;

export function encodeSnapshot({ session_id, version, state_digest, chain, state }: Snapshot): Uint8Array {
  return cbor.encode([SNAPSHOT_FORM, session_id, version, digestBytes(state_digest), digestBytes(chain), state]);
}

export function decodeSnapshot(bytes: Uint8Array): Snapshot | null {
  const value = decodeValue(bytes);
  if (!Array.isArray(value) || value.length !== 6 || value[0] !== SNAPSHOT_FORM) return null;
  const [, session_id, version, digest, link, state] = value as readonly unknown[];
  const snapshot = { session_id, version, state_digest: digestOf(digest), chain: digestOf(link), state };
  return Snapshot.is(snapshot) ? snapshot : null;
}

function decodeValue(bytes: Uint8Array): unknown {
  try {
    return cbor.decode(bytes);
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed();

function digestBytes(digest: Digest): Buffer {
  const bytes = Buffer.from(digest.slice(DIGEST_PREFIX.length), 'hex');
  invariant(bytes.length === DIGEST_BYTES, `not a digest: ${digest}`);
  return bytes;
}

function digestOf(value: unknown): Digest | null {
  if (!(value instanceof Uint8Array) || value.length !== DIGEST_BYTES) return null;
  const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  return `${DIGEST_PREFIX}${hex}` as Digest;
}
