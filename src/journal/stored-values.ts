// The values of the journal's store. CBOR (RFC 8949) is only the container of the larger ones: nothing here is ever hashed. Whatever
// a store gives back is taken for garbage until it has exactly the expected shape; the readers give null, and never
// throw, because a flipped bit on a disk is no fault of ours.
import { Buffer } from 'node:buffer';
import { Encoder } from 'cbor-x';
import { digestText } from '../../schemas/canonical.ts';
import { type Digest, EventId, Version } from '../../schemas/ids.ts';
import { invariant } from '../../schemas/rejection.ts';
import { Snapshot } from '../../schemas/snapshot.ts';
import { nextChain } from '../core/chain.ts';
import { withDerivedChain } from './derived-chain.ts';
import type { JournalRecord } from './journal.ts';
import { LAYOUT } from './keys.ts';
import { decodeWhole, encodeNumber, readNumber } from './stored-numbers.ts';

const DIGEST_BYTES = 32;
const DIGEST_PREFIX = 'sha256:';

// Stateless: no value needs another to be read, so records can be lost, copied and read one by one.
const cbor = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false });

/**
 * For each event where its text says its id (or the id of one whose text does not) and the text; then the digests of the
 * states, and the chain values: of all events, or of the first and the last one when those between follow from them.
 */
export function encodeStretch(records: readonly JournalRecord[]): Uint8Array {
  const items: unknown[] = [];
  let states = '';
  for (const { event, event_id, state_digest } of records) {
    invariant(event.isWellFormed(), `the text of event ${event_id} is not well-formed`);
    items.push(placeOfId(event, event_id) ?? event_id, event);
    states += state_digest.slice(DIGEST_PREFIX.length);
  }
  const told = records.length > 2 && records.every(followsFrom) ? [records[0], records.at(-1)] : records;
  const chains = told.map((record) => record?.chain.slice(DIGEST_PREFIX.length) ?? '').join('');
  const digests = Buffer.from(states + chains, 'hex');
  const count = records.length + told.length;
  invariant(states.length + chains.length === 2 * DIGEST_BYTES * count, `not digests: ${states}, ${chains}`);
  invariant(digests.length === DIGEST_BYTES * count, `not digests: ${states}, ${chains}`);
  items.push(digests);
  return cbor.encode(items);
}

/** Whether the chain value of an event need not be told; those of the first and the last one always are. */
const followsFrom = ({ event, state_digest, chain }: JournalRecord, index: number, all: readonly JournalRecord[]) => {
  const before = all[index - 1];
  if (before === undefined || index === all.length - 1) return true;
  return chain === nextChain(before.chain, digestText(event), state_digest);
};

export function decodeStretch(bytes: Uint8Array): readonly JournalRecord[] | null {
  const items = decodeValue(bytes);
  if (!Array.isArray(items) || items.length < 3 || items.length % 2 === 0) return null;
  const digests = digestsIn(items.at(-1));
  const count = (items.length - 1) / 2;
  const told = digests.length - count;
  if (told !== count && (told !== 2 || count < 3)) return null;
  const records: JournalRecord[] = [];
  for (let index = 0; index < count; index += 1) {
    const place = items[2 * index] as unknown;
    const event = items[2 * index + 1] as unknown;
    if (!isText(event)) return null;
    const event_id = isPlace(place) ? idSaidAt(event, place) : place;
    if (!EventId.is(event_id)) return null;
    const state_digest = digests[index] as Digest;
    const isTold = told === count || index === 0 || index === count - 1;
    const at = index === count - 1 ? digests.length - 1 : count + index;
    const before = records[index - 1];
    const record = { event, event_id, state_digest };
    if (isTold || before === undefined) records.push({ ...record, chain: digests[at] as Digest });
    else records.push(withDerivedChain(record, before));
  }
  return records;
}

// An id is most of what a record would say twice. Nearly every text gives a field of this name the very id, and the
// first of that name: which one it is takes one byte.
const ID_FIELD = '"event_id":"';

/** Which of the fields of this name says the id, or null when none does. */
function placeOfId(event: string, id: EventId): number | null {
  const quoted = JSON.stringify(id);
  let place = 0;
  for (let at = event.indexOf(ID_FIELD); at !== -1; at = event.indexOf(ID_FIELD, at + 1), place += 1) {
    if (event.startsWith(quoted, at + ID_FIELD.length - 1)) return place;
  }
  return null;
}

function idSaidAt(event: string, place: number): unknown {
  let at = event.indexOf(ID_FIELD);
  for (let passed = 0; at !== -1 && passed < place; passed += 1) at = event.indexOf(ID_FIELD, at + 1);
  if (at === -1) return null;
  const start = at + ID_FIELD.length - 1;
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

/** The version, and one byte more when the session owes effects. */
export const encodeHead = ({ version, owing }: StoredHead): Uint8Array =>
  owing ? Buffer.concat([encodeNumber(version), Buffer.of(OWING)]) : encodeNumber(version);

export const decodeHead = (bytes: Uint8Array): StoredHead | null =>
  decodeWhole(bytes, (reader) => {
    const version = readNumber(reader) as Version;
    if (reader.atEnd) return { version, owing: false };
    if (reader.byte() !== OWING) throw new RangeError('a head does not end as one does');
    return { version, owing: true };
  });

const OWING = 1;

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

const isPlace = (value: unknown): value is number => Number.isSafeInteger(value);

const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed();

function digestBytes(digest: Digest): Buffer {
  const bytes = Buffer.from(digest.slice(DIGEST_PREFIX.length), 'hex');
  invariant(bytes.length === DIGEST_BYTES, `not a digest: ${digest}`);
  return bytes;
}

/** Several digests in one; none when the bytes are not just digests. */
function digestsIn(value: unknown): readonly Digest[] {
  if (!(value instanceof Uint8Array) || value.length % DIGEST_BYTES !== 0) return [];
  const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  const digests: Digest[] = [];
  for (let at = 0; at < hex.length; at += 2 * DIGEST_BYTES) {
    digests.push(`${DIGEST_PREFIX}${hex.slice(at, at + 2 * DIGEST_BYTES)}` as Digest);
  }
  return digests;
}

function digestOf(value: unknown): Digest | null {
  if (!(value instanceof Uint8Array) || value.length !== DIGEST_BYTES) return null;
  const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  return `${DIGEST_PREFIX}${hex}` as Digest;
}
