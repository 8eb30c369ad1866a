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

/** `[where the text says its event id, or the id of one that does not, text, state digest and chain]`. */
export function encodeRecord({ event, event_id, state_digest, chain }: JournalRecord): Uint8Array {
  invariant(event.isWellFormed(), `the text of event ${event_id} is not well-formed`);
  const said = event.indexOf(ID_FIELD + JSON.stringify(event_id));
  return cbor.encode([said === -1 ? event_id : said, event, digestPair(state_digest, chain)]);
}

export function decodeRecord(bytes: Uint8Array): JournalRecord | null {
  const value = decodeValue(bytes);
  if (!Array.isArray(value)) return null;
  const items = value as readonly unknown[];
  // Records of an older kind have the two digests apart.
  const [id, event, state, link] = items.length === 3 ? [items[0], items[1], ...digestsIn(items[2])] : items;
  if (items.length < 3 || items.length > 4 || !isText(event)) return null;
  const state_digest = digestOf(state);
  const chain = digestOf(link);
  const event_id = typeof id === 'number' ? idSaidAt(event, id) : id;
  if (!EventId.is(event_id) || state_digest === null || chain === null) return null;
  return { event, event_id, state_digest, chain };
}

// An id is most of what a record would say twice. Wherever the text gives a field of this name the very id, it says it.
const ID_FIELD = '"event_id":';

function idSaidAt(event: string, at: number): unknown {
  const start = at + ID_FIELD.length;
  if (event.slice(at, start + 1) !== `${ID_FIELD}"`) return null;
  for (let end = event.indexOf('"', start + 1); end !== -1; end = event.indexOf('"', end + 1)) {
    const quoted = event.slice(start, end + 1);
    if (!quoted.includes('\\')) return quoted.slice(1, -1);
    const read = readText(quoted);
    if (read !== null) return read;
  }
  return null;
}

function readText(quoted: string): unknown {
  try {
    return JSON.parse(quoted);
  } catch {
    return null;
  }
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

function digestPair(first: Digest, second: Digest): Buffer {
  const hex = first.slice(DIGEST_PREFIX.length) + second.slice(DIGEST_PREFIX.length);
  const bytes = Buffer.from(hex, 'hex');
  invariant(
    bytes.length === 2 * DIGEST_BYTES && first.length === second.length,
    `not two digests: ${first}, ${second}`,
  );
  return bytes;
}

const digestsIn = (value: unknown): readonly unknown[] =>
  value instanceof Uint8Array && value.length === 2 * DIGEST_BYTES
    ? [value.subarray(0, DIGEST_BYTES), value.subarray(DIGEST_BYTES)]
    : [];

function digestOf(value: unknown): Digest | null {
  if (!(value instanceof Uint8Array) || value.length !== DIGEST_BYTES) return null;
  const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  return `${DIGEST_PREFIX}${hex}` as Digest;
}
