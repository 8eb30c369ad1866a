// Copies the readable entries of a journal, in key order, into a new store of the current layout, and notes what was found of
// each session. Copies genesis texts, events and the record of earlier damage; rebuilds the index of event ids from the
// events. Heads and the number of sessions are written later, from what was found.
import type { Buffer } from 'node:buffer';
import type { SessionId } from '../../../schemas/ids.ts';
import type { BulkWriter } from './bulk-writer.ts';
import { DAMAGE_LETTER } from './damage-record.ts';
import type { JournalRecord } from '../journal.ts';
import {
  GENESIS_LETTER,
  HEAD_LETTER,
  LAYOUT,
  META_LETTER,
  STRETCH_LETTER,
  type StretchPlace,
  placeOfStretch,
  sessionOfKey,
} from '../keys.ts';
import { LAYOUT_1, decodeHead1, decodeRecord1, placeOfRecord1 } from './layout-1.ts';
import { refuse } from '../refusal.ts';
import { type Remains, noteEvents, nothingOf } from './session-verdict.ts';
import { type StoredHead, decodeHead, decodeMeta, decodeStretch } from '../stored-values.ts';
import { putsOfRecords } from '../record-puts.ts';

export interface Copied {
  /** The layout of the copied journal. */
  readonly layout: number;
  readonly sessions: ReadonlyMap<SessionId, Remains>;
  /** How many sessions the journal stated, or null when it did not. */
  readonly sessionCount: number | null;
}

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer | null;
}

export async function copyJournal(entries: AsyncIterable<Entry>, writes: BulkWriter): Promise<Copied> {
  const copy = new Copy(writes);
  for await (const { key, value } of entries) {
    if (value !== null) copy.add(key, value);
    await writes.flushIfFull();
  }
  copy.join();
  await writes.flush();
  return copy;
}

/** The maximum number of events of layout 1, each stored alone, that are joined into one stretch. */
const JOINED_MAX = 64;

class Copy implements Copied {
  readonly sessions = new Map<SessionId, Remains>();
  layout: number = LAYOUT;
  sessionCount: number | null = null;
  readonly #writes: BulkWriter;
  #joined: { readonly place: StretchPlace; readonly records: JournalRecord[] } | null = null;

  /** By the first letter of a key. All other entries are derived from these. */
  readonly #tables: Readonly<Record<string, (key: Buffer, value: Buffer) => void>> = {
    [DAMAGE_LETTER]: (key, value) => this.#writes.add({ key, value }),
    [GENESIS_LETTER]: (key, value) => this.#addGenesis(key, value),
    [META_LETTER]: (_, value) => this.#noteMeta(value),
    [STRETCH_LETTER]: (key, value) => this.#addStretch(placeOfStretch(key), decodeStretch(value)),
    [HEAD_LETTER]: (key, value) => this.#noteHead(key, decodeHead(value)),
    [LAYOUT_1.head]: (key, value) => this.#noteHead(key, decodeHead1(value)),
    [LAYOUT_1.record]: (key, value) => this.#addRecord(placeOfRecord1(key), decodeRecord1(value)),
  };

  constructor(writes: BulkWriter) {
    this.#writes = writes;
  }

  add(key: Buffer, value: Buffer): void {
    const letter = key.toString('latin1', 0, 1);
    if (isOfLayout1(letter)) this.layout = LAYOUT_1.layout;
    this.#tables[letter]?.(key, value);
  }

  /** Writes the joined events of layout 1. */
  join(): void {
    if (this.#joined === null) return;
    const { place, records } = this.#joined;
    this.#writes.add(...putsOfRecords(place.session, place.first, records));
    this.#joined = null;
  }

  #remainsOf(id: SessionId | null): Remains {
    if (id === null) return refuse('damaged', 'a key of the journal does not name a session');
    const remains = this.sessions.get(id) ?? nothingOf();
    this.sessions.set(id, remains);
    return remains;
  }

  #addGenesis(key: Buffer, value: Buffer): void {
    this.#remainsOf(sessionOfKey(key)).genesis = true;
    this.#writes.add({ key, value });
  }

  #noteHead(key: Buffer, head: StoredHead | null): void {
    this.#remainsOf(sessionOfKey(key)).head = head;
  }

  #noteMeta(value: Buffer): void {
    const meta = decodeMeta(value);
    if (meta?.layout === LAYOUT_1.layout) this.layout = LAYOUT_1.layout;
    this.sessionCount = meta?.sessionCount ?? null;
  }

  // An event that does not decode is lost: it shows as a gap between positions.
  #addStretch(place: StretchPlace | null, records: readonly JournalRecord[] | null): void {
    if (place === null || records === null) return;
    this.#writes.add(...putsOfRecords(place.session, place.first, records));
    noteEvents(this.#remainsOf(place.session), place.first, records.length);
  }

  #addRecord(place: StretchPlace | null, record: JournalRecord | null): void {
    if (place === null || record === null) return;
    const { session, first } = place;
    const before = this.#joined;
    const isNext =
      before?.place.session === session &&
      before.place.first + before.records.length === first &&
      before.records.length < JOINED_MAX;
    if (!isNext) this.join();
    this.#joined ??= { place, records: [] };
    this.#joined.records.push(record);
    noteEvents(this.#remainsOf(session), first, 1);
  }
}

const isOfLayout1 = (letter: string): boolean =>
  letter === LAYOUT_1.head || letter === LAYOUT_1.index || letter === LAYOUT_1.record;
