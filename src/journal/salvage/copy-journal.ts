// Copies what could be read of a journal, in the order of its keys, into a new store of today's layout, and notes what is
// there of each session. Genesis and events are copied, and so is what damage took before; the index of event ids is made
// anew from the events, heads and the count of sessions from what is found in the end.
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
  /** Of what was copied. */
  readonly layout: number;
  readonly sessions: ReadonlyMap<SessionId, Remains>;
  /** How many sessions the journal said it held, or null when it did not say. */
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

/** Events of layout 1, each stored alone, are joined up to so many. */
const JOINED_MAX = 64;

class Copy implements Copied {
  readonly sessions = new Map<SessionId, Remains>();
  layout: number = LAYOUT;
  sessionCount: number | null = null;
  readonly #writes: BulkWriter;
  #joined: { readonly place: StretchPlace; readonly records: JournalRecord[] } | null = null;

  /** By the first letter of a key. What is of none of these is made anew. */
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

  /** Writes the events of layout 1 that were joined. */
  join(): void {
    if (this.#joined === null) return;
    const { place, records } = this.#joined;
    this.#writes.add(...putsOfRecords(place.session, place.first, records));
    this.#joined = null;
  }

  #remainsOf(id: SessionId | null): Remains {
    if (id === null) return refuse('damaged', 'a key of the journal names no session');
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

  // What does not decode is as good as lost, and shows as missing.
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
