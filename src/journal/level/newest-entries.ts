// Merges all tables and logs of a database into the newest entry of every key, in the order of keys. A table is read when
// its first key is reached and dropped after its last one: the tables of a level do not overlap, so only a few are in
// memory at a time.
import { Buffer } from 'node:buffer';
import { entryTagOf, userKey } from './key-spans.ts';
import { type TableEntry, readTable } from './table.ts';

export interface NewestEntry {
  readonly key: Buffer;
  /** Null when the key was deleted. */
  readonly value: Buffer | null;
  readonly sequence: number;
}

export interface TableSource {
  readonly first: Buffer;
  readonly read: () => Promise<Buffer>;
}

interface Cursor {
  readonly next: () => NewestEntry | null;
  entry: NewestEntry;
}

/** Calls `onStored` with the sequence number of every entry of a table, including entries that are not the newest. */
export async function* mergeNewest(
  tables: readonly TableSource[],
  logged: readonly NewestEntry[],
  onStored: (sequence: number) => void,
): AsyncGenerator<NewestEntry> {
  const waiting = [...tables].sort((a, b) => Buffer.compare(b.first, a.first));
  const cursors: Cursor[] = [];
  const open = (next: () => NewestEntry | null): void => {
    const entry = next();
    if (entry !== null) cursors.push({ next, entry });
  };
  open(stepping([...logged].sort((a, b) => Buffer.compare(a.key, b.key)).values()));
  for (;;) {
    for (let table = waiting.at(-1); table !== undefined; table = waiting.at(-1)) {
      const least = leastKey(cursors);
      if (least !== null && Buffer.compare(table.first, least) > 0) break;
      waiting.pop();
      open(stepping(untagged(readTable(await table.read()), onStored)));
    }
    const least = leastKey(cursors);
    if (least === null) return;
    const newest = takeNewest(cursors, least);
    if (newest.value !== null) yield newest;
  }
}

function leastKey(cursors: readonly Cursor[]): Buffer | null {
  let least: Buffer | null = null;
  for (const { entry } of cursors) if (least === null || Buffer.compare(entry.key, least) < 0) least = entry.key;
  return least;
}

/** Advances all cursors past a key; returns its newest entry. */
function takeNewest(cursors: Cursor[], key: Buffer): NewestEntry {
  let newest: NewestEntry = { key, value: null, sequence: -1 };
  for (let at = cursors.length - 1; at >= 0; at -= 1) {
    const cursor = cursors[at];
    if (cursor === undefined) continue;
    let entry: NewestEntry | null = cursor.entry;
    for (; entry?.key.equals(key) === true; entry = cursor.next()) {
      if (entry.sequence > newest.sequence) newest = entry;
    }
    if (entry === null) cursors.splice(at, 1);
    else cursor.entry = entry;
  }
  return newest;
}

const stepping =
  (entries: Iterator<NewestEntry>): (() => NewestEntry | null) =>
  () => {
    const step = entries.next();
    return step.done === true ? null : step.value;
  };

function* untagged(entries: Iterable<TableEntry>, onStored: (sequence: number) => void): Generator<NewestEntry> {
  for (const { key, value } of entries) {
    const { sequence, deletes } = entryTagOf(key);
    onStored(sequence);
    yield { key: userKey(key), value: deletes ? null : value, sequence };
  }
}
