// The values of the journal's store. CBOR (RFC 8949) is only the container of the larger ones: no digest is made of it.
// Stored bytes are not trusted until they have exactly the expected shape. The decoders return null and never throw,
// because a flipped bit on a disk is not an internal error.
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

// Stateless: every value decodes without any other, so values can be lost, copied and read one by one.
const cbor = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false });

/**
 * For each event, the index of the field in its text that holds its id (or the id itself, when no field does) and the
 * text. Then, in one byte string, the state digests, followed by the chain values: of all events, or only of the first and
 * the last one when the values between them follow from the events.
 */
export function encodeStretch(records: readonly JournalRecord[]): Uint8Array {
  const items: unknown[] = [];
  let states = '';
  for (const { event, event_id, state_digest } of records) {
    invariant(event.isWellFormed(), `the text of event ${event_id} is not well-formed`);
    items.push(placeOfId(event, event_id) ?? event_id, event);
    states += state_digest.slice(DIGEST_PREFIX.length);
  }
  const chained = records.length > 2 && records.every(isChainDerivable) ? [records[0], records.at(-1)] : records;
  const chains = chained.map((record) => record?.chain.slice(DIGEST_PREFIX.length) ?? '').join('');
  const digests = Buffer.from(states + chains, 'hex');
  const count = records.length + chained.length;
  invariant(states.length + chains.length === 2 * DIGEST_BYTES * count, `not digests: ${states}, ${chains}`);
  invariant(digests.length === DIGEST_BYTES * count, `not digests: ${states}, ${chains}`);
  items.push(digests);
  return cbor.encode(items);
}

/** Whether the chain value of an event can be derived when read; true for the first and the last one, which are stored. */
const isChainDerivable = (
  { event, state_digest, chain }: JournalRecord,
  index: number,
  all: readonly JournalRecord[],
) => {
  const before = all[index - 1];
  if (before === undefined || index === all.length - 1) return true;
  return chain === nextChain(before.chain, digestText(event), state_digest);
};

export function decodeStretch(bytes: Uint8Array): readonly JournalRecord[] | null {
  const items = decodeValue(bytes);
  if (!Array.isArray(items) || items.length < 3 || items.length % 2 === 0) return null;
  const digests = digestsIn(items.at(-1));
  const count = (items.length - 1) / 2;
  const chainCount = digests.length - count;
  if (chainCount !== count && (chainCount !== 2 || count < 3)) return null;
  const records: JournalRecord[] = [];
  for (let index = 0; index < count; index += 1) {
    const place = items[2 * index] as unknown;
    const event = items[2 * index + 1] as unknown;
    if (!isText(event)) return null;
    const event_id = isPlace(place) ? idInField(event, place) : place;
    if (!EventId.is(event_id)) return null;
    const state_digest = digests[index] as Digest;
    const isStored = chainCount === count || index === 0 || index === count - 1;
    const at = index === count - 1 ? digests.length - 1 : count + index;
    const before = records[index - 1];
    const record = { event, event_id, state_digest };
    if (isStored || before === undefined) records.push({ ...record, chain: digests[at] as Digest });
    else records.push(withDerivedChain(record, before));
  }
  return records;
}

// The event id is already in the text, nearly always in the first field of this name. Storing the index of that field takes
// one byte.
const ID_FIELD = '"event_id":"';

/** The index of the field of this name that holds the id; null when none does. */
function placeOfId(event: string, id: EventId): number | null {
  const quoted = JSON.stringify(id);
  let place = 0;
  for (let at = event.indexOf(ID_FIELD); at !== -1; at = event.indexOf(ID_FIELD, at + 1), place += 1) {
    if (event.startsWith(quoted, at + ID_FIELD.length - 1)) return place;
  }
  return null;
}

function idInField(event: string, place: number): unknown {
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

/** The version, followed by one byte when the session owes effects. */
export const encodeHead = ({ version, owing }: StoredHead): Uint8Array =>
  owing ? Buffer.concat([encodeNumber(version), Buffer.of(OWING)]) : encodeNumber(version);

export const decodeHead = (bytes: Uint8Array): StoredHead | null =>
  decodeWhole(bytes, (reader) => {
    const version = readNumber(reader) as Version;
    if (reader.atEnd) return { version, owing: false };
    if (reader.byte() !== OWING) throw new RangeError('a head ends with an unknown byte');
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

/** The layout of a store and the number of its sessions. */
export function decodeMeta(bytes: Uint8Array): { readonly layout: number; readonly sessionCount: number } | null {
  const value = decodeValue(bytes);
  if (!Array.isArray(value) || value.length !== 2) return null;
  const [layout, sessionCount] = value as readonly unknown[];
  return Version.is(layout) && Version.is(sessionCount) ? { layout, sessionCount } : null;
}

/** The version of the stored form of snapshots. */
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

/** The digests in a byte string; none when its length is not a multiple of a digest's. */
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
