// The values of the journal's store. CBOR (RFC 8949) is only the container of the larger ones: no digest is made of it.
// Stored bytes are not trusted until they have exactly the expected shape. The decoders return null and never throw,
// because a flipped bit on a disk is not an internal error.
import { Buffer } from 'node:buffer';
import { Encoder } from 'cbor-x';
import { type Digest, EventId, type Position, type SessionId, Version } from '../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX } from '../../schemas/limits.ts';
import { invariant } from '../../schemas/rejection.ts';
import { HeadFacts, Tombstone } from '../../schemas/session-head.ts';
import { Snapshot } from '../../schemas/snapshot.ts';
import { idInField, placeOfId } from './event-id-field.ts';
import type { JournalCommit, JournalEvent } from './journal.ts';
import { LAYOUT } from './keys.ts';

const DIGEST_BYTES = 32;
const DIGEST_PREFIX = 'sha256:';

// Stateless: every value decodes without any other, so values can be lost, copied and read one by one.
const cbor = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false });

/**
 * For each event, the index of the field in its text that holds its id (or the id itself, when no field does) and the
 * text. Then, in one byte string, the state digest and the chain value after the last event.
 */
export function encodeCommit({ events, state_digest, chain }: JournalCommit): Uint8Array {
  const items: unknown[] = [];
  for (const { text, event_id } of events) {
    invariant(text.isWellFormed(), `the text of event ${event_id} is not well-formed`);
    items.push(placeOfId(text, event_id) ?? event_id, text);
  }
  items.push(Buffer.concat([digestBytes(state_digest), digestBytes(chain)]));
  return cbor.encode(items);
}

/** The commit that begins at `position`; null when the bytes are not a commit. */
export function decodeCommit(position: Position, bytes: Uint8Array): JournalCommit | null {
  const items = decodeValue(bytes);
  if (!Array.isArray(items) || items.length < 3 || items.length % 2 === 0) return null;
  const digests = items.at(-1) as unknown;
  if (!(digests instanceof Uint8Array) || digests.length !== 2 * DIGEST_BYTES) return null;
  const state_digest = digestOf(digests.subarray(0, DIGEST_BYTES));
  const chain = digestOf(digests.subarray(DIGEST_BYTES));
  if (state_digest === null || chain === null) return null;
  const events: JournalEvent[] = [];
  for (let at = 0; at < items.length - 1; at += 2) {
    const place = items[at] as unknown;
    const text = items[at + 1] as unknown;
    if (!isText(text)) return null;
    const event_id = isPlace(place) ? idInField(text, place) : place;
    if (!EventId.is(event_id)) return null;
    events.push({ text, event_id });
  }
  return events.length > EVENTS_PER_COMMIT_MAX ? null : { position, events, state_digest, chain };
}

export interface StoredHead extends HeadFacts {
  readonly version: Version;
}

export function encodeHead({ version, owing, wake_at_ms, card }: StoredHead): Uint8Array {
  const { title, status, parent, last_activity_ms, outcome } = card;
  return cbor.encode([version, owing, wake_at_ms, title, status, parent, last_activity_ms, outcome]);
}

export function decodeHead(bytes: Uint8Array): StoredHead | null {
  const value = decodeValue(bytes);
  if (!Array.isArray(value) || value.length !== 8) return null;
  const [version, owing, wake_at_ms, title, status, parent, last_activity_ms, outcome] = value as readonly unknown[];
  const facts = { owing, wake_at_ms, card: { title, status, parent, last_activity_ms, outcome } };
  return Version.is(version) && HeadFacts.is(facts) ? { version, ...facts } : null;
}

export const encodeTombstone = ({ version, chain, deleted_at_ms }: Tombstone): Uint8Array =>
  cbor.encode([version, chain === null ? null : digestBytes(chain), deleted_at_ms]);

export function decodeTombstone(session_id: SessionId, bytes: Uint8Array): Tombstone | null {
  const value = decodeValue(bytes);
  if (!Array.isArray(value) || value.length !== 3) return null;
  const [version, chain, deleted_at_ms] = value as readonly unknown[];
  const digest = digestOf(chain);
  if (digest === null && chain !== null) return null;
  const tombstone = { session_id, version, chain: digest, deleted_at_ms };
  return Tombstone.is(tombstone) ? tombstone : null;
}

/** The text of a tool package. */
export function encodeText(text: string): Uint8Array {
  invariant(text.isWellFormed(), 'a text to store is not well-formed');
  return cbor.encode(text);
}

export function decodeText(bytes: Uint8Array): string | null {
  const value = decodeValue(bytes);
  return isText(value) ? value : null;
}

/** The genesis record of a stream. */
export interface StoredGenesis {
  readonly text: string;
  /** False for a copy that is not stored completely. It stands here because no session is loaded without its genesis. */
  readonly isComplete: boolean;
}

/** The text; of an incomplete copy, an array of it. */
export const encodeStoredGenesis = ({ text, isComplete }: StoredGenesis): Uint8Array =>
  cbor.encode(isComplete ? text : [text]);

export function decodeStoredGenesis(bytes: Uint8Array): StoredGenesis | null {
  const value = decodeValue(bytes);
  const isComplete = !Array.isArray(value);
  if (!isComplete && value.length !== 1) return null;
  const text: unknown = isComplete ? value : value[0];
  return isText(text) ? { text, isComplete } : null;
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

function digestOf(value: unknown): Digest | null {
  if (!(value instanceof Uint8Array) || value.length !== DIGEST_BYTES) return null;
  const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  return `${DIGEST_PREFIX}${hex}` as Digest;
}
