// Copies what could be read of a journal, in the order of its keys, into a new store of today's layout, and notes what is
// there of each session. Genesis and events are copied; the index of event ids is made anew from the events, heads and
// the count of sessions from what is found in the end.
import type { Buffer } from 'node:buffer';
import type { SessionId } from '../../schemas/ids.ts';
import { REBUILD_WRITE_BYTES } from '../../schemas/limits.ts';
import type { JournalRecord } from './journal.ts';
import {
  EVENT_LETTER,
  GENESIS_LETTER,
  HEAD_LETTER,
  LAYOUT,
  META_KEY,
  STRETCH_LETTER,
  type StretchPlace,
  TRAIL_KEY,
  placeOfStretch,
  sessionOfKey,
} from './keys.ts';
import { LAYOUT_1, decodeHead1, decodeRecord1, placeOfRecord1 } from './layout-1.ts';
import { refuse } from './refusal.ts';
import { type Remains, noteEvents, nothingOf } from './session-survey.ts';
import { type StoredHead, decodeHead, decodeMeta, decodeStretch } from './stored-values.ts';
import type { Put, Store } from './store.ts';
import { putsOfRecords } from './stretches.ts';

export interface Copied {
  readonly layout: number;
  readonly sessions: ReadonlyMap<SessionId, Remains>;
  /** How many sessions the journal said it held, or null when it did not say. */
  readonly sessionCount: number | null;
}

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer | null;
}

/** Events of layout 1, each stored alone, are joined up to so many. */
const JOINED_MAX = 64;

/** `onWrite` is called before each write with the bytes that are copied so far. */
export async function copyJournal(
  entries: AsyncIterable<Entry>,
  store: Store,
  onWrite: (copiedBytes: number) => Promise<void>,
): Promise<Copied> {
  const copy = newCopy();
  let copied = 0;
  const write = async (): Promise<void> => {
    const { puts, bytes } = copy.take();
    if (puts.length === 0) return;
    await onWrite(copied);
    await store.write(puts);
    copied += bytes;
  };
  for await (const { key, value } of entries) {
    if (value !== null) copy.add(key, value);
    if (copy.bytes() >= REBUILD_WRITE_BYTES) await write();
  }
  copy.join();
  await write();
  return copy.copied();
}

function newCopy() {
  const sessions = new Map<SessionId, Remains>();
  let layout: number = LAYOUT;
  let sessionCount: number | null = null;
  let puts: Put[] = [];
  let bytes = 0;
  let joined: { readonly place: StretchPlace; readonly records: JournalRecord[] } | null = null;

  const put = (...added: readonly Put[]): void => {
    for (const { key, value } of added) bytes += key.length + value.length;
    puts.push(...added);
  };

  function remainsOf(id: SessionId | null): Remains {
    if (id === null) return refuse('damaged', 'a key of the journal names no session');
    const remains = sessions.get(id) ?? nothingOf();
    sessions.set(id, remains);
    return remains;
  }

  const noteHead = (key: Buffer, head: StoredHead | null): void => {
    remainsOf(sessionOfKey(key)).head = head;
  };

  function join(): void {
    if (joined !== null) put(...putsOfRecords(joined.place.session, joined.place.first, joined.records));
    joined = null;
  }

  function addRecord({ session, first }: StretchPlace, record: JournalRecord): void {
    const isNext =
      joined?.place.session === session &&
      joined.place.first + joined.records.length === first &&
      joined.records.length < JOINED_MAX;
    if (!isNext) join();
    joined ??= { place: { session, first }, records: [] };
    joined.records.push(record);
    noteEvents(remainsOf(session), first, 1);
  }

  function addStretch(place: StretchPlace, records: readonly JournalRecord[]): void {
    put(...putsOfRecords(place.session, place.first, records));
    noteEvents(remainsOf(place.session), place.first, records.length);
  }

  function add(key: Buffer, value: Buffer): void {
    const letter = key.toString('latin1', 0, 1);
    switch (letter) {
      case GENESIS_LETTER:
        remainsOf(sessionOfKey(key)).genesis = true;
        put({ key, value });
        break;
      case STRETCH_LETTER: {
        const [place, records] = [placeOfStretch(key), decodeStretch(value)];
        // What does not decode is as good as lost, and shows as missing.
        if (place !== null && records !== null) addStretch(place, records);
        break;
      }
      case HEAD_LETTER:
        noteHead(key, decodeHead(value));
        break;
      case EVENT_LETTER:
        break;
      case LAYOUT_1.head:
      case LAYOUT_1.index:
      case LAYOUT_1.record:
        layout = LAYOUT_1.layout;
        if (letter === LAYOUT_1.head) noteHead(key, decodeHead1(value));
        if (letter === LAYOUT_1.record) {
          const [place, record] = [placeOfRecord1(key), decodeRecord1(value)];
          if (place !== null && record !== null) addRecord(place, record);
        }
        break;
      default:
        if (key.equals(META_KEY)) sessionCount = decodeMeta(value)?.sessionCount ?? null;
        else if (!key.equals(TRAIL_KEY)) put({ key, value });
    }
  }

  return {
    add,
    join,
    bytes: () => bytes,
    take: () => {
      const taken = { puts, bytes };
      puts = [];
      bytes = 0;
      return taken;
    },
    copied: (): Copied => ({ layout, sessions, sessionCount }),
  };
}
